package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// notified handles a notification of the server.
func (s *state) notified(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if s.conn.era == protocol.EraModern {
		return s.notifiedModern(now, e, out)
	}
	switch e.Frame.M {
	case protocol.NotificationProgress:
		return s.progress(e, out)
	case protocol.NotificationMessage:
		return s.logLine(now, e, out)
	case protocol.NotificationTasksStatus:
		return s.taskStatus(e, out)
	case protocol.NotificationResourcesUpdated:
		return s.resourceUpdated(e, out)
	case protocol.NotificationCancelled:
		return s.questionWithdrawn(e, out)
	case protocol.NotificationElicitationComplete:
		return s.elicitationDone(e, out)
	}
	for _, kind := range changedKinds(e.Frame.M) {
		out = s.listChanged(kind, out)
	}
	return out
}

// changedKinds are the lists that a notification says have changed.
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

// logLine goes to the call it belongs to: the one whose response it came on, else the speaker. What belongs to no call is
// told to the pool.
func (s *state) logLine(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	out = logged(&e.Frame, out)
	if task := protocol.RelatedTask(e.Frame.Raw, e.Frame.Params); task.Present() {
		return s.taskNote(task, e, out)
	}
	p := s.conn.pending[uint32(e.Ticket)]
	if e.Ticket == 0 {
		_, p = s.speaker(now)
	}
	if s.conn.cancelled[uint32(e.Ticket)] != nil {
		return out // its client has given it up
	}
	if p != nil && p.own == nil {
		if p.request.Modern && p.request.Caller.LogLevel == "" {
			return out // a modern client that has not asked gets none
		}
		return append(out, kernel.Tell(p.call.Holder, message.Log{Seq: p.call.Seq, Frame: e.Frame}))
	}
	return append(out, kernel.Tell(s.pool, message.ServerLog{Backend: s.self, Server: s.server.Name, Frame: e.Frame}))
}

// resourceUpdated goes to the pool, who knows the subscribers.
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

// progress goes to the call whose token, our id, it carries.
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
