package protocol

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// MemoryMin is the smallest size worth being used again.
	MemoryMin = 64 << 10
	memoryMax = 8 << 20 // larger memory is left to the garbage collector

	memorySteps   = 8  // classes an octave: at most an eighth is wasted
	memoryClasses = 57 // MemoryMin alone, and seven octaves above it
)

// Memory is what a large frame lies in, to be used again for another one: clearing and collecting a fresh MiB costs as
// much as reading a frame into it.
//
// It travels with its Frame and has one owner at a time. Whoever has the frame last, and has given no part of it to
// anybody who may still read it, may call Free; whoever is not sure forgets it, and the garbage collector takes it as it
// takes everything else. So forgetting is always right. Frames are freed in one place only: the transport's exchange,
// when the answer it was given in pieces, and the memory with it, has been written or copied.
type Memory struct {
	block *memoryBlock
	size  int
	freed atomic.Bool
}

// memoryBlock is what stays, while a Memory is made for each use: a stale Memory cannot free what is another's by now.
type memoryBlock struct {
	bytes []byte
	class int // -1: not used again
}

// memories holds what was freed; the garbage collector takes what nobody has needed since its last round but one.
var memories [memoryClasses]sync.Pool

// NewMemory returns memory for n bytes. What stands in it is anything.
func NewMemory(n int) *Memory {
	class, size := memoryClass(n)
	if class >= 0 {
		if block, ok := memories[class].Get().(*memoryBlock); ok {
			return &Memory{block: block, size: n}
		}
	}
	return &Memory{block: &memoryBlock{bytes: make([]byte, size), class: class}, size: n}
}

// memoryClass returns the class of memory for n bytes and how large its members are.
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

// Bytes returns the memory; nothing can be appended to it in place.
func (m *Memory) Bytes() []byte { return m.block.bytes[:m.size:m.size] }

// Free gives the memory back: from now on nobody may read it. Of nil, or a second time, it does nothing.
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

// PoisonFreed is for tests: while it is on, freed memory is overwritten, so that who still reads it finds nonsense.
func PoisonFreed(on bool) { poison.Store(on) }
