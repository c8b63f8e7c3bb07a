package protocol

import (
	"bytes"
	"sync"
	"testing"
)

func TestMemoryClasses(t *testing.T) {
	last := -1
	for n := MemoryMin; n <= memoryMax; n += 4 << 10 {
		for _, n := range []int{n - 1, n, n + 1} {
			class, size := memoryClass(n)
			if n > memoryMax {
				if class != -1 || size != n {
					t.Errorf("%d bytes: class %d, size %d", n, class, size)
				}
				continue
			}
			if class < last || class > last+1 || class >= len(memories) || size < n || n >= MemoryMin && size-n > n/memorySteps {
				t.Fatalf("%d bytes: class %d after %d, size %d", n, class, last, size)
			}
			last = class
		}
	}
	if last != len(memories)-1 {
		t.Errorf("the last class is %d of %d", last, len(memories))
	}
	if m := NewMemory(1); len(m.Bytes()) != 1 || cap(m.Bytes()) != 1 {
		t.Errorf("memory of 1 byte: %d, %d", len(m.Bytes()), cap(m.Bytes()))
	}
}

// Freed memory has one new owner, even if a stale owner calls Free again. PoisonFreed overwrites freed memory.
func TestMemoryHasOneOwner(t *testing.T) {
	PoisonFreed(true)
	defer PoisonFreed(false)
	var running sync.WaitGroup
	for n := range byte(8) {
		running.Go(func() {
			var stale *Memory
			for range 200 {
				m := NewMemory(MemoryMin + int(n))
				raw := m.Bytes()
				for i := range raw {
					raw[i] = n
				}
				stale.Free()
				if bytes.Count(raw, []byte{n}) != len(raw) {
					t.Error("memory was modified by another owner")
				}
				m.Free()
				stale = m
			}
		})
	}
	running.Wait()
	m := NewMemory(MemoryMin)
	raw := m.Bytes()
	clear(raw)
	m.Free()
	if raw[0] != 0xFF || raw[MemoryMin-1] != 0xFF {
		t.Error("freed memory was not poisoned")
	}
	(*Memory)(nil).Free()
	NewMemory(memoryMax + 1).Free()
}
