package backend

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// Timing of streams of change notifications.
const (
	ackTime     = 30 * time.Second       // limit for a server to acknowledge a stream
	overlapTime = 250 * time.Millisecond // how long the old stream stays open when a new one replaces it
	listenMin   = 500 * time.Millisecond // first pause before a broken stream is opened again; doubled each time
	listenMax   = 30 * time.Second       // longest pause
	listenLong  = 10 * time.Second       // a stream that was open this long resets the pause
)

// listenFirst opens the stream before the lists are fetched, so that no change is missed in between.
func (s *state) listenFirst(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.conn.streams = streams{wanted: map[string]bool{}, queries: map[uint64]string{}, stdio: !s.link.exchanges}
	if s.catalog {
		out = s.openStream(out)
	}
	if s.conn.streams.opening == nil {
		return s.syncAll(now, out)
	}
	s.conn.opening.stream = true
	return append(out, kernel.WakeAfter(openingTime, openingExpired{s.conn.incarnation}))
}

// filter returns the changes that the next stream should report, as raw JSON, and the URIs in it. It returns nil if
// there are none. Connections that only carry calls do not request changes to lists.
func (s *state) filter() (filter []byte, uris []string) {
	type changes struct{ ListChanged bool }
	var has struct{ Tools, Prompts, Resources changes }
	uris = slices.Sorted(maps.Keys(s.conn.streams.wanted))
	if s.conn.streams.addsStream() {
		uris = slices.DeleteFunc(uris, s.conn.streams.has)
	} else if s.catalog {
		_ = json.Unmarshal(s.conn.info.Capabilities, &has) // invalid capabilities count as absent
	}
	if has == (struct{ Tools, Prompts, Resources changes }{}) && len(uris) == 0 {
		return nil, nil
	}
	var resources, tasks []string
	for _, uri := range uris {
		if id, ok := message.TaskOf(uri); ok {
			tasks = append(tasks, id)
		} else {
			resources = append(resources, uri)
		}
	}
	filter, err := json.Marshal(struct {
		Tools     bool     `json:"toolsListChanged,omitempty"`
		Prompts   bool     `json:"promptsListChanged,omitempty"`
		Resources bool     `json:"resourcesListChanged,omitempty"`
		URIs      []string `json:"resourceSubscriptions,omitempty"`
		Tasks     []string `json:"taskIds,omitempty"`
	}{has.Tools.ListChanged, has.Prompts.ListChanged, has.Resources.ListChanged, resources, tasks})
	if err != nil {
		panic("filter: " + err.Error()) // booleans and strings always marshal
	}
	return filter, uris
}

// openStream opens a stream for the changes that are wanted now or, if streams are added (addsStream), for those that no
// stream reports yet. If there are none, it opens no stream, and closes the current one unless streams are added. It does
// nothing if the server does not support such streams, or while another stream waits for its acknowledgment. After the
// acknowledgment, another stream is opened if it is still needed.
func (s *state) openStream(out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	if l.opening != nil || l.refused {
		return out
	}
	filter, uris := s.filter()
	if filter == nil {
		if l.first != nil && !l.addsStream() {
			out = s.closeStream(l.first, out)
			l.first = nil
		}
		return s.answerPromisedQueries(out)
	}
	st := &changeStream{requested: uris, additional: l.addsStream()}
	params := append(append([]byte(`{"notifications":`), filter...), '}')
	out = s.request(protocol.MethodSubscriptionsListen, params, func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		return s.streamEnded(now, st, f, out)
	}, out)
	st.id = s.conn.lastID
	l.opening = st
	out = append(out, kernel.WakeAfter(ackTime, ackExpired{s.conn.incarnation, st.id}))
	return s.armOverlap(out)
}

// closeOld closes the streams that were replaced.
func (s *state) closeOld(out []kernel.Effect) []kernel.Effect {
	for _, st := range s.conn.streams.replaced {
		out = s.closeStream(st, out)
	}
	s.conn.streams.replaced = nil
	return out
}

// isStream reports whether the request is a stream of changes.
func (s *state) isStream(id uint32) bool {
	return slices.ContainsFunc(s.conn.streams.all(), func(st *changeStream) bool { return st.id == id })
}

