package backend

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// streamOf returns the stream that a notification belongs to, or nil if there is none. A subscription id in the
// notification identifies the stream. Some servers turn the number into a string, so both forms are accepted. Without
// an id, it is the stream whose HTTP response carried the notification or, over stdio, the first stream. If there is no
// first stream, it is the one that waits for its acknowledgment.
func (s *state) streamOf(e *upstream.Received, params *protocol.Params) *changeStream {
	l := &s.conn.streams
	all := l.all()
	id, named := parseID(params.SubscriptionID.Of(e.Frame.Raw))
	if !named {
		id = uint32(e.Ticket)
	}
	if i := slices.IndexFunc(all, func(st *changeStream) bool { return st.id == id }); i >= 0 {
		return all[i]
	}
	if params.SubscriptionID.Present() || e.Ticket != 0 {
		return nil
	}
	if l.first == nil {
		return l.opening
	}
	return l.first
}

// notifiedModern handles a notification from a modern server.
func (s *state) notifiedModern(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	switch e.Frame.Method {
	case protocol.NotificationProgress:
		return s.progress(e, out)
	case protocol.NotificationMessage:
		return s.logLineModern(e, out)
	case protocol.NotificationSubscriptionsAcknowledged:
		return s.acknowledged(now, e, &params, out)
	case protocol.NotificationCancelled:
		return s.streamCancelled(now, e, &params, out)
	}
	if s.streamOf(e, &params) == nil {
		return out // the stream has been closed
	}
	return s.notifiedOnStream(e, &params, out)
}

// notifiedOnStream handles a notification on a stream of changes.
func (s *state) notifiedOnStream(e *upstream.Received, params *protocol.Params, out []kernel.Effect) []kernel.Effect {
	switch e.Frame.Method {
	case protocol.NotificationResourcesUpdated:
		f, params, ok := unmarked(&e.Frame, params)
		if uri, named := rawjson.Unquote(params.URI.Of(f.Raw)); ok && named {
			return s.resourceChangedOnStream(message.ResourceChanged{Backend: s.self, URI: uri, Frame: f, Span: params.URI}, out)
		}
	case protocol.NotificationTasks:
		f, params, ok := unmarked(&e.Frame, params)
		if id, named := rawjson.Unquote(params.TaskID.Of(f.Raw)); ok && named {
			return s.resourceChangedOnStream(message.ResourceChanged{Backend: s.self, URI: message.TaskURI(id), Frame: f, Span: params.TaskID}, out)
		}
	}
	for _, kind := range changedKinds(e.Frame.Method) {
		out = s.listChangedOnStream(kind, out)
	}
	return out
}

// unmarked returns a notification without the stream's subscription id, which has no meaning outside this connection.
func unmarked(f *protocol.Frame, p *protocol.Params) (protocol.Frame, protocol.Params, bool) {
	edits := protocol.DropSubscriptionID(nil, f, p)
	if len(edits) == 0 {
		return *f, *p, true
	}
	var bare protocol.Frame
	var params protocol.Params
	ok := bare.Parse(rawjson.AppendEdited(nil, f.Raw, edits...)) == nil && params.Scan(&bare) == nil
	return bare, params, ok
}

// listChangedOnStream handles the change of a list. While two streams overlap, changes are collected and reported once.
func (s *state) listChangedOnStream(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	if !s.conn.streams.overlapping() {
		return s.listChanged(kind, out)
	}
	s.conn.streams.overlap.kinds[kind] = true
	return s.armOverlap(out)
}

// resourceChangedOnStream handles the change of a resource. While two streams overlap, changes are collected and
// reported once.
func (s *state) resourceChangedOnStream(u message.ResourceChanged, out []kernel.Effect) []kernel.Effect {
	if !s.conn.streams.overlapping() {
		return append(out, kernel.Tell(s.pool, u))
	}
	if s.conn.streams.overlap.uris == nil {
		s.conn.streams.overlap.uris = map[string]message.ResourceChanged{}
	}
	if _, known := s.conn.streams.overlap.uris[u.URI]; !known && len(s.conn.streams.overlap.uris) >= maxLate {
		s.conn.streams.overlap.all = true
		return s.armOverlap(out)
	}
	s.conn.streams.overlap.uris[u.URI] = u
	return s.armOverlap(out)
}

func (s *state) armOverlap(out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	if l.overlap.armed || !l.overlapping() {
		return out
	}
	l.overlap.armed = true
	return append(out, kernel.WakeAfter(overlapTime, overlapOver{s.conn.incarnation}))
}

// overlapOver closes the old stream and reports the collected changes.
func (s *state) overlapOver(out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	late := l.overlap
	l.overlap = overlap{}
	out = s.closeOld(out)
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if late.kinds[kind] {
			out = s.listChanged(kind, out)
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(late.uris)) {
		out = append(out, kernel.Tell(s.pool, late.uris[uri]))
	}
	if late.all {
		out = append(out, kernel.Tell(s.pool, message.AllResourcesChanged{Backend: s.self}))
	}
	return s.armOverlap(out)
}

// logLineModern forwards a log message to its call: the one whose response carried it, or else the only one that
// requested log messages. A modern server must not send any others. MCP 2026-07-28, server/utilities/logging.
func (s *state) logLineModern(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[uint32(e.Ticket)]
	if e.Ticket == 0 {
		n := 0
		for _, id := range s.conn.byCall {
			if c := s.conn.pending[id]; s.levelOf(c.request) != "" {
				p, n = c, n+1
			}
		}
		if n != 1 {
			return out
		}
	}
	if p == nil || p.own != nil || s.levelOf(p.request) == "" {
		return out
	}
	return append(out, kernel.Tell(p.call.Holder, message.Log{Seq: p.call.Seq, Frame: e.Frame}))
}
