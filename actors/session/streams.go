package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// maxStreams limits the GET streams of one session.
const maxStreams = 8

func (s *session) openStream(self kernel.Self, a openStream) {
	me := self.Reference()
	switch {
	case a.refusal != 0:
		if a.stranger {
			s.countStranger(&a.stream.Origin, "stream")
		}
		a.stream.Refuse(a.refusal, nil, 0)
		return
	case a.endpoint != "":
		s.stream = a.stream
		a.stream.AcceptEndpoint(a.endpoint)
	case a.resume:
		if !s.resume(a.stream) {
			return
		}
		me.Tell(streamReady{a.stream})
	default:
		s.accept(a.stream)
	}
	a.stream.OnGone(func() { me.Tell(message.StreamClosed{Stream: a.stream}) })
}

// push sends the message on the newest stream that takes it, and on one stream only (MCP 2025-11-25, basic/transports, multiple
// connections).
func (s *session) push(self kernel.Self, a push) {
	weight := downstream.WeightState
	if a.key == "" {
		weight = downstream.WeightLog
	}
	for i := len(a.streams) - 1; i >= 0; i-- {
		done := a.streams[i].Push(a.message, weight, a.key)
		s.dropped += uint64(done.Dropped)
		if a.subscription != nil {
			a.subscription.Count(time.Now(), done)
		}
		if !done.Over {
			s.Metrics.Bytes(status.Clients, status.Out, len(a.message.Frame))
			s.Metrics.Notification(a.method, status.Delivered)
			return
		}
	}
	if a.undelivered != nil { // kept, and sent when a stream opens
		self.Reference().Tell(undelivered{a.undelivered})
		return
	}
	s.Metrics.Notification(a.method, status.Dropped)
}

func (*session) refuse(a refuse) {
	if a.fault == nil {
		a.x.Refuse(a.status, nil, 0)
		return
	}
	message.RefuseFault(a.x, a.status, a.fault)
}

// streamOpened accepts or refuses a new GET stream.
func (s *state) streamOpened(now time.Time, m message.StreamOpened, out []kernel.Effect) []kernel.Effect {
	if refusal := admission.CheckProject(m.Admitted, s.catalog.key, nil); refusal != nil {
		return append(out, kernel.Act(openStream{stream: m.Stream, refusal: refusal.Status}))
	}
	switch {
	case s.transport == "sse" && s.client.path == "": // the stream that opens the session
		s.client.path = downstream.MessagesPath(m.Stream.Origin.Path)
		s.streams = []*downstream.EventStream{m.Stream}
		return s.setStreamExpiry(now, append(out, kernel.Act(openStream{stream: m.Stream, endpoint: s.client.path + "?sessionId=" + s.id})))
	case s.transport == "sse":
		return append(out, kernel.Act(openStream{stream: m.Stream, refusal: 405}))
	case len(s.streams) >= maxStreams:
		return append(out, kernel.Act(openStream{stream: m.Stream, refusal: 429}))
	case s.transport != "stdio" && (!s.client.initialized || m.Stream.Origin.Path != s.client.path):
		return append(out, kernel.Act(openStream{stream: m.Stream, refusal: 400}))
	case m.Stream.Origin.LastEvent != "" && s.canResume():
		return append(out, kernel.Act(openStream{stream: m.Stream, resume: true}))
	}
	return s.streamReady(now, m.Stream, append(out, kernel.Act(openStream{stream: m.Stream})))
}

// streamReady adds an open stream and sends on it what could not be sent before.
func (s *state) streamReady(now time.Time, stream *downstream.EventStream, out []kernel.Effect) []kernel.Effect {
	// copied, because earlier effects may still read the old slice
	s.streams = append(s.streams[:len(s.streams):len(s.streams)], stream)
	return s.setStreamExpiry(now, s.sendWaitingUpdates(s.notifyChanges(out)))
}

// streamClosed removes a stream. A session of HTTP+SSE ends with its stream.
func (s *state) streamClosed(m message.StreamClosed, out []kernel.Effect) []kernel.Effect {
	if s.transport == "sse" {
		return append(out, kernel.StopSelf())
	}
	var rest []*downstream.EventStream
	for _, stream := range s.streams {
		if stream != m.Stream {
			rest = append(rest, stream)
		}
	}
	s.streams = rest
	return out
}

// notifyChanges notifies the client once of each kind of list that has changed since its last notification. Without a
// stream, the notification waits until one opens.
func (s *state) notifyChanges(out []kernel.Effect) []kernel.Effect {
	if s.catalog.view == nil || !s.client.ready || len(s.streams) == 0 {
		return out
	}
	for _, kind := range s.catalog.announced.Due(s.catalog.view) {
		method := kind.ChangedMethod().String()
		out = append(out, kernel.Act(push{streams: s.streams, method: kind.ChangedMethod(), message: protocol.Message{Frame: protocol.AppendNotification(nil, method, nil)}, key: method, undelivered: kind}))
	}
	return out
}

// undelivered keeps a message that no stream took.
func (s *state) undelivered(m undelivered, out []kernel.Effect) []kernel.Effect {
	switch what := m.what.(type) {
	case protocol.ItemKind:
		s.catalog.announced[what] = 0 // differs from every generation of a kind that has changed
	case message.ResourceUpdated:
		if r, _, ok := clientsubs.SubscriptionFor(s.catalog.view, s.subs.active, &what); ok {
			return s.keep(r, what, out)
		}
	}
	return out
}

// serverLog passes on a log line that belongs to no call, if its server is in the client's view and the client wants
// the line. Without a stream, the line is dropped.
func (s *state) serverLog(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	if len(s.streams) == 0 || !s.client.ready || s.catalog.view == nil || !s.catalog.view.Has(m.Server) || !s.wantsLog(&m.Frame) {
		return out
	}
	return append(out, kernel.Act(push{streams: s.streams, method: m.Frame.Method, message: m.Frame.Message()}))
}
