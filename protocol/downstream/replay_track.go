package downstream

import (
	"strconv"
	"time"

	"goblin-actor/protocol"
)

// track is one event stream of a session. It outlives the connections that carry it. Replay.mu guards it.
type track struct {
	r      *Replay
	number uint64
	name   string // prefix of the track's event ids; the event's number follows
	call   bool   // a POST started it
	last   uint64 // number of the newest event; the priming event has 0
	lostTo uint64 // number of the newest answer or server request that was dropped
	events eventList
	over   bool // the last message was sent or retained

	// The connection that carries the track: at most one of these, none while the client is disconnected.
	exchange trackExchange // the response to the POST
	reader   trackReader   // a GET
}

// trackExchange is the connection of the POST that started a track.
type trackExchange interface{ depart() } // called when the client has reconnected on another connection

// trackReader is the connection of a GET that carries a track.
type trackReader interface {
	pushTracked(msg protocol.Message, weight Weight, key outboxKey) (taken bool)
	close()
	end()
}

// replayEvent is one event retained for replay.
type replayEvent struct {
	t      *track
	number uint64
	protocol.Message
	sent    bool // passed to a connection at least once
	answer  bool
	counted int // bytes taken from the budget
	at      time.Time
	links   [2]eventLink // in the list of the Replay, and in the list of the track
}

type eventLink struct{ prev, next *replayEvent }

// Indexes of the lists in Replay.events, and of the links in replayEvent.links.
const (
	droppableEvents = 0
	answerEvents    = 1
	inReplay        = 0
	inTrack         = 1
)

// eventList is a list of events, oldest first.
type eventList struct {
	which       int // index into the links of an event
	first, last *replayEvent
}

func (l *eventList) push(e *replayEvent) {
	link := &e.links[l.which]
	link.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.links[l.which].next = e
	}
	l.last = e
}

func (l *eventList) remove(e *replayEvent) {
	link := &e.links[l.which]
	if link.prev == nil {
		l.first = link.next
	} else {
		link.prev.links[l.which].next = link.next
	}
	if link.next == nil {
		l.last = link.prev
	} else {
		link.next.links[l.which].prev = link.prev
	}
	*link = eventLink{}
}

// id returns the id of an event.
func (t *track) id(number uint64) string { return t.name + strconv.FormatUint(number, 36) }

// appendPrime appends the beginning of a stream: an event with an id and without data. With that id, the client can resume
// the stream even before the first message (MCP 2025-11-25, basic/transports). For clients of older versions it appends a
// comment.
func (t *track) appendPrime(dst []byte, number uint64) []byte {
	if !t.r.o.Prime {
		return append(dst, streamComment...)
	}
	dst = append(append(append(dst, "id: "...), t.id(number)...), '\n')
	return append(t.r.appendRetry(dst), "data: \n\n"...)
}

// appendRetry appends the field that tells clients how long to wait before they reconnect.
func (r *Replay) appendRetry(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "retry: "...), r.o.Retry.Milliseconds(), 10)
	return append(dst, '\n')
}

// appendEvents appends waiting messages as numbered SSE events, until len(dst) >= most. The caller must hold the
// queue's lock.
func (t *track) appendEvents(dst []byte, q *outboxQueue, most int) []byte {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for len(dst) < most {
		item := q.pop()
		if item == nil {
			break
		}
		number := t.retain(item.Message, item.weight, true)
		dst = protocol.AppendSSE(dst, "message", t.id(number), item.Message)
	}
	return dst
}

// appendLast appends the last messages of the track.
func (t *track) appendLast(dst []byte, parts []protocol.Message) []byte {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for _, p := range parts {
		number := t.retain(p, WeightAnswer, true)
		dst = protocol.AppendSSE(dst, "message", t.id(number), p)
	}
	t.end()
	return dst
}

// detach removes the track's connection. It retains the messages that wait in q, and then those in last. over means that
// no more messages follow.
func (t *track) detach(q *outboxQueue, over bool, last []protocol.Message) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for item := q.pop(); item != nil; item = q.pop() {
		t.retain(item.Message, item.weight, false)
	}
	for _, p := range last {
		t.retain(p, WeightAnswer, false)
	}
	t.exchange, t.reader = nil, nil
	if over {
		t.end()
	}
	t.forgetIfEmpty()
}

// end marks the track as complete. The caller must hold Replay.mu.
func (t *track) end() {
	t.over = true
	t.forgetIfEmpty()
}

// forgetIfEmpty removes a track that has nothing to resume. The caller must hold Replay.mu.
func (t *track) forgetIfEmpty() {
	if t.events.first == nil && t.exchange == nil && t.reader == nil && (t.over || !t.call) {
		delete(t.r.tracks, t.number)
	}
}

