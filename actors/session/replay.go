package session

import (
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// canResume reports whether the client's version can resume a stream (MCP 2025-03-26, basic/transports).
func (s *state) canResume() bool {
	return s.transport == "http" && s.client.version >= protocol.Version20250326
}

// routeAnswers decides where the answers of an exchange go, before step handles it: to the session's stream with
// HTTP+SSE, or also into the replay log with streamable HTTP. If it returns false, step must not handle the exchange: a
// client that does not read its stream may send no more requests, because their answers would have to be kept.
func (s *session) routeAnswers(x *downstream.Exchange) bool {
	if s.Transport == "sse" {
		if s.stream == nil || !downstream.RouteMessages.Ends(x.Origin.Path) {
			return true
		}
		if (x.Batch != nil || x.Frame.Kind == protocol.KindRequest) && s.stream.Crowded() {
			message.RefuseFault(x, 503, &protocol.Fault{Name: protocol.Overloaded, Retryable: true,
				Message: "too many answers wait in the stream; read them first (limits.maxBufferedBytes)"})
			return false
		}
		x.Redirect(s.stream)
		return true
	}
	if s.replayLog() != nil && (x.Batch != nil || x.Frame.Kind == protocol.KindRequest) {
		x.Resumable(s.replay)
	}
	return true
}

// replayLog returns the log of the messages sent to the client, for resumption, or nil if the client's version cannot resume.
func (s *session) replayLog() *downstream.Replay {
	if s.replay == nil && s.state.canResume() {
		s.replay = downstream.NewReplay(downstream.ReplayOptions{
			Prime: s.state.client.version >= protocol.Version20251125, Node: s.eventNode(), Budget: s.Budget,
		})
	}
	return s.replay
}

// eventNode returns ReplayOptions.Node: what the ids of the session's events begin with, or "" outside a cluster.
func (s *session) eventNode() string {
	if s.Cluster == "" {
		return ""
	}
	return s.Cluster + cluster.EventMark
}

// accept opens a stream of the client.
func (s *session) accept(stream *downstream.EventStream) {
	if r := s.replayLog(); r != nil {
		stream.Resumable(r)
	}
	stream.Accept()
}

// resume continues the stream that the client lost, and reports whether the session may push to it. The stream of a call carries
// only that call's messages. An unknown or forgotten GET stream becomes a new one, and pending changes are sent on it; a guest refuses
// it. If the call is forgotten, the client gets an error.
func (s *session) resume(stream *downstream.EventStream) bool {
	switch stream.Resume(s.replayLog(), stream.Origin.LastEvent) {
	case downstream.ResumedStream:
		return true
	case downstream.ResumedNothing:
		if !s.state.isGuest() {
			s.accept(stream)
			return true
		}
		fallthrough // a guest has no streams but those of its calls
	case downstream.ResumeGone:
		message.RefuseStream(stream, 400, &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "Last-Event-ID: the stream of that call has ended, or its answer is no longer available"})
	}
	return false
}

func (s *session) endReplay() {
	if s.replay == nil {
		return
	}
	if dropped := s.replay.Stats().Dropped; dropped > 0 {
		s.Log.Info("messages kept for stream resumption were dropped", "count", dropped)
	}
	s.replay.Close()
}
