package backend

import (
	"math/rand/v2"
	"testing"
)

// Ids wrap at maxID, skip the id of initialize, and never repeat one that is pending.
func TestIDsWrap(t *testing.T) {
	s := &state{conn: newConn(1)}
	s.conn.lastID = maxID - 2
	for _, id := range []uint32{maxID, initializeID + 1, initializeID + 2} {
		s.conn.pending[id] = &pending{}
	}
	var got []uint32
	for range 3 {
		got = append(got, s.nextID())
	}
	if want := []uint32{maxID - 1, initializeID + 3, initializeID + 4}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("ids %v, want %v", got, want)
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s := &state{conn: newConn(1)}
		s.conn.lastID = maxID - uint32(rng.IntN(50))
		for range 200 {
			id := s.nextID()
			if _, taken := s.conn.pending[id]; taken || id <= initializeID || id > maxID {
				t.Fatalf("seed %d: id %d, taken %v", seed, id, taken)
			}
			s.conn.pending[id] = &pending{}
			if rng.IntN(3) == 0 {
				delete(s.conn.pending, id)
			}
		}
	}
}