// deliver passes a message of a detached exchange to the GET that has resumed the track, or retains it.
func (t *track) deliver(p protocol.Message, weight Weight, key outboxKey) {
	for {
		t.r.mu.Lock()
		reader := t.reader
		if reader == nil {
			t.retain(p, weight, false)
			t.r.mu.Unlock()
			return
		}
		t.r.mu.Unlock()
		if reader.pushTracked(p, weight, key) {
			return
		} // otherwise the reader has just ended and detached itself
	}
}

// finish delivers the last messages of a detached exchange.
func (t *track) finish(last []protocol.Message) {
	for _, p := range last {
		t.deliver(p, WeightAnswer, outboxKey{})
	}
	t.r.mu.Lock()
	reader := t.reader
	t.end()
	t.r.mu.Unlock()
	if reader != nil {
		reader.close()
	}
}

// retain numbers a message and retains it if the limits allow. The caller must hold Replay.mu.
func (t *track) retain(msg protocol.Message, weight Weight, sent bool) (number uint64) {
	r := t.r
	t.last++
	e := &replayEvent{t: t, number: t.last, Message: msg, sent: sent, answer: weight == WeightAnswer, at: time.Now()}
	fits := !r.closed && len(msg.Frame) <= r.o.Bytes && r.tracks[t.number] == t
	if !fits || !r.o.Budget.TakeSpare(len(msg.Frame)) {
		r.lost(e)
		return t.last
	}
	e.counted = len(msg.Frame)
	r.list(e).push(e)
	t.events.push(e)
	r.count++
	r.bytes += len(msg.Frame)
	for r.count > r.o.Events || r.bytes > r.o.Bytes {
		victim := r.events[droppableEvents].first
		if victim == nil {
			victim = r.events[answerEvents].first
		}
		r.drop(victim)
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(r.o.Keep, r.sweep)
	}
	return t.last
}

func (r *Replay) list(e *replayEvent) *eventList {
	if e.answer {
		return &r.events[answerEvents]
	}
	return &r.events[droppableEvents]
}

// remove removes an event from its lists. The caller must hold mu.
func (r *Replay) remove(e *replayEvent) {
	r.list(e).remove(e)
	e.t.events.remove(e)
	r.count--
	r.bytes -= len(e.Frame)
	r.o.Budget.Give(e.counted)
}

// drop discards an event. The caller must hold mu.
func (r *Replay) drop(e *replayEvent) {
	r.remove(e)
	r.lost(e)
	e.t.forgetIfEmpty()
}

// lost records that an event is not retained. The caller must hold mu.
func (r *Replay) lost(e *replayEvent) {
	if !e.sent {
		r.dropped++
	}
	if e.answer {
		e.t.lostTo = e.number
	}
}

// forget discards a track with its events. The caller must hold mu.
func (r *Replay) forget(t *track) {
	for e := t.events.first; e != nil; e = t.events.first {
		r.remove(e)
	}
	delete(r.tracks, t.number)
}

// resume calls take to attach reader to the track of lastEvent. take sets late if the reader can no longer be
// attached, for example because it has ended.
func (r *Replay) resume(lastEvent string, reader trackReader, take func(t *track, after uint64) (ok, late bool)) Resumed {
	for {
		t, after, why := r.find(lastEvent)
		if t == nil {
			return why
		}
		t.release()
		ok, late := take(t, after)
		switch {
		case late:
			return ResumeGone
		case ok && t.ended():
			reader.close()
			return ResumedCall
		case ok && t.call:
			return ResumedCall
		case ok:
			return ResumedStream
		case t.spent():
			return why
		} // otherwise another reader was faster
	}
}

// attach makes st the track's connection and returns the retained events after the given number, which st must write first.
// ok is false if the track has another connection or nothing to resume. The caller must hold the stream's lock.
func (t *track) attach(st trackReader, after uint64) (backlog []*replayEvent, ok bool) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.r.tracks[t.number] != t || t.exchange != nil || t.reader != nil {
		return nil, false
	}
	for e := t.events.first; e != nil; e = e.links[inTrack].next {
		if e.number > after {
			e.sent = true
			backlog = append(backlog, e)
		}
	}
	if t.over && len(backlog) == 0 {
		return nil, false
	}
	t.reader = st
	return backlog, true
}

// release ends the track's connection. The client has reconnected, so the old connection is dead even if that was not
// detected yet.
func (t *track) release() {
	t.r.mu.Lock()
	x, reader := t.exchange, t.reader
	t.r.mu.Unlock()
	if x != nil {
		x.depart()
	}
	if reader != nil {
		reader.end()
	}
}

// ended reports whether the track is complete.
func (t *track) ended() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.over
}

// spent reports whether the track has nothing to resume.
func (t *track) spent() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.tracks[t.number] != t || t.over && t.exchange == nil && t.reader == nil
}
