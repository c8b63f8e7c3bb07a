package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Tasks: the extension io.modelcontextprotocol/tasks (SEP-2663). A handler runs long work with Background.
const (
	extensionTasks = "io.modelcontextprotocol/tasks"
	needsTasks     = `{"extensions":{"` + extensionTasks + `":{}}}`

	taskLife = 10 * time.Minute // a task is kept for at least this long after its creation
	taskPoll = 200 * time.Millisecond
	maxTasks = 1024
)

// errTaskCancelled is the cause for tasks that the client canceled.
var errTaskCancelled = errors.New("the task was canceled")

// task is a call that continues after its answer.
type task struct {
	id      string
	created time.Time
	cancel  context.CancelCauseFunc
	tell    func(*task) // notifies its subscribers

	mu      sync.Mutex
	updated time.Time
	status  string // working, input_required, completed, cancelled, failed
	outcome map[string]any
	open    map[string]question
	answers map[string]json.RawMessage
	changed chan struct{} // closed when answers arrive
}

// hasTasks reports whether the request declares the tasks extension.
func (c *Call) hasTasks() bool {
	var can struct{ Extensions map[string]json.RawMessage }
	return c.modern() && json.Unmarshal(c.Client(), &can) == nil && can.Extensions[extensionTasks] != nil
}

// Background runs work as a task if the client supports tasks. Otherwise it runs work before returning. However, if
// required is set and a modern client has not declared the extension, it returns an error instead.
func (c *Call) Background(required bool, work Handler) (any, error) {
	switch {
	case c.hasTasks():
	case required && c.modern():
		return nil, lacks(needsTasks)
	default:
		return work(c)
	}
	f := c.front
	ctx, cancel := context.WithCancelCause(f.ctx)
	now := time.Now()
	t := &task{
		id: rand.Text(), created: now, updated: now, cancel: cancel, tell: f.taskChanged, status: "working",
		open: map[string]question{}, answers: map[string]json.RawMessage{}, changed: make(chan struct{}),
	}
	if !f.addTask(t) {
		cancel(nil)
		return nil, &Error{Code: codeInternal, Message: "too many tasks"}
	}
	inner := *c
	inner.Context, inner.task = ctx, t
	f.running.Go(func() {
		defer cancel(nil)
		result, err := work(&inner)
		t.end(ctx, result, err)
	})
	created := t.show()
	created["resultType"] = "task"
	return created, nil
}

// addTask removes expired tasks and adds a task. It returns false if there are too many.
func (s *Server) addTask(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tasks, func(_ string, old *task) bool { return t.created.Sub(old.created) > taskLife })
	if len(s.tasks) >= maxTasks {
		return false
	}
	s.tasks[t.id] = t
	return true
}

func (s *Server) findTask(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[id]
}

// taskRequest processes tasks/get, tasks/update and tasks/cancel.
func (f *front) taskRequest(c *Call) (any, error) {
	if !f.Tasks {
		return nil, &Error{Code: codeMethodNotFound, Message: "method not found"}
	}
	if !c.hasTasks() {
		return nil, lacks(needsTasks)
	}
	id, err := c.text("taskId", c.x.Params.TaskID)
	if err != nil {
		return nil, err
	}
	t := f.findTask(id)
	if t == nil {
		return nil, &Error{Code: codeInvalidParams, Message: "unknown task"}
	}
	switch c.x.Frame.Method {
	case protocol.MethodTasksGet:
		return t.detail(), nil
	case protocol.MethodTasksUpdate:
		var answers map[string]json.RawMessage
		if json.Unmarshal(c.x.Params.InputResponses.Of(c.x.Frame.Raw), &answers) != nil {
			return nil, &Error{Code: codeInvalidParams, Message: "inputResponses: expected an object"}
		}
		t.update(answers)
	default:
		t.cancel(errTaskCancelled)
		t.settle("cancelled", nil)
	}
	return struct{}{}, nil
}

// show returns the fields of CreateTaskResult.
func (t *task) show() map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return map[string]any{
		"taskId": t.id, "status": t.status, "createdAt": t.created.UTC().Format(time.RFC3339Nano),
		"lastUpdatedAt": t.updated.UTC().Format(time.RFC3339Nano), "ttlMs": taskLife.Milliseconds(), "pollIntervalMs": taskPoll.Milliseconds(),
	}
}

// detail returns DetailedTask: the task with the fields of its status.
func (t *task) detail() map[string]any {
	d := t.show()
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(d, t.outcome)
	if t.status == "input_required" {
		requests := map[string]json.RawMessage{}
		for key, q := range t.open {
			requests[key], _ = q.request() // wait has rendered it without an error
		}
		d["inputRequests"] = requests
	}
	return d
}

// end stores the result of the work.
func (t *task) end(ctx context.Context, result any, err error) {
	switch e, isError := errors.AsType[*Error](err); {
	case errors.Is(context.Cause(ctx), errTaskCancelled):
		t.settle("cancelled", nil)
	case isError:
		t.settle("failed", map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message}})
	case err != nil:
		t.settle("completed", map[string]any{"result": Failed("%v", err)})
	default:
		t.settle("completed", map[string]any{"result": result})
	}
}

// settle sets the final status. Later calls have no effect.
func (t *task) settle(status string, outcome map[string]any) {
	t.mu.Lock()
	over := t.status != "working" && t.status != "input_required"
	if !over {
		t.status, t.outcome, t.updated = status, outcome, time.Now()
		clear(t.open)
	}
	t.mu.Unlock()
	if !over {
		t.tell(t)
	}
}

// wait asks the client questions and returns when at least one answer has arrived. It returns an error if ctx ends or
// the task is over.
func (t *task) wait(ctx context.Context, open []question) error {
	if _, err := inputRequests(open); err != nil {
		return err
	}
	t.mu.Lock()
	if t.status != "working" && t.status != "input_required" {
		t.mu.Unlock()
		return context.Canceled
	}
	for _, q := range open {
		if answer, said := t.answers[q.key]; said && q.fits(answer) { // it has already arrived
			t.mu.Unlock()
			return nil
		}
	}
	t.status, t.updated = "input_required", time.Now()
	clear(t.open)
	for _, q := range open {
		t.open[q.key] = q
	}
	changed := t.changed
	t.mu.Unlock()
	t.tell(t)
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer returns the client's answer to a question.
func (t *task) answer(key string) (json.RawMessage, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer, ok := t.answers[key]
	return answer, ok
}

// update accepts valid answers to open questions and ignores others.
func (t *task) update(answers map[string]json.RawMessage) {
	t.mu.Lock()
	some := false
	for key, answer := range answers {
		if q, ok := t.open[key]; ok && q.fits(answer) {
			t.answers[key] = answer
			delete(t.open, key)
			some = true
		}
	}
	if some {
		t.updated = time.Now()
		if len(t.open) == 0 {
			t.status = "working"
		}
		close(t.changed)
		t.changed = make(chan struct{})
	}
	t.mu.Unlock()
	if some {
		t.tell(t)
	}
}

// taskChanged notifies the subscribers of a task.
func (s *Server) taskChanged(t *task) {
	members, err := marshal(t.detail())
	if err != nil {
		return
	}
	s.listening(func(l *listener) {
		if l.tasks[t.id] {
			l.tell("notifications/tasks", members[1:len(members)-1], "task "+t.id)
		}
	})
}
