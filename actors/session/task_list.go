package session

import (
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

const (
	taskPage    = 16              // tasks in one answer to tasks/list; the server is queried about each
	listingTime = 5 * time.Second // time for a query to reach its server; the answer may take half of it in addition
)

// taskListing is a tasks/list that waits for the servers' answers about each task on its page. Servers are not sent
// tasks/list, because the list of a shared server would contain the tasks of all clients.
type taskListing struct {
	x          *downstream.Exchange
	rows       [][]byte // in page order, with public ids; nil = not answered
	unanswered int
	next       string // cursor; "" = the last page
}

// listTasks answers with the client's own tasks, oldest first. MCP 2025-11-25, basic/utilities/tasks, listing tasks.
func (s *state) listTasks(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	after := uint64(0)
	if x.Params.Cursor.Present() {
		text, _ := rawjson.Unquote(x.Params.Cursor.Of(x.Frame.Raw))
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return s.fault(x, protocol.BadParams("Invalid cursor: start again without one"), out)
		}
		after = number
	}
	tasks, next := s.tasks.after(after, taskPage, func(t *task) bool { return s.serverOf(t) != nil })
	l := &taskListing{x: x}
	if next > 0 {
		l.next = strconv.FormatUint(next, 10)
	}
	if len(tasks) == 0 {
		return s.listingDone(l, out)
	}
	if full := s.limits.MaxInFlightPerClient; full > 0 && s.calls.Len()+len(tasks) > full+taskPage {
		return s.fault(x, &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "too many calls in flight for this client (limits.maxInFlightPerClient)"}, out)
	}
	l.rows, l.unanswered = make([][]byte, len(tasks)), len(tasks)
	for row, t := range tasks {
		out = s.queryTask(now, l, row, t, out)
	}
	return out
}

// queryTask asks a task's server for its state.
func (s *state) queryTask(now time.Time, l *taskListing, row int, t *task, out []kernel.Effect) []kernel.Effect {
	r := &message.Request{Caller: s.caller(), Server: t.server, Item: t.own, Home: &t.home}
	params := append(rawjson.AppendQuoted([]byte(`{"taskId":`), t.own), '}')
	raw := protocol.AppendRequest(nil, 0, protocol.MethodTasksGet.String(), params)
	if r.Frame.Parse(raw) != nil || r.Params.Scan(&r.Frame) != nil {
		panic("own request: " + string(raw))
	}
	server := s.serverOf(t)
	seq := s.calls.Next()
	h := &heldCall{x: l.x, listing: l, row: row, Held: clientcalls.Held{View: s.catalog.view, Upstream: server, Call: call.Call{
		Seq: seq, ID: l.x.Frame.IDBytes(), Server: t.server, Item: t.own, Client: s.client.name, Method: protocol.MethodTasksGet, State: call.Queued, Began: now,
		Limits: call.Limits{Queue: listingTime / 2, Idle: listingTime / 2},
	}}}
	out = s.calls.Hold(now, h, out)
	return append(out, kernel.Tell(server.Pool, message.Dispatch{Call: s.calls.Ref(seq), Request: r}))
}

// taskAnswered handles an effect of the query about one task. If the query does not return the task's state, the task
// is left out of the page. When the last query has ended, tasks/list is answered.
func (s *state) taskAnswered(h *heldCall, e *call.Effect, out []kernel.Effect) []kernel.Effect {
	switch e.Kind {
	case call.Cancel:
		return append(out, s.calls.Cancel(h, e.Reason, e.TimedOut))
	case call.Deliver:
		if f := &e.Frame; f.Kind == protocol.KindResult && f.Raw[f.Result.Off] == '{' {
			shown := rawjson.AppendEdited(nil, f.Raw, taskEdits(nil, f.Raw, f.Result, h.Server)...)
			h.listing.rows[h.row] = shown[f.Result.Off : len(shown)-(len(f.Raw)-int(f.Result.End))]
		}
	case call.Fail, call.Forget:
	default:
		return out
	}
	if h.listing.unanswered--; h.listing.unanswered > 0 {
		return out
	}
	return s.listingDone(h.listing, out)
}

// listingDone answers tasks/list.
func (s *state) listingDone(l *taskListing, out []kernel.Effect) []kernel.Effect {
	known := slices.DeleteFunc(l.rows, func(t []byte) bool { return t == nil })
	b := []byte(`{"tasks":[`)
	for i, t := range known {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t...)
	}
	b = append(b, ']')
	if l.next != "" {
		b = rawjson.AppendQuoted(append(b, `,"nextCursor":`...), l.next)
	}
	return s.result(l.x, append(b, '}'), out)
}
