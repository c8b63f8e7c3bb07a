package kernel

const (
	laneShare = 8  // a lane of a fair mailbox may hold one of so many parts of its limit
	lanesKept = 64 // empty lanes that may be kept, with their buffers: most have their next message soon
)

// Laned is a message to an actor with a fair mailbox that belongs to somebody who may be greedy. Lane returns who that is;
// 0 = nobody. Messages of one lane keep their order, lanes take turns. What is nobody's comes first: it is what the others may have been told
// to hold already, as a new catalog, and few.
type Laned interface{ Lane() uint32 }

// lane is a part of a mailbox with an order of its own: the only one, or in a fair mailbox that of one Laned.Lane.
type lane struct {
	number      uint32
	user        ring // Work, Outcome, State, Step
	logs        ring // LogLine, at most logLimit; merged with user by order
	replaceable int  // State and Step messages in user
	held        int  // their bytes
	logged      int  // bytes of logs
	turn        bool // it is among the lanes that wait for their turn
	idle        bool // it is among those that were empty
	next        *lane
}

func (l *lane) len() int { return l.user.len() + l.logs.len() }

// waits is how many messages count against the limit.
func (l *lane) waits() int { return l.user.len() - l.replaceable }

// lanes are those of a fair mailbox beside the base: all of them, and those that hold messages in the order of their turns.
type lanes struct {
	byNumber    map[uint32]*lane
	first, last *lane
	idle        []*lane // were empty when they were added
}

// laneFor returns where a message of that lane goes. mu is held.
func (m *mailbox) laneFor(number uint32) *lane {
	if number == 0 {
		return &m.base
	}
	l := m.fair.byNumber[number]
	if l != nil {
		return l
	}
	l = &lane{number: number}
	m.fair.byNumber[number] = l
	return l
}

// queued gives a lane that holds something its turn; the base needs none. mu is held.
func (m *mailbox) queued(l *lane) {
	if m.fair == nil || l == &m.base || l.turn || l.len() == 0 {
		return
	}
	l.turn, l.next = true, nil
	if m.fair.last == nil {
		m.fair.first = l
	} else {
		m.fair.last.next = l
	}
	m.fair.last = l
}

// nextLane returns the lane whose turn it is, which holds something, and ends its turn. mu is held.
func (m *mailbox) nextLane() *lane {
	if m.fair == nil || m.base.len() > 0 {
		return &m.base
	}
	l := m.fair.first
	if m.fair.first = l.next; m.fair.first == nil {
		m.fair.last = nil
	}
	l.turn, l.next = false, nil
	return l
}

// taken gives a lane its next turn, or notes that it is empty. mu is held.
func (m *mailbox) taken(l *lane) {
	if l.len() > 0 {
		m.queued(l)
		return
	}
	if l == &m.base || l.idle {
		return
	}
	l.idle = true
	if m.fair.idle = append(m.fair.idle, l); len(m.fair.idle) > lanesKept {
		m.fair.forget()
	}
}

// forget drops the lanes that are still empty.
func (f *lanes) forget() {
	for _, l := range f.idle {
		if l.idle = false; l.len() == 0 {
			delete(f.byNumber, l.number)
		}
	}
	clear(f.idle)
	f.idle = f.idle[:0]
}

// laneOf is the lane of a message to this mailbox.
func (m *mailbox) laneOf(msg any) uint32 {
	if m.fair == nil {
		return 0
	}
	if l, ok := msg.(Laned); ok {
		return l.Lane()
	}
	return 0
}

// refuses reports whether there is no room for Work in the lane. mu is held.
func (m *mailbox) refuses(l *lane) bool {
	return m.waiting >= m.limit || l != &m.base && l.waits() >= max(1, m.limit/laneShare)
}
