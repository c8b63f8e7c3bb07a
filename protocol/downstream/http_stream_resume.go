package downstream

import "goblin-actor/protocol"

// resumable gives the stream a track of its own.
func (st *httpStream) resumable(r *Replay) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamAsked && st.track == nil {
		st.track = r.open(false, nil, st)
	}
}

// resume makes the stream the writer of the track that lastEvent belongs to, and accepts it.
func (st *httpStream) resume(r *Replay, lastEvent string) Resumed {
	return r.resume(lastEvent, st, func(t *track, after uint64) (ok, late bool) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.state != streamAsked || st.track != nil {
			return false, true
		}
		backlog, ok := t.attach(st, after)
		if ok {
			st.track, st.backlog = t, backlog
			st.greeting = t.appendPrime(nil, after)
			st.Settle(streamAccepted, nil)
		}
		return ok, false
	})
}

// appendWaiting adds what waits: first what the client has missed, then what is new, last when to come back if the
// stream is closed before its end. The caller has the lock.
func (st *httpStream) appendWaiting(dst []byte) []byte {
	if st.track == nil {
		return appendEvents(dst, &st.queue)
	}
	for len(dst) < streamBatch && len(st.backlog) > 0 {
		k := st.backlog[0]
		st.backlog = st.backlog[1:]
		dst = protocol.AppendSSE(dst, "message", st.track.id(k.number), k.Message)
	}
	if len(st.backlog) > 0 {
		return dst
	}
	dst = st.track.appendEvents(dst, &st.queue)
	if st.state == streamClosing && st.queue.empty() && !st.parted {
		if st.parted = true; st.track.r.o.Prime && !st.track.ended() {
			dst = append(st.track.r.appendRetry(dst), '\n')
		}
	}
	return dst
}

// ended reports whether nothing more will be said on the track.
func (t *track) ended() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.over
}

// spent reports whether there is nothing to be had of the track.
func (t *track) spent() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.tracks[t.number] != t || t.over && t.exchange == nil && t.reader == nil
}
