package session

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Tasks of legacy servers are passed through to clients of MCP 2025-11-25, the only legacy version with tasks in its core
// (basic/utilities/tasks). Clients know a task as <server>/<the server's own id>. A session knows only the tasks of its own
// calls: no others can be read, canceled or listed. It forgets them when it ends.

const (
	maxTasks     = 1024 // per session; beyond it the oldest are forgotten
	maxTaskToken = 1024 // bytes of a progress token, as JSON, that a task keeps after its call
)

// tasks are the tasks that the client's calls have created.
type tasks struct {
	known map[string]*task // by public id
	last  uint64
}

// add adds a task. If the session has too many, the oldest is forgotten.
func (k *tasks) add(public string, t *task) {
	delete(k.known, public)
	if len(k.known) >= maxTasks {
		oldest := public
		for id, t := range k.known {
			if k.known[oldest] == nil || t.number < k.known[oldest].number {
				oldest = id
			}
		}
		delete(k.known, oldest)
	}
	k.last++
	t.number = k.last
	put(&k.known, public, t)
}

// after returns up to n tasks for which the function serve returns true, oldest first, of those created after the task with
// that number. It also returns the number after which the next page starts; 0 = there is no next page.
func (k *tasks) after(number uint64, n int, serve func(*task) bool) (page []*task, next uint64) {
	page = slices.SortedFunc(maps.Values(k.known), func(a, b *task) int { return cmp.Compare(a.number, b.number) })
	page = slices.DeleteFunc(page, func(t *task) bool { return t.number <= number || !serve(t) })
	if len(page) > n {
		page = page[:n]
		next = page[n-1].number
	}
	return page, next
}

// task is a task that a call of the client has created.
type task struct {
	number uint64 // in order of creation
	server string
	own    string // the server's id
	token  []byte // the raw progress token of its call, which stays valid; nil = none, or longer than maxTaskToken
	home   message.TaskOrigin
}

// offersTasks reports whether the client's version has tasks, and a server in view offers them.
func (s *state) offersTasks() bool {
	return s.client.version == protocol.Version20251125 && slices.ContainsFunc(s.catalog.view.Servers(), admission.HasLegacyTasks)
}

// taskRequest answers tasks/list, and dispatches requests about a task of the session.
func (s *state) taskRequest(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if !s.offersTasks() {
		return s.fault(x, protocol.NoMethod(x.Frame.MethodText()), out)
	}
	if x.Frame.Method == protocol.MethodTasksList {
		return s.listTasks(now, x, out)
	}
	id, _ := rawjson.Unquote(x.Params.TaskID.Of(x.Frame.Raw))
	t := s.tasks.known[id]
	if t == nil || s.serverOf(t) == nil {
		return s.refuseCall(x, protocol.BadParams("Unknown task: "+status.Printable(id, 300)), out)
	}
	return s.call(now, x, admission.Target{Server: s.serverOf(t), Original: t.own, Span: x.Params.TaskID, Home: &t.home}, out)
}

// serverOf returns the server of the task, or nil if it is no longer in view.
func (s *state) serverOf(t *task) *catalog.Server {
	for _, server := range s.catalog.view.Servers() {
		if server.Name == t.server {
			return server
		}
	}
	return nil
}

// prepareTask sets the fields of a request that concern tasks: Home if it is about a task, or AsTask if the client
// wants it run as a task. Any other tools/call to a server with tasks gets a plain result (admission.WithoutTasks).
func (s *state) prepareTask(r *message.Request, t admission.Target) {
	switch {
	case t.Home != nil:
		r.Home = t.Home
	case r.Frame.Method != protocol.MethodToolsCall || !admission.HasLegacyTasks(t.Server):
	case s.client.version == protocol.Version20251125 && rawjson.Member(r.Frame.Raw, r.Frame.Params, "task").Present():
		r.AsTask = true
	default:
		admission.WithoutTasks(r, t.Entry)
	}
}

// taskMade adds the task that a call has created. If the call has ended meanwhile, the task is dropped at its server.
func (s *state) taskMade(m message.TaskMade, out []kernel.Effect) []kernel.Effect {
	h := s.calls.Held(m.Seq)
	if h == nil {
		return append(out, kernel.Tell(m.Home.Backend, message.DropTask{ID: m.ID, Incarnation: m.Home.Incarnation}))
	}
	public := admission.PublicTaskID(h.Server, m.ID)
	t := &task{server: h.Server, own: m.ID, home: m.Home}
	if len(h.Token) <= maxTaskToken { // a longer one would be kept as long as the session, and limits.maxBufferedBytes does not count it
		t.token = slices.Clone(h.Token)
	}
	s.tasks.add(public, t)
	return out
}

