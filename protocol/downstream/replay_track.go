package downstream

import (
	"strconv"
	"time"

	"goblin-actor/protocol"
)

// track is one event stream as the session sees it: it outlives the connections it is written to. Replay.mu guards it.
type track struct {
	r      *Replay
	number uint64
	name   string // of its event ids, up to the event's number
	call   bool   // begun by a POST
	last   uint64 // number of the newest event; the priming event is 0
	lostTo uint64 // number of the newest answer or question that is not kept any more
	events keptList
	over   bool // its last message has been given

	// Who writes it; at most one, none while the client is away.
	exchange trackExchange // the connection the POST came on
	reader   trackReader   // a GET
}

// trackExchange is the connection a track's POST came on.
type trackExchange interface{ depart() } // its client has come back on another one

// trackReader is the connection of a GET that writes a track.
type trackReader interface {
	pushTracked(msg protocol.Message, weight Weight, key outboxKey) (taken bool)
	close()
	end()
}

// kept is one event that can be had again.
type kept struct {
	t      *track
	number uint64
	protocol.Message
	sent    bool // handed to a connection, at least
	answer  bool
	counted int // bytes taken from the budget
	at      time.Time
	links   [2]keptLink // in the list of its kind, in that of its track
}

type keptLink struct{ prev, next *kept }

// The lists of a Replay by what may be lost first, and the links an event is in them by.
const (
	keptLesser  = 0
	keptAnswers = 1
	inKind      = 0
	inTrack     = 1
)

// keptList is a list of events, oldest first.
type keptList struct {
	which       int // of an event's links
	first, last *kept
}

func (l *keptList) push(k *kept) {
	link := &k.links[l.which]
	link.prev = l.last
	if l.last == nil {
		l.first = k
	} else {
		l.last.links[l.which].next = k
	}
	l.last = k
}

func (l *keptList) remove(k *kept) {
	link := &k.links[l.which]
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
	*link = keptLink{}
}

// id is an event's id.
func (t *track) id(number uint64) string { return t.name + strconv.FormatUint(number, 36) }

// appendPrime appends what a stream begins with, so that the client can come back before the first message: an event
// with an id and without data, or where clients do not know that, a comment (MCP 2025-11-25, basic/transports).
func (t *track) appendPrime(dst []byte, number uint64) []byte {
	if !t.r.o.Prime {
		return append(dst, streamComment...)
	}
	dst = append(append(append(dst, "id: "...), t.id(number)...), '\n')
	return append(t.r.appendRetry(dst), "data: \n\n"...)
}

// appendRetry appends the line that tells how long to wait before coming back.
func (r *Replay) appendRetry(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "retry: "...), r.o.Retry.Milliseconds(), 10)
	return append(dst, '\n')
}

// appendEvents moves waiting messages into dst as numbered events, as appendEvents does without numbers. The caller
// has the queue's lock.
func (t *track) appendEvents(dst []byte, q *outboxQueue) []byte {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for len(dst) < streamBatch {
		item := q.pop()
		if item == nil {
			break
		}
		number := t.keep(item.Message, item.weight, true)
		dst = protocol.AppendSSE(dst, "message", t.id(number), item.Message)
	}
	return dst
}

// appendLast appends the messages that end the track.
func (t *track) appendLast(dst []byte, parts []protocol.Message) []byte {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for _, p := range parts {
		number := t.keep(p, WeightAnswer, true)
		dst = protocol.AppendSSE(dst, "message", t.id(number), p)
	}
	t.end()
	return dst
}

// away keeps what waits for a writer that has gone, and then what ended the track, if anything has.
func (t *track) away(q *outboxQueue, over bool, last []protocol.Message) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for item := q.pop(); item != nil; item = q.pop() {
		t.keep(item.Message, item.weight, false)
	}
	for _, p := range last {
		t.keep(p, WeightAnswer, false)
	}
	t.exchange, t.reader = nil, nil
	if over {
		t.end()
	}
	t.forgetIfEmpty()
}

// end: nothing more will be said on the track. The caller has the lock.
func (t *track) end() {
	t.over = true
	t.forgetIfEmpty()
}

