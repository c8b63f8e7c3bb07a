package kernel

const (
	stepLimit = 32            // Steps of one key that wait
	keyLimit  = 1024          // keys of Summed messages that wait in one mailbox
	sizeLimit = 4 << 20       // bytes of keyed messages that wait in one lane, and likewise of log lines
	sizeTotal = 4 * sizeLimit // likewise in all lanes of a mailbox, and of messages that can wait
)

// Sized is a message that holds much memory: a State, Step or LogLine, or one for TellWait. Size returns how many bytes, always the same.
type Sized interface{ Size() int }

// Summed is a State message of which a peer can invent any number of keys. Sum returns a State message with a key of
// its own that stands for all those for which there is no room.
type Summed interface{ Sum() any }

// keyed stands in a lane for a State or Step message, so that a newer one can take its place.
type keyed struct {
	msg, key any
	lane     *lane
	waiting  int // how many of this key wait; right in the newest of them only
}

// keys are the newest message of each key. Of most actors one at a time waits, and of many there are ten thousand: that one needs no map.
type keys struct {
	one  *keyed
	more map[any]*keyed // without one's
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

// putKeyed queues a State or a Step. mu is held.
func (m *mailbox) putKeyed(l *lane, e entry, key any) (lost any, why Why) {
	newest, size, old := m.keys.of(key), sizeOf(e.msg), 0
	full := l.held+size > sizeLimit || m.held+size > sizeTotal
	replace := newest != nil && (e.class == State || newest.waiting >= stepLimit || full)
	if replace {
		old = sizeOf(newest.msg)
	}
	crowded := full && size > old && m.held > old // not by this message alone
	switch summed, ok := e.msg.(Summed); {
	case ok && (crowded || !replace && m.keys.len() >= keyLimit):
		e.msg = summed.Sum()
		return m.putKeyed(l, e, keyOf(e.msg))
	case e.class == Step && crowded && (l.held-old+size > 2*sizeLimit || m.held-old+size > sizeTotal):
		m.counts.dropped++
		return e.msg, Overloaded
	}
	m.held += size - old
	if replace {
		newest.lane.held += size - old
		lost, newest.msg = newest.msg, e.msg
		return lost, Superseded
	}
	queued := &keyed{msg: e.msg, key: key, lane: l, waiting: 1}
	if newest != nil {
		queued.waiting += newest.waiting
	}
	m.keys.set(queued)
	l.held += size
	l.replaceable++
	e.msg = queued
	l.user.push(e)
	return nil, ""
}

// takeKeyed returns the message that k stood for. mu is held.
func (m *mailbox) takeKeyed(k *keyed) any {
	size := sizeOf(k.msg)
	k.lane.replaceable--
	k.lane.held -= size
	m.held -= size
	newest := m.keys.of(k.key)
	if newest.waiting--; newest.waiting == 0 {
		m.keys.forget(k.key)
	}
	return k.msg
}

// putLog queues a log line and returns the oldest of its lane if that lost its place; more than one do when the new one
// is large. mu is held.
func (m *mailbox) putLog(l *lane, e entry) (lost any) {
	size := sizeOf(e.msg)
	for l.logs.len() > 0 && (l.logs.len() >= logLimit || l.logged+size > sizeLimit || m.logged+size > sizeTotal) {
		if lost != nil {
			m.spilled = append(m.spilled, lost)
		}
		lost = m.takeLog(l).msg
		m.counts.dropped++
	}
	if m.logged > 0 && m.logged+size > sizeTotal { // other lanes have it all
		if lost != nil {
			m.spilled = append(m.spilled, lost)
		}
		m.counts.dropped++
		return e.msg
	}
	l.logged += size
	m.logged += size
	l.logs.push(e)
	return lost
}

// takeLog pops the oldest log line of a lane. mu is held.
func (m *mailbox) takeLog(l *lane) entry {
	e := l.logs.pop()
	size := sizeOf(e.msg)
	l.logged -= size
	m.logged -= size
	return e
}

func sizeOf(msg any) int {
	if s, ok := msg.(Sized); ok {
		return s.Size()
	}
	return 0
}