// taskGone forgets a task if the answer to tasks/get says that it no longer exists. The answer comes from its server, or from the
// gateway on its behalf.
func (s *state) taskGone(h *heldCall, e *call.Effect) {
	if h.Method != protocol.MethodTasksGet {
		return
	}
	if code, _ := protocol.ErrorNumber(&e.Frame); e.Kind == call.Deliver && e.Frame.Kind == protocol.KindError && code == -32602 ||
		e.Kind == call.Fail && e.Fault.Name == protocol.InvalidParams {
		delete(s.tasks.known, admission.PublicTaskID(h.Server, h.Item))
	}
}

// taskNotified passes a task's notification on to the client. It is sent on the stream of a request that waits for the task's end,
// or else on a stream that belongs to no request.
func (s *state) taskNotified(m message.TaskNotification, out []kernel.Effect) []kernel.Effect {
	t := s.tasks.known[admission.PublicTaskID(m.Server, m.ID)]
	if t == nil {
		return out
	}
	edits := taskEdits(nil, m.Frame.Raw, m.Frame.Params, m.Server)
	switch m.Frame.Method {
	case protocol.NotificationProgress:
		token := rawjson.Member(m.Frame.Raw, m.Frame.Params, "progressToken")
		if t.token == nil || !token.Present() {
			return out
		}
		edits = append(edits, rawjson.Edit{Span: token, With: t.token})
	case protocol.NotificationMessage:
		if !s.wantsLog(&m.Frame) {
			return out
		}
	}
	frame := rawjson.AppendEdited(nil, m.Frame.Raw, edits...)
	if h := s.waitsForTask(m.Server, m.ID); h != nil {
		return append(out, kernel.Act(reply.Notify{X: h.x, Message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}, Weight: downstream.WeightLog}))
	}
	return append(out, kernel.Act(push{streams: s.streams, method: m.Frame.Method, message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}}))
}

// waitsForTask returns the oldest request that waits for the end of the task, or nil.
func (s *state) waitsForTask(server, id string) *heldCall {
	for _, seq := range s.calls.Numbers() {
		if h := s.calls.Held(seq); h.Method == protocol.MethodTasksResult && h.Server == server && h.Item == id {
			return h
		}
	}
	return nil
}

// resultMethod returns the method that defines the form of the call's result. tasks/result returns the result of a
// tools/call.
func (h *heldCall) resultMethod() protocol.Method {
	if h.Method == protocol.MethodTasksResult {
		return protocol.MethodToolsCall
	}
	return h.Method
}

// taskEdits makes the task ids in a result public if the call created a task or is about one.
func (h *heldCall) taskEdits(edits []rawjson.Edit, f *protocol.Frame) []rawjson.Edit {
	switch {
	case h.asTask:
		edits = admission.PublicTask(edits, f.Raw, rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Result, "task"), "taskId"), h.Server)
	case h.Method == protocol.MethodTasksGet || h.Method == protocol.MethodTasksCancel:
		return taskEdits(edits, f.Raw, f.Result, h.Server)
	case h.Method != protocol.MethodTasksResult:
		return edits
	}
	return admission.PublicTask(edits, f.Raw, protocol.RelatedTask(f.Raw, f.Result), h.Server)
}

// taskEdits makes the task ids in an object public. The object is a task, or names the task it belongs to.
func taskEdits(edits []rawjson.Edit, raw []byte, object rawjson.Span, server string) []rawjson.Edit {
	edits = admission.PublicTask(edits, raw, rawjson.Member(raw, object, "taskId"), server)
	return admission.PublicTask(edits, raw, protocol.RelatedTask(raw, object), server)
}

// privateReply returns the client's answer to a server request, with the server's own task id in it.
func (h *heldCall) privateReply(f *protocol.Frame) []byte {
	span := protocol.RelatedTask(f.Raw, f.Result)
	if id, ok := rawjson.Unquote(span.Of(f.Raw)); !ok || h.Method != protocol.MethodTasksResult || id != admission.PublicTaskID(h.Server, h.Item) {
		return f.ResultBytes()
	}
	span.Off, span.End = span.Off-f.Result.Off, span.End-f.Result.Off
	return rawjson.AppendEdited(nil, f.ResultBytes(), rawjson.Edit{Span: span, With: rawjson.Quote(h.Item)})
}
