package session

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// resumes reports whether the client's version knows how to come back to a stream (MCP 2025-03-26, basic/transports).
func (s *state) canResume() bool {
	return s.transport == "http" && s.client.version >= protocol.Version20250326
}

// prepare says where the answers of an exchange go, before step sees it: to the stream of a session of HTTP+SSE; and
// with streamable HTTP into what is kept for a client whose connection breaks. It reports whether step is to see it: a
// client that does not read its stream may ask nothing more, as its answers would have to be kept.
func (s *session) routeAnswers(x *downstream.Exchange) bool {
	if s.Transport == "sse" {
		if s.stream == nil || !downstream.RouteMessages.Ends(x.Origin.Path) {
			return true
		}
		if (x.Batch != nil || x.Frame.Kind == protocol.KindRequest) && s.stream.Crowded() {
			message.RefuseFault(x, 503, &protocol.Fault{Name: protocol.Overloaded, Retryable: true,
				Message: "too many answers wait in your stream: read them first (limits.maxBufferedBytes)"})
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

// keeps returns what keeps the client's events; nil when its version cannot ask for them.
func (s *session) replayLog() *downstream.Replay {
	if s.replay == nil && s.state.canResume() {
		s.replay = downstream.NewReplay(downstream.ReplayOptions{
			Prime: s.state.client.version >= protocol.Version20251125, Budget: s.Budget,
		})
	}
	return s.replay
}

// accept opens a stream of the client's.
func (s *session) accept(stream *downstream.EventStream) {
	if r := s.replayLog(); r != nil {
		stream.Resumable(r)
	}
	stream.Accept()
}

// resume goes on with the stream the client lost; true if the session may push to it. A stream of a call carries
// nothing but that call. What is not ours to resume, or a GET stream that is forgotten, becomes a stream like any
// other: what it missed is told anew. Of a call that is forgotten nothing can be told: the client learns that.
func (s *session) resume(stream *downstream.EventStream) bool {
	switch stream.Resume(s.replayLog(), stream.Origin.LastEvent) {
	case downstream.ResumedStream:
		return true
	case downstream.ResumedNothing:
		s.accept(stream)
		return true
	case downstream.ResumeGone:
		message.RefuseStream(stream, 400, &protocol.Fault{Name: protocol.InvalidRequest,
			Message: "Last-Event-ID: the stream of that call has ended, or its answer is not kept any more"})
	}
	return false
}

func (s *session) endReplay() {
	if s.replay == nil {
		return
	}
	if dropped := s.replay.Stats().Dropped; dropped > 0 {
		s.Log.Info("messages for a client that was away were dropped", "count", dropped)
	}
	s.replay.Close()
}