// closeStream closes a stream. Later messages on it are ignored.
func (s *state) closeStream(st *changeStream, out []kernel.Effect) []kernel.Effect {
	delete(s.conn.pending, st.id)
	return s.cancelRequest(st.id, "", out)
}

// subscribe handles the pool's request to subscribe to a resource or to unsubscribe.
func (s *state) subscribe(m message.Query, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	var params struct{ URI string }
	_ = json.Unmarshal(m.Params, &params) // rendered by the pool
	if m.Method == protocol.MethodResourcesUnsubscribe {
		if l.wanted[params.URI] {
			delete(l.wanted, params.URI)
			out = s.openStream(out)
		}
		return s.answerQuery(m.Key, params.URI, true, out)
	}
	switch {
	case l.refused:
		return s.answerQuery(m.Key, params.URI, false, out)
	case l.promised(params.URI):
		l.wanted[params.URI] = true
		return s.answerQuery(m.Key, params.URI, true, out)
	}
	l.wanted[params.URI] = true
	l.queries[m.Key] = params.URI
	return s.openStream(out)
}

// answerQuery answers a query of the pool. If the parameter yes is false, the server has not acknowledged the URI. The
// server gives no reason, so the error names the two possible ones.
func (s *state) answerQuery(key uint64, uri string, yes bool, out []kernel.Effect) []kernel.Effect {
	q := message.QueryResult{Backend: s.self, Key: key}
	if !yes {
		q.Fault = &protocol.Fault{Name: protocol.ResourceNotFound, Server: s.server.Name, URI: uri,
			Message: "Resource not found, or the server does not report its changes: " + uri}
	} else if err := q.Frame.Parse(protocol.AppendResult(nil, []byte("0"), []byte("{}"))); err != nil {
		panic("own answer: " + err.Error())
	}
	return append(out, kernel.Tell(s.pool, q))
}

// answerQueries answers the queries about the URIs that a stream asked for. URIs that were not acknowledged are no
// longer wanted.
func (s *state) answerQueries(st *changeStream, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	for _, key := range slices.Sorted(maps.Keys(l.queries)) {
		uri := l.queries[key]
		if !slices.Contains(st.requested, uri) {
			continue
		}
		delete(l.queries, key)
		if !st.uris[uri] {
			delete(l.wanted, uri)
		}
		out = s.answerQuery(key, uri, st.uris[uri], out)
	}
	return out
}

// answerPromisedQueries answers the queries about URIs that the streams already have.
func (s *state) answerPromisedQueries(out []kernel.Effect) []kernel.Effect {
	for _, key := range slices.Sorted(maps.Keys(s.conn.streams.queries)) {
		if uri := s.conn.streams.queries[key]; s.conn.streams.has(uri) {
			delete(s.conn.streams.queries, key)
			out = s.answerQuery(key, uri, true, out)
		}
	}
	return out
}

// acknowledged handles the acknowledgment of a stream. Unless it is an additional stream, it replaces the previous
// streams. These stay open a little longer because their last notifications may still arrive.
func (s *state) acknowledged(now time.Time, e *upstream.Received, params *protocol.Params, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	st := l.opening
	if st == nil || s.streamOf(e, params) != st {
		return out
	}
	st.since = now
	st.promise(params.Notifications.Of(e.Frame.Raw))
	first := l.first == nil
	l.paused = false
	if l.opening = nil; st.additional {
		l.additional = append(l.additional, st)
	} else {
		out = s.closeOld(out)
		l.takeOver(st)
	}
	out = s.answerQueries(st, out)
	if l.missed || first && !s.conn.opening.stream {
		out = s.catchUp(st, l.missed, out)
		l.missed = l.missed && l.outdated()
	}
	if l.outdated() {
		out = s.openStream(out)
	}
	out = s.armOverlap(out)
	return s.streamDecided(now, out)
}

// catchUp fetches the stream's lists again, since they may have changed while no stream was open. If the parameter missed
// is true, it also reports the subscribed resources as changed.
func (s *state) catchUp(st *changeStream, missed bool, out []kernel.Effect) []kernel.Effect {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if st.kinds[kind] {
			out = s.refetch(kind, out)
		}
	}
	if !missed {
		return out
	}
	for _, uri := range slices.Sorted(maps.Keys(st.uris)) {
		if u, ok := message.UpdatedURI(uri); ok {
			out = append(out, kernel.Tell(s.pool, u))
		}
	}
	return out
}

