package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// notified handles a notification from the server.
func (s *state) notified(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if s.conn.era == protocol.EraModern {
		return s.notifiedModern(now, e, out)
	}
	switch e.Frame.Method {
	case protocol.NotificationProgress:
		return s.progress(e, out)
	case protocol.NotificationMessage:
		return s.logLine(now, e, out)
	case protocol.NotificationTasksStatus:
		return s.taskStatus(e, out)
	case protocol.NotificationResourcesUpdated:
		return s.resourceUpdated(e, out)
	case protocol.NotificationCancelled:
		return s.questionCancelled(e, out)
	case protocol.NotificationElicitationComplete:
		return s.elicitationDone(e, out)
	}
	for _, kind := range changedKinds(e.Frame.Method) {
		out = s.listChanged(kind, out)
	}
	return out
}

// changedKinds returns the lists that a notification reports as changed.
func changedKinds(m protocol.Method) []protocol.ItemKind {
	switch m {
	case protocol.NotificationToolsListChanged:
		return []protocol.ItemKind{protocol.Tools}
	case protocol.NotificationPromptsListChanged:
		return []protocol.ItemKind{protocol.Prompts}
	case protocol.NotificationResourcesListChanged:
		return []protocol.ItemKind{protocol.Resources, protocol.Templates}
	}
	return nil
}

// logLine forwards a log message to the task that it names, or else to its call: the one whose response carried it, or
// without a response the one that the method speaker returns. Messages without a call go to the pool. Messages in responses to calls
// that have ended are dropped, and so are those for modern clients that did not request log messages.
func (s *state) logLine(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	out = logged(&e.Frame, out)
	if task := protocol.RelatedTask(e.Frame.Raw, e.Frame.Params); task.Present() {
		return s.taskNote(task, e, out)
	}
	p := s.conn.pending[uint32(e.Ticket)]
	switch {
	case e.Ticket == 0:
		_, p = s.speaker(now)
	case p == nil:
		return out // the call has ended
	}
	if p != nil && p.own == nil {
		if p.request.Modern && p.request.Caller.LogLevel == "" {
			return out // a modern client gets log messages only on request
		}
		return append(out, kernel.Tell(p.call.Holder, message.Log{Seq: p.call.Seq, Frame: e.Frame}))
	}
	return append(out, kernel.Tell(s.pool, message.ServerLog{Backend: s.self, Server: s.server.Name, Frame: e.Frame}))
}

// resourceUpdated forwards an update to the pool, which knows the subscribers.
func (s *state) resourceUpdated(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	uri, ok := rawjson.Unquote(params.URI.Of(e.Frame.Raw))
	if !ok {
		return out
	}
	return append(out, kernel.Tell(s.pool, message.ResourceChanged{Backend: s.self, URI: uri, Frame: e.Frame, Span: params.URI}))
}

// progress forwards a progress notification to the call whose id it carries as its token.
func (s *state) progress(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	id, ok := parseID(params.Token.Of(e.Frame.Raw))
	p := s.conn.pending[id]
	if ok && p == nil {
		return s.taskProgress(id, e, params.Token, out)
	}
	if !ok || p.own != nil {
		return out
	}
	return append(out, kernel.Tell(p.call.Holder, message.Progress{
		Seq: p.call.Seq, Frame: e.Frame, Token: params.Token, Behind: s.isBehind(p, &e.Frame, e.Frame.Params),
	}))
}