// forgetIfEmpty: a track nobody could get anything of is not found any more. The caller has the lock.
func (t *track) forgetIfEmpty() {
	if t.events.first == nil && t.exchange == nil && t.reader == nil && (t.over || !t.call) {
		delete(t.r.tracks, t.number)
	}
}

// deliver gives a message of an exchange whose connection has gone to the GET that resumed it, or keeps it.
func (t *track) deliver(p protocol.Message, weight Weight, key outboxKey) {
	for {
		t.r.mu.Lock()
		reader := t.reader
		if reader == nil {
			t.keep(p, weight, false)
			t.r.mu.Unlock()
			return
		}
		t.r.mu.Unlock()
		if reader.pushTracked(p, weight, key) {
			return
		} // else it has ended meanwhile, and is not our reader any more
	}
}

// finish gives the last messages of such an exchange.
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

// keep numbers a message and keeps it as the bounds allow. The caller has the lock.
func (t *track) keep(msg protocol.Message, weight Weight, sent bool) (number uint64) {
	r := t.r
	t.last++
	k := &kept{t: t, number: t.last, Message: msg, sent: sent, answer: weight == WeightAnswer, at: time.Now()}
	fits := !r.closed && len(msg.Frame) <= r.o.Bytes && r.tracks[t.number] == t
	if !fits || !r.o.Budget.TakeSpare(len(msg.Frame)) {
		r.lost(k)
		return t.last
	}
	k.counted = len(msg.Frame)
	r.list(k).push(k)
	t.events.push(k)
	r.events++
	r.bytes += len(msg.Frame)
	for r.events > r.o.Events || r.bytes > r.o.Bytes {
		victim := r.kept[keptLesser].first
		if victim == nil {
			victim = r.kept[keptAnswers].first
		}
		r.drop(victim)
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(r.o.Keep, r.sweep)
	}
	return t.last
}

func (r *Replay) list(k *kept) *keptList {
	if k.answer {
		return &r.kept[keptAnswers]
	}
	return &r.kept[keptLesser]
}

// remove takes an event out of the lists. The caller has the lock.
func (r *Replay) remove(k *kept) {
	r.list(k).remove(k)
	k.t.events.remove(k)
	r.events--
	r.bytes -= len(k.Frame)
	r.o.Budget.Give(k.counted)
}

// drop gives an event up. The caller has the lock.
func (r *Replay) drop(k *kept) {
	r.remove(k)
	r.lost(k)
	k.t.forgetIfEmpty()
}

// lost notes that an event cannot be had again. The caller has the lock.
func (r *Replay) lost(k *kept) {
	if !k.sent {
		r.dropped++
	}
	if k.answer {
		k.t.lostTo = k.number
	}
}

// forget gives a whole track up. The caller has the lock.
func (r *Replay) forget(t *track) {
	for k := t.events.first; k != nil; k = t.events.first {
		r.remove(k)
	}
	delete(r.tracks, t.number)
}

// resume has take attach reader to the track that lastEvent belongs to; late says that the reader's own time is over.
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
		} // else another one was faster
	}
}

// attach makes st the track's writer and returns what it has to write first. It is false when there is another
// writer, or nothing to be had. The caller has the stream's lock.
func (t *track) attach(st trackReader, after uint64) (backlog []*kept, ok bool) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.r.tracks[t.number] != t || t.exchange != nil || t.reader != nil {
		return nil, false
	}
	for k := t.events.first; k != nil; k = k.links[inTrack].next {
		if k.number > after {
			k.sent = true
			backlog = append(backlog, k)
		}
	}
	if t.over && len(backlog) == 0 {
		return nil, false
	}
	t.reader = st
	return backlog, true
}

// release takes the track from whoever writes it: the client has come back, so that connection is dead, though
// nobody has noticed.
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

// numbered keeps a message that a client reads now and returns its event id; "" without a track.
func (t *track) numbered(msg protocol.Message, weight Weight) string {
	if t == nil {
		return ""
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.id(t.keep(msg, weight, true))
}

// finished: the last message was read.
func (t *track) finished() {
	if t == nil {
		return
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.exchange, t.reader = nil, nil
	t.end()
}
