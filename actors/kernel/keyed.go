package kernel

const (
	stepLimit = 32            // maximum number of queued Step messages of one key
	keyLimit  = 1024          // keys queued in one mailbox; beyond it, Summarized messages with further keys are replaced by their Sum
	sizeLimit = 4 << 20       // bytes of queued keyed messages in one lane, and likewise of its log lines
	sizeTotal = 4 * sizeLimit // bytes of queued keyed messages in a mailbox, likewise of its log lines and its messages from TellWait
)

// Sized is implemented by messages that may be large, if they have class State, Step or LogLine or are sent with TellWait.
// Size returns the message's size in bytes, which must not change.
type Sized interface{ Size() int }

// Summarized is implemented by State messages whose keys a peer can choose. Sum returns the State message, with a key of
// its own, that stands for all messages beyond the limit.
type Summarized interface{ Sum() any }

// keyed holds a State or Step message in a lane, so that a newer message can replace it.
type keyed struct {
	msg, key any
	lane     *lane
	waiting  int // queued messages of this key; valid only in the newest of them
}

// keys holds the newest queued message of each key. Most mailboxes have at most one key at a time, and there are
// thousands of mailboxes, so a single key needs no map.
type keys struct {
	one  *keyed
	more map[any]*keyed // the other keys
}

func (k *keys) len() int {
	if k.one == nil {
		return len(k.more)
	}
	return len(k.more) + 1
}

func (k *keys) of(key any) *keyed {
	if k.one != nil && k.one.key == key {
		return k.one
	}
	return k.more[key]
}

func (k *keys) set(newest *keyed) {
	if _, ok := k.more[newest.key]; !ok && (k.one == nil || k.one.key == newest.key) {
		k.one = newest
		return
	}
	if k.more == nil {
		k.more = make(map[any]*keyed)
	}
	k.more[newest.key] = newest
}

func (k *keys) forget(key any) {
	if k.one != nil && k.one.key == key {
		k.one = nil
		return
	}
	delete(k.more, key)
}

// putKeyed queues a State or Step message. It returns the message to abandon and the reason: the message that e
// replaces, or e's own if too many bytes are queued, or nil. A Summarized message beyond a limit is discarded and its
// Sum queued in its place. The caller must hold mu.
func (m *mailbox) putKeyed(l *lane, e entry, key any) (lost any, why Reason) {
	newest, size, old := m.keys.of(key), sizeOf(e.msg), 0
	full := l.keyedBytes+size > sizeLimit || m.keyedBytes+size > sizeTotal
	replace := newest != nil && (e.class == State || newest.waiting >= stepLimit || full)
	if replace {
		old = sizeOf(newest.msg)
	}
	overfull := full && size > old && m.keyedBytes > old // false if no other keyed message is queued: a single one may exceed the limits
	switch summed, ok := e.msg.(Summarized); {
	case ok && (overfull || !replace && m.keys.len() >= keyLimit):
		e.msg = summed.Sum()
		return m.putKeyed(l, e, keyOf(e.msg))
	case e.class == Step && overfull && (l.keyedBytes-old+size > 2*sizeLimit || m.keyedBytes-old+size > sizeTotal):
		m.counts.dropped++
		return e.msg, Overloaded
	}
	m.keyedBytes += size - old
	if replace {
		newest.lane.keyedBytes += size - old
		lost, newest.msg = newest.msg, e.msg
		return lost, Superseded
	}
	queued := &keyed{msg: e.msg, key: key, lane: l, waiting: 1}
	if newest != nil {
		queued.waiting += newest.waiting
	}
	m.keys.set(queued)
	l.keyedBytes += size
	l.replaceable++
	e.msg = queued
	l.user.push(e)
	return nil, ""
}

// takeKeyed returns k's message and updates the counts. The caller must hold mu.
func (m *mailbox) takeKeyed(k *keyed) any {
	size := sizeOf(k.msg)
	k.lane.replaceable--
	k.lane.keyedBytes -= size
	m.keyedBytes -= size
	newest := m.keys.of(k.key)
	if newest.waiting--; newest.waiting == 0 {
		m.keys.forget(k.key)
	}
	return k.msg
}

// putLog queues a log line. If older lines of its lane are dropped for it, putLog returns the last of them and adds the
// others to displaced. If the lines of other lanes leave no room, it returns e's own message. If none is dropped, it
// returns nil. The caller must hold mu.
func (m *mailbox) putLog(l *lane, e entry) (lost any) {
	size := sizeOf(e.msg)
	for l.logs.len() > 0 && (l.logs.len() >= logLimit || l.logBytes+size > sizeLimit || m.logBytes+size > sizeTotal) {
		if lost != nil {
			m.displaced = append(m.displaced, lost)
		}
		lost = m.takeLog(l).msg
		m.counts.dropped++
	}
	if m.logBytes > 0 && m.logBytes+size > sizeTotal { // the other lanes have used up the budget
		if lost != nil {
			m.displaced = append(m.displaced, lost)
		}
		m.counts.dropped++
		return e.msg
	}
	l.logBytes += size
	m.logBytes += size
	l.logs.push(e)
	return lost
}

// takeLog pops the oldest log line of a lane. The caller must hold mu.
func (m *mailbox) takeLog(l *lane) entry {
	e := l.logs.pop()
	size := sizeOf(e.msg)
	l.logBytes -= size
	m.logBytes -= size
	return e
}

func sizeOf(msg any) int {
	if s, ok := msg.(Sized); ok {
		return s.Size()
	}
	return 0
}
