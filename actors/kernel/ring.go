package kernel

// entry is a queued message.
type entry struct {
	msg         any
	order       uint64 // position in the order of arrival in all lanes
	caller      uint64 // inline call the message belongs to; 0 = none
	incarnation uint32 // for timers and results of Go: the only incarnation that may receive it; 0 = any
	class       Class
	sized       bool // its Size counts in mailbox.waitedBytes
}

// ring is a queue in a reused buffer. Positions only grow, so a position identifies its entry until that is popped.
type ring struct {
	buffer     []entry // its length is 0 or a power of two
	head, tail uint64  // positions of the next pop and the next push
}

const (
	ringFirst = 4   // size of the first buffer
	ringKeep  = 256 // a larger buffer is released when it runs empty
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
	*slot = entry{} // release it to the garbage collector
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
