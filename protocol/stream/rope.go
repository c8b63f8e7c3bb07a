package stream

import (
	"fmt"
	"io"

	"goblin-actor/protocol"
)

const (
	ropeSmall = 64 << 10 // bytes of a message collected in a reusable buffer that is not counted
	ropeChunk = 1 << 20  // largest chunk for the rest, unless the message's size is expected
	ropeSpare = 64       // a message is expected to be at most 1/64 longer than the last one
	ropeEnd   = 128      // bytes kept of the end of a message that is too large
)

// Rope collects a message of unknown length from pieces. It copies the message only once, at the end: a message of n bytes
// costs 2n bytes of memory instead of the 3n of a growing buffer. It must be used by one goroutine.
//
// A peer that sent a large message often sends another one of the same size. Rope allocates one chunk of that size, and a
// message that fits is not copied.
//
// A message that exceeds Max or the budget sets Err. The rest of it is dropped; Small keeps its first bytes and End its last.
type Rope struct {
	Max    int // maximum message size in bytes
	Budget *Budget

	Small  []byte             // the first bytes; the buffer is reused
	chunks [][]byte           // the rest
	memory []*protocol.Memory // memory of the chunks
	N      int                // number of bytes collected
	expect int                // expected size of a large message; 0 if unknown
	moved  bool               // the first chunk starts with a copy of Small
	taken  int                // bytes taken from budget
	End    []byte             // the last bytes added when or after Err was set
	Err    error
}

// Add appends p.
func (r *Rope) Add(p []byte) {
	whole := p
	for len(p) > 0 && r.Err == nil {
		free := r.tail()
		n := copy(free, p)
		r.grow(n)
		p = p[n:]
	}
	if r.Err != nil {
		r.End = append(r.End, whole[max(0, len(whole)-ropeEnd):]...)
		r.End = r.End[max(0, len(r.End)-ropeEnd):]
	}
}

// ReadAll appends src until its end. It returns src's error, or Err if the message exceeds a limit.
func (r *Rope) ReadAll(src io.Reader) error {
	for r.Err == nil {
		free := r.tail()
		if r.Err != nil {
			break
		}
		n, err := src.Read(free)
		r.grow(n)
		if err == io.EOF {
			return r.Err
		}
		if err != nil {
			return err
		}
	}
	return r.Err
}

// tail returns free space after the collected bytes: at least one byte unless Err is set.
func (r *Rope) tail() []byte {
	if len(r.chunks) == 0 {
		if len(r.Small) < cap(r.Small) {
			return r.Small[len(r.Small):cap(r.Small)]
		}
		if cap(r.Small) < ropeSmall {
			bigger := make([]byte, len(r.Small), max(linesMin, 2*cap(r.Small)))
			copy(bigger, r.Small)
			r.Small = bigger
			return r.Small[len(r.Small):cap(r.Small)]
		}
	} else if last := r.chunks[len(r.chunks)-1]; len(last) < cap(last) {
		return last[len(last):cap(last)]
	}
	if len(r.chunks) == 0 && r.expect > r.N && r.expect <= r.Max {
		return r.whole()
	}
	size := min(max(r.N, ropeSmall), ropeChunk, max(r.Max-r.N, 0)+1) // one byte more detects that it is too long
	if !r.take(size) {
		r.fail(ErrOverBudget)
		return nil
	}
	return r.chunks[len(r.chunks)-1][:size]
}

// whole is like tail, but makes room for the whole expected message, and copies Small to its start. If the budget does
// not allow that, it returns the result of tail.
func (r *Rope) whole() []byte {
	size := r.expect
	if r.expect = 0; !r.take(size) {
		return r.tail()
	}
	r.chunks[0] = append(r.chunks[0], r.Small...)
	r.moved = true
	return r.chunks[0][r.N:size]
}

// take adds a chunk if the budget allows it, and reports whether it did.
func (r *Rope) take(size int) bool {
	if !r.Budget.Take(size) {
		return false
	}
	r.taken += size
	chunk := protocol.NewMemory(size)
	r.memory = append(r.memory, chunk)
	r.chunks = append(r.chunks, chunk.Bytes()[:0])
	return true
}

// grow records n bytes written to tail.
func (r *Rope) grow(n int) {
	if len(r.chunks) == 0 {
		r.Small = r.Small[:len(r.Small)+n]
	} else {
		last := &r.chunks[len(r.chunks)-1]
		*last = (*last)[:len(*last)+n]
	}
	r.N += n
	if r.N > r.Max {
		r.fail(fmt.Errorf("%w: more than %d bytes", ErrFrameTooLarge, r.Max))
	}
}

func (r *Rope) fail(err error) {
	r.Err = err
	r.drop()
	r.Budget.Give(r.taken)
	r.taken = 0
}

// Bytes returns the message in a new slice of exactly its size, and frees the chunks.
func (r *Rope) Bytes() []byte {
	return r.appendTo(make([]byte, 0, r.N))
}

// Take is like Bytes, but puts a message of at least protocol.MemoryMin bytes in reusable memory and also returns that
// memory. For a smaller message the memory is nil.
func (r *Rope) Take() ([]byte, *protocol.Memory) {
	if r.N < protocol.MemoryMin {
		return r.Bytes(), nil
	}
	r.expect = r.N + r.N/ropeSpare
	if r.moved && len(r.chunks) == 1 && cap(r.chunks[0])/2 <= r.N {
		message, memory := r.chunks[0], r.memory[0]
		r.chunks, r.memory = r.chunks[:0], r.memory[:0]
		return message, memory
	}
	memory := protocol.NewMemory(r.N)
	return r.appendTo(memory.Bytes()[:0]), memory
}

func (r *Rope) appendTo(message []byte) []byte {
	if !r.moved {
		message = append(message, r.Small...)
	}
	for _, c := range r.chunks {
		message = append(message, c...)
	}
	r.drop()
	return message
}

// drop frees the chunks, to which nothing else may refer.
func (r *Rope) drop() {
	for _, m := range r.memory {
		m.Free()
	}
	clear(r.memory)
	clear(r.chunks)
	r.memory, r.chunks, r.moved = r.memory[:0], r.chunks[:0], false
}

// Reset discards the message and returns its bytes to the budget.
func (r *Rope) Reset() {
	r.drop()
	r.Budget.Give(r.taken)
	r.Small, r.N, r.taken, r.Err, r.moved = r.Small[:0], 0, 0, nil, false
}