// streamTimer handles the timers of streams.
func (s *state) streamTimer(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	switch m := msg.(type) {
	case overlapOver:
		if l.overlap.armed {
			return s.overlapOver(out)
		}
	case relistenDue:
		if m.attempt != l.attempt {
			return out
		}
		if l.paused = false; l.first == nil || l.outdated() {
			return s.openStream(out)
		}
	case ackExpired:
		if l.opening != nil && l.opening.id == m.id {
			st := l.opening
			f := ownFault("the server did not acknowledge the stream within " + ackTime.String())
			return s.streamEnded(now, st, &f, s.closeStream(st, out))
		}
	}
	return out
}

// streamEnded handles a stream that the server ended or that broke.
func (s *state) streamEnded(now time.Time, st *changeStream, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	switch st {
	case l.opening:
		return s.streamNotOpened(now, st, f, out)
	case l.first:
		l.first = nil
		if st.acknowledgedNothing() && len(l.additional) == 0 && l.opening == nil && f.Kind == protocol.KindResult {
			// The server reports none of the requested changes. If the stream requested only lists, resources may still
			// be supported: a subscription opens another stream.
			if l.refused = len(st.requested) > 0; !l.refused {
				return out
			}
		}
		l.missed = true
	default:
		l.replaced = slices.DeleteFunc(l.replaced, func(old *changeStream) bool { return old == st })
		if !slices.Contains(l.additional, st) {
			return out
		}
		l.additional, l.missed = slices.DeleteFunc(l.additional, func(more *changeStream) bool { return more == st }), true
	}
	if now.Sub(st.since) >= listenLong {
		l.failures = 0
	}
	return s.listenLater(out)
}

// streamNotOpened handles a stream that the server did not acknowledge. Earlier streams stay open. Changes that an ended
// stream reported are requested again.
func (s *state) streamNotOpened(now time.Time, st *changeStream, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	l.opening = nil
	out = append(out, kernel.Log(slog.LevelDebug, "stream of change notifications was not opened", "err", errorText(f)))
	if l.refused = l.first == nil && refusesMethod(f); l.refused {
		st.requested = slices.Collect(maps.Values(l.queries))
	}
	out = s.streamDecided(now, s.answerQueries(st, out))
	switch {
	case l.first == nil:
		return s.listenLater(out)
	case len(l.queries) > 0: // further URIs are wanted
		return s.openStream(out)
	case l.missed && l.outdated():
		return s.listenLater(out)
	}
	return out
}

// refusesMethod reports whether a server says that it does not know the method.
func refusesMethod(f *protocol.Frame) bool {
	if f.Kind != protocol.KindError {
		return false
	}
	code, _ := protocol.ErrorNumber(f)
	return code == codeNoMethod
}

// listenLater opens a stream again after a pause, which grows with each stream that did not last.
func (s *state) listenLater(out []kernel.Effect) []kernel.Effect {
	l := &s.conn.streams
	if l.refused || l.opening != nil || l.paused {
		return out
	}
	l.paused = true
	pause := listenMax
	if l.failures < 6 {
		pause = listenMin << l.failures
	}
	l.failures++
	l.attempt++
	return append(out, kernel.WakeAfter(jitter(s.rng, pause), relistenDue{s.conn.incarnation, l.attempt}))
}

// streamCancelled handles a server's cancellation of a stream. A server must not cancel anything else, so other
// cancellations are ignored.
func (s *state) streamCancelled(now time.Time, e *upstream.Received, params *protocol.Params, out []kernel.Effect) []kernel.Effect {
	id, ok := parseID(params.RequestID.Of(e.Frame.Raw))
	p := s.conn.pending[id]
	if !ok || p == nil || !s.isStream(id) {
		return out
	}
	delete(s.conn.pending, id)
	f := ownFault("the server canceled the stream")
	return p.own(s, now, &f, out)
}

// abandonStreams ends all streams because the connection is lost.
func (s *state) abandonStreams(reason string, out []kernel.Effect) []kernel.Effect {
	for _, key := range slices.Sorted(maps.Keys(s.conn.streams.queries)) {
		out = append(out, s.queryFailed(key, reason))
	}
	s.conn.streams = streams{}
	return out
}
