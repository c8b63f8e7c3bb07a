package edge

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Requests wait for all the lists they asked for, or for their time, once, and no more of them than may be.
func TestSeekers(t *testing.T) {
	var s Seekers[int]
	var seq uint64
	servers := []*catalog.Server{{Name: "one"}, {Name: "two"}}
	begin := func(request int) (seqs []uint64, id uint64, waits bool) {
		out, waits := s.begin(request, servers, []protocol.ItemKind{protocol.Tools}, kernel.Reference{}, &seq, nil)
		for _, e := range out {
			switch m := e.Msg.(type) {
			case message.Refresh:
				seqs = append(seqs, m.Seq)
			case nil:
				id = e.Act.(kernel.Wake).Msg.(SeekOver).id
			}
		}
		return seqs, id, waits
	}
	seqs, id, waits := begin(1)
	if !waits || len(seqs) != 2 || id == 0 {
		t.Fatalf("asked %v, timer %d", seqs, id)
	}
	if _, done := s.Came(seqs[0]); done {
		t.Error("done after one of two answers")
	}
	if _, done := s.Came(seqs[0]); done {
		t.Error("done after the same answer twice")
	}
	if r, done := s.Came(seqs[1]); !done || r != 1 {
		t.Errorf("after both answers: %d, %v", r, done)
	}
	if _, found := s.Over(SeekOver{id}); found {
		t.Error("its time is over after it is done")
	}
	seqs, id, _ = begin(2)
	_, _ = s.Came(seqs[0])
	if r, found := s.Over(SeekOver{id}); !found || r != 2 {
		t.Errorf("when its time is over: %d, %v", r, found)
	}
	if _, done := s.Came(seqs[1]); done {
		t.Error("a late answer counts")
	}
	for i := range 2 * maxSeeking {
		if _, _, waits := begin(i); waits != (i < maxSeeking) {
			t.Fatalf("request %d waits: %v", i, waits)
		}
	}
	if r, found := s.Withdraw(func(r int) bool { return r == 7 }); !found || r != 7 || len(s.Waiting) != maxSeeking-1 {
		t.Errorf("withdrawn: %d, %v, %d left", r, found, len(s.Waiting))
	}
	s = Seekers[int]{Again: true}
	if _, _, waits := begin(1); waits {
		t.Error("a request waits a second time")
	}
}
