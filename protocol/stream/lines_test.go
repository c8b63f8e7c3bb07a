package stream

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"goblin-actor/protocol"
)

// Lines of every length, in reads of every length, are returned unchanged, whatever length was expected. Bytes after a
// long line belong to the next lines. Freed memory is poisoned, so that the test detects a line that is still in it.
func TestRestOfLongLines(t *testing.T) {
	protocol.PoisonFreed(true)
	defer protocol.PoisonFreed(false)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var want [][]byte
		var all []byte
		for range 12 {
			line := make([]byte, rng.IntN(1<<(4+rng.IntN(18))))
			for i := range line {
				line[i] = 'a' + byte((i+len(want))%26)
			}
			want = append(want, line)
			all = append(append(all, line...), '\n')
		}
		budget := NewBudget(0)
		lines, rope := Lines{R: &steps{in: all, rng: rng}}, Rope{Max: 4 << 20, Budget: budget}
		for n, line := range want {
			piece, ended, err := lines.Next()
			for rope.Add(piece); !ended && err == nil; {
				ended, err = lines.Rest(&rope)
			}
			got, memory := rope.Take()
			if err != nil || !bytes.Equal(got, line) {
				t.Fatalf("seed %d, line %d of %d bytes: %d bytes, %v", seed, n, len(line), len(got), err)
			}
			rope.Reset()
			memory.Free()
		}
		if budget.Used() != 0 {
			t.Errorf("seed %d: %d bytes not given back", seed, budget.Used())
		}
	}
}

// steps returns its input in reads of any length.
type steps struct {
	in  []byte
	rng *rand.Rand
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+s.rng.IntN(1<<s.rng.IntN(18)))], s.in)
	s.in = s.in[n:]
	return n, nil
}

// A message of the expected length is not copied. A much shorter one does not keep the memory of a long one, and a longer one
// is complete.
func TestRopeExpects(t *testing.T) {
	r := Rope{Max: 4 << 20}
	for _, test := range []struct {
		n     int
		stays bool
	}{{1 << 20, false}, {1 << 20, true}, {1<<20 + 1000, true}, {700_000, true}, {100_000, false}, {2 << 20, false}, {2<<20 - 1, true}, {100, false}, {2 << 20, true}} {
		want := bytes.Repeat([]byte("x"), test.n)
		r.Add(want[:len(want)/3])
		r.Add(want[len(want)/3:])
		stays := r.moved && len(r.chunks) == 1
		got, memory := r.Take()
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: got %d others", test.n, len(got))
		}
		if stays = stays && memory != nil && len(memory.Bytes()) != test.n; stays != test.stays {
			t.Errorf("%d bytes: not copied: %v, want %v", test.n, stays, test.stays)
		}
		r.Reset()
	}
}
