package kernel

const (
	laneShare = 8  // the Work of one client's lane may use 1/laneShare of a fair mailbox's limit
	lanesKept = 64 // empty lanes kept with their buffers; most receive their next message soon
)

// LaneMessage is implemented by messages to an actor with a fair mailbox that belong to a client. Lane identifies the
// client; 0 means none. Messages of one lane keep their order, and lanes take turns. Messages without a lane come
// first: there are few, and clients may already have been notified of what they announce, such as a new catalog.
type LaneMessage interface{ Lane() uint32 }

// lane is a queue within a mailbox. An ordinary mailbox has one. A fair mailbox has one for each client, and the base
// lane for messages without a lane.
type lane struct {
	number      uint32
	user        ring // Work, Outcome, State, Step
	logs        ring // LogLine, at most logLimit; merged with user by order
	replaceable int  // State and Step messages in user
	keyedBytes  int  // of the State and Step messages in user
	logBytes    int  // of the messages in logs
	turn        bool // the lane is in the list of lanes that wait for their turn
	idle        bool // the lane is in lanes.idle
	next        *lane
}

func (l *lane) len() int { return l.user.len() + l.logs.len() }

// waits returns the number of messages that count against the limit.
func (l *lane) waits() int { return l.user.len() - l.replaceable }

// lanes holds the lanes of a fair mailbox besides the base lane: all of them, and those with messages in the order of
// their turns.
type lanes struct {
	byNumber    map[uint32]*lane
	first, last *lane
	idle        []*lane // lanes that were empty when they were added
}

// laneFor returns the lane with that number, which it creates if necessary. The caller must hold mu.
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

// queued appends a lane with messages to the lanes waiting for their turn. The base lane needs no turn. The caller must
// hold mu.
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

// nextLane returns the lane from which the next message must be taken, and ends its turn. A lane must have a message.
// The caller must hold mu.
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

// taken appends a lane that has messages to the lanes waiting for their turn, and adds an empty one to idle. The caller must
// hold mu.
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

// forget removes the idle lanes that are still empty. The caller must hold mu.
func (f *lanes) forget() {
	for _, l := range f.idle {
		if l.idle = false; l.len() == 0 {
			delete(f.byNumber, l.number)
		}
	}
	clear(f.idle)
	f.idle = f.idle[:0]
}

// laneOf returns the number of a message's lane; 0 is the base lane.
func (m *mailbox) laneOf(msg any) uint32 {
	if m.fair == nil {
		return 0
	}
	if l, ok := msg.(LaneMessage); ok {
		return l.Lane()
	}
	return 0
}

// refuses reports whether the mailbox or the lane has no room for Work. The caller must hold mu.
func (m *mailbox) refuses(l *lane) bool {
	return m.waiting >= m.limit || l != &m.base && l.waits() >= max(1, m.limit/laneShare)
}
