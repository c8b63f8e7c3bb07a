package kernel

import (
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// owned is a message that belongs to a client.
type owned struct {
	*classed
	who uint32
}

func (o owned) Lane() uint32 { return o.who }

// fairly sends the messages to a busy actor with a fair mailbox and returns those it handled, in order.
func fairly(t *testing.T, limit int, messages ...owned) (order []owned) {
	t.Helper()
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: limit, Fair: true}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case owned:
				m.handled()
				order = append(order, m)
			}
		}))
		r.Tell(g)
		synctest.Wait()
		for _, m := range messages {
			r.Tell(m)
		}
		close(g)
		synctest.Wait()
		if box := &r.cell.box; box.depth != 0 || box.waiting != 0 || len(box.fair.byNumber) > lanesKept || box.fair.first != nil {
			t.Errorf("the empty mailbox counts %d messages, %d towards the limit, in %d lanes", box.depth, box.waiting, len(box.fair.byNumber))
		}
	})
	return order
}

// A client that fills a fair mailbox delays only itself. Other clients take turns, each in the order of its own
// messages. Messages without a lane come first.
func TestFairMailbox(t *testing.T) {
	var told []owned
	for i := range 1000 {
		told = append(told, owned{newClassed(i, Outcome, ""), 7})
	}
	for i, class := range []Class{Outcome, LogLine, Work, LogLine} {
		told = append(told, owned{newClassed(2000+i, class, ""), 8})
	}
	told = append(told, owned{newClassed(3000, Outcome, ""), 0})
	var ids, others []int
	for _, m := range fairly(t, 2000, told...) {
		ids = append(ids, m.id)
		if m.who != 7 {
			others = append(others, m.id)
		}
	}
	if want := []int{3000, 2000, 2001, 2002, 2003}; !slices.Equal(others, want) || slices.Index(ids, 2003) > 9 {
		t.Errorf("other clients' messages in the order %v, the last at %d", others, slices.Index(ids, 2003))
	}
	if greedy := slices.DeleteFunc(ids, func(id int) bool { return id >= 1000 }); len(greedy) != 1000 || !slices.IsSorted(greedy) {
		t.Errorf("%d messages of lane 7, sorted %v", len(greedy), slices.IsSorted(greedy))
	}
}

// Each lane may use a part of the mailbox for Work. Beyond that its Work is refused, and other lanes still have room.
func TestFairLaneIsBounded(t *testing.T) {
	var told []owned
	for i := range 100 {
		told = append(told, owned{newClassed(i, Work, ""), 7})
	}
	told = append(told, owned{newClassed(200, Work, ""), 8})
	handled := fairly(t, 8*laneShare, told...)
	if len(handled) != 9 || told[8].answer() != string(Overloaded) || told[100].answer() != "handled" {
		t.Errorf("%d handled; the ninth of lane 7: %s; that of lane 8: %s", len(handled), told[8].answer(), told[100].answer())
	}
}

// Model test: each lane keeps its order, messages without a lane do not wait for other lanes, a lane waits for at most
// one turn of each other lane, and the counts are correct.
func TestFairMailboxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := &mailbox{started: true}
		box.init(&cell{}, 1<<20, true)
		lanes, since, id := map[uint32][]int{}, map[uint32]int{}, 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				who := rapid.Uint32Range(0, 4).Draw(t, "who")
				class := rapid.SampledFrom([]Class{Work, Outcome, LogLine}).Draw(t, "class")
				for range rapid.IntRange(1, 20).Draw(t, "times") {
					id++
					box.put(who, entry{msg: owned{newClassed(id, class, ""), who}, class: class}, nil)
					lanes[who] = append(lanes[who], id)
				}
			},
			"many": func(*rapid.T) { // clients with one message each
				for who := range uint32(3 * lanesKept) {
					id++
					box.put(100+who, entry{msg: owned{newClassed(id, Outcome, ""), 100 + who}, class: Outcome}, nil)
					lanes[100+who] = append(lanes[100+who], id)
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "times") {
					e, what := box.next()
					if what == nothing {
						return
					}
					m := e.msg.(owned)
					if want := lanes[m.who][0]; m.id != want {
						t.Fatalf("lane %d: took %d, want %d", m.who, m.id, want)
					}
					lanes[m.who] = lanes[m.who][1:]
					if m.who == 0 {
						continue
					}
					if len(lanes[0]) > 0 {
						t.Fatalf("lane %d has its turn while a message without a lane waits", m.who)
					}
					for who := range lanes {
						if since[who]++; who == m.who || len(lanes[who]) == 0 {
							since[who] = 0
						} else if since[who] > 5+3*lanesKept {
							t.Fatalf("lane %d has waited for %d turns", who, since[who])
						}
					}
				}
			},
			"": func(t *rapid.T) {
				waiting, busy := 0, 0
				for who, ids := range lanes {
					if waiting += len(ids); len(ids) > 0 && who > 0 {
						busy++
					}
				}
				if box.UserMessageCount() != waiting || box.waiting > waiting || len(box.fair.byNumber) > busy+lanesKept {
					t.Fatalf("%d queued, %d counted, %d lanes; want %d in %d", box.UserMessageCount(), box.waiting, len(box.fair.byNumber), waiting, busy)
				}
			},
		})
	})
}
