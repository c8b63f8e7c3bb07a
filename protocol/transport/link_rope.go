package transport

import (
	"fmt"
	"io"

	"goblin-actor/protocol"
)

const (
	linkRopeSmall = 64 << 10 // bytes of a message gathered in a buffer that is used again and not counted
	linkRopeChunk = 1 << 20  // largest chunk beyond it
	linkRopeEnd   = 128      // how much is kept of the end of a message that was too large
)

// linkRope gathers a message that comes in pieces and whose length nobody knows, without ever copying what it has
// but once at the end: a message of n bytes costs 2n, not the 3n of a growing buffer. Used by one goroutine.
//
// A message that exceeds max, or the budget, sets err; the rest of it is dropped, its first bytes stay in small,
// its last ones in end.
type linkRope struct {
	max    int // longest message, bytes
	budget *Budget

	small  []byte             // the first bytes; kept from message to message
	chunks [][]byte           // the rest
	lent   []*protocol.Memory // what the chunks lie in
	n      int                // bytes gathered
	taken  int                // bytes taken from budget
	end    []byte             // the last bytes of what was added after err
	err    error
}

// add appends p.
func (r *linkRope) add(p []byte) {
	whole := p
	for len(p) > 0 && r.err == nil {
		free := r.tail()
		n := copy(free, p)
		r.grow(n)
		p = p[n:]
	}
	if r.err != nil {
		r.end = append(r.end, whole[max(0, len(whole)-linkRopeEnd):]...)
		r.end = r.end[max(0, len(r.end)-linkRopeEnd):]
	}
}

// readAll appends what src has until its end. It returns src's error, or why the rope refused to take more.
func (r *linkRope) readAll(src io.Reader) error {
	for r.err == nil {
		free := r.tail()
		if r.err != nil {
			break
		}
		n, err := src.Read(free)
		r.grow(n)
		if err == io.EOF {
			return r.err
		}
		if err != nil {
			return err
		}
	}
	return r.err
}

// tail returns free space behind what was gathered, at least one byte unless err is set.
func (r *linkRope) tail() []byte {
	if len(r.chunks) == 0 {
		if len(r.small) < cap(r.small) {
			return r.small[len(r.small):cap(r.small)]
		}
		if cap(r.small) < linkRopeSmall {
			bigger := make([]byte, len(r.small), max(linkLinesMin, 2*cap(r.small)))
			copy(bigger, r.small)
			r.small = bigger
			return r.small[len(r.small):cap(r.small)]
		}
	} else if last := r.chunks[len(r.chunks)-1]; len(last) < cap(last) {
		return last[len(last):cap(last)]
	}
	size := min(max(r.n, linkRopeSmall), linkRopeChunk, max(r.max-r.n, 0)+1) // one byte more shows that it is too long
	if !r.budget.Take(size) {
		r.fail(ErrOverBudget)
		return nil
	}
	r.taken += size
	chunk := protocol.NewMemory(size)
	r.lent = append(r.lent, chunk)
	r.chunks = append(r.chunks, chunk.Bytes()[:0])
	return chunk.Bytes()
}

// grow counts n bytes that were put into tail.
func (r *linkRope) grow(n int) {
	if len(r.chunks) == 0 {
		r.small = r.small[:len(r.small)+n]
	} else {
		last := &r.chunks[len(r.chunks)-1]
		*last = (*last)[:len(*last)+n]
	}
	r.n += n
	if r.n > r.max {
		r.fail(fmt.Errorf("%w: more than %d bytes", ErrFrameTooLarge, r.max))
	}
}

func (r *linkRope) fail(err error) {
	r.err = err
	r.drop()
	r.budget.Give(r.taken)
	r.taken = 0
}

// bytes returns the message in memory of its own, of exactly its size.
func (r *linkRope) bytes() []byte {
	return r.appendTo(make([]byte, 0, r.n))
}

// take does the same, but memory that may be used again is returned with it: a large message lies in such.
func (r *linkRope) take() ([]byte, *protocol.Memory) {
	if r.n < protocol.MemoryMin {
		return r.bytes(), nil
	}
	memory := protocol.NewMemory(r.n)
	return r.appendTo(memory.Bytes()[:0]), memory
}

func (r *linkRope) appendTo(message []byte) []byte {
	message = append(message, r.small...)
	for _, c := range r.chunks {
		message = append(message, c...)
	}
	r.drop()
	return message
}

// drop gives the chunks back: nobody else has ever seen them.
func (r *linkRope) drop() {
	for _, m := range r.lent {
		m.Free()
	}
	clear(r.lent)
	clear(r.chunks)
	r.lent, r.chunks = r.lent[:0], r.chunks[:0]
}

// reset forgets the message and gives its bytes back.
func (r *linkRope) reset() {
	r.drop()
	r.budget.Give(r.taken)
	r.small, r.n, r.taken, r.err = r.small[:0], 0, 0, nil
}
