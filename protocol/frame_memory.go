package protocol

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// MemoryMin is the size in bytes of the smallest buffer. A smaller request gets a buffer of this size.
	MemoryMin = 64 << 10
	memoryMax = 8 << 20 // larger buffers are not reused

	memorySteps   = 8  // classes per power of two, so at most one eighth of a buffer is unused
	memoryClasses = 57 // one for MemoryMin, and 8 for each of the seven powers of two above it
)

// Memory is a reusable buffer for a large frame. Allocating, clearing and collecting a buffer of 1 MiB costs as much as
// reading a frame into it.
//
// A Memory travels with its Frame and has one owner at a time. The last owner may call Free if nothing else can still read
// the frame. Not calling Free is always safe: the garbage collector then collects the buffer. Only the transport's exchange
// frees frames, after it has written or copied a response that it received in pieces.
type Memory struct {
	block *memoryBlock
	size  int
	freed atomic.Bool
}

// memoryBlock is the buffer that is reused. Each use has its own Memory, so a stale Memory cannot free a later use.
type memoryBlock struct {
	bytes []byte
	class int // -1 if the block is not reused
}

// memories holds freed blocks by class. The garbage collector removes blocks that stay unused for two cycles.
var memories [memoryClasses]sync.Pool

// NewMemory returns a buffer of n bytes with undefined content.
func NewMemory(n int) *Memory {
	class, size := memoryClass(n)
	if class >= 0 {
		if block, ok := memories[class].Get().(*memoryBlock); ok {
			return &Memory{block: block, size: n}
		}
	}
	return &Memory{block: &memoryBlock{bytes: make([]byte, size), class: class}, size: n}
}

// memoryClass returns the class of a block for n bytes, and the size of the blocks in that class.
func memoryClass(n int) (class, size int) {
	if n > memoryMax {
		return -1, n
	}
	n = max(n, MemoryMin)
	octave := bits.Len(uint(n-1)) - 1
	step := 1 << octave / memorySteps
	steps := (n + step - 1) / step // 9 to 16
	first := bits.Len(MemoryMin-1) - 1
	return (octave-first)*memorySteps + steps - 2*memorySteps, steps * step
}

// Bytes returns the buffer. Its capacity equals its length.
func (m *Memory) Bytes() []byte { return m.block.bytes[:m.size:m.size] }

// Free releases the memory for reuse. It must not be read afterwards. Free does nothing on nil or when called again.
func (m *Memory) Free() {
	if m == nil || m.freed.Swap(true) || m.block.class < 0 {
		return
	}
	if poison.Load() {
		for i := range m.block.bytes {
			m.block.bytes[i] = 0xFF
		}
	}
	memories[m.block.class].Put(m.block)
}

var poison atomic.Bool

// PoisonFreed controls whether Free overwrites the memory, so that tests detect reads after Free.
func PoisonFreed(on bool) { poison.Store(on) }
