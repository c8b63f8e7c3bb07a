package kernel

// entry is a queued message.
type entry struct {
	msg         any
	order       uint64 // of arrival, over all lanes and their log lines together
	lender      uint64 // of the goroutine it came on by TellHere, and all that follows from it; 0 = none
	incarnation uint32 // 0 = for whichever incarnation comes; else timers and results of Go: for that one only
	class       Class
	weighed     bool // its Size counts in mailbox.weight
}

// ring is a queue in a reused buffer. Positions only grow, so a position names its entry until that is popped.
type ring struct {
	buffer     []entry // length 0 or a power of two
	head, tail uint64  // the next to pop; the next to push
}

const (
	ringFirst = 4   // entries of the first buffer
	ringKeep  = 256 // a larger buffer is given back when it ran empty
)

func (r *ring) len() int { return int(r.tail - r.head) }

func (r *ring) at(position uint64) *entry { return &r.buffer[position&uint64(len(r.buffer)-1)] }

// push appends e and returns its position.
func (r *ring) push(e entry) uint64 {
	if r.len() == len(r.buffer) {
		r.grow()
	}
	position := r.tail
	*r.at(position) = e
	r.tail++
	return position
}

// pop removes the oldest entry. The ring must not be empty.
func (r *ring) pop() entry {
	slot := r.at(r.head)
	e := *slot
	*slot = entry{} // the garbage collector may have it
	r.head++
	if r.head == r.tail && len(r.buffer) > ringKeep {
		r.buffer = nil
	}
	return e
}

func (r *ring) grow() {
	old := *r
	r.buffer = make([]entry, max(ringFirst, 2*len(old.buffer)))
	for p := old.head; p != old.tail; p++ {
		*r.at(p) = *old.at(p)
	}
}
