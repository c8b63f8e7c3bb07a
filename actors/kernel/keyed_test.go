package kernel

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// heavy is a message of any class with a size.
type heavy struct {
	*classed
	size int
}

func (h heavy) Size() int { return h.size }

// summed is a heavy message whose keys beyond keyLimit are summarized in one message.
type summed struct{ heavy }

func (summed) Sum() any { return newClassed(-1, State, "the sum") }

// flood sends the messages to a busy actor. It returns their ids in the order of handling, and the largest numbers of
// bytes and of messages that were queued at once.
func flood(t *testing.T, messages ...any) (order []int, held, depth int) {
	t.Helper()
	bubble(t, func(t *testing.T, s *System) {
		g := make(gate)
		r := Spawn(s, SpawnOptions{Name: "a", Mailbox: 8}, on(func(_ Self, msg any) {
			switch m := msg.(type) {
			case gate:
				<-m
			case interface{ number() int }:
				order = append(order, m.number())
			}
		}))
		r.Tell(g)
		synctest.Wait()
		for _, m := range messages {
			r.Tell(m)
			box := &r.cell.box
			held, depth = max(held, box.keyedBytes+box.logBytes), max(depth, box.UserMessageCount())
		}
		close(g)
		synctest.Wait()
		if box := &r.cell.box; box.keyedBytes != 0 || box.logBytes != 0 || box.keys.len() != 0 {
			t.Errorf("the empty mailbox counts %d keyed bytes, %d log bytes and %d keys", box.keyedBytes, box.logBytes, box.keys.len())
		}
	})
	return order, held, depth
}

func (c *classed) number() int { return c.id }

// Beyond stepLimit, a Step replaces the newest queued one of its key. Other keys and classes are not affected.
func TestSteps(t *testing.T) {
	var told []any
	var want []int
	for i := range 1000 {
		told = append(told, newClassed(i, Step, "a"))
		if i < stepLimit-1 || i == 999 {
			want = append(want, i)
		}
	}
	told = append(told, newClassed(2000, Step, "b"), newClassed(2001, Outcome, ""))
	order, _, _ := flood(t, told...)
	if want = append(want, 2000, 2001); !slices.Equal(order, want) {
		t.Errorf("handled %v, want %v", order, want)
	}
}

// The total size of the queued messages of each class is bounded. The newest message of each key and the newest log
// line stay queued.
func TestHeavyMessages(t *testing.T) {
	const size = 100 << 10
	for _, class := range []Class{Step, State, LogLine} {
		var told []any
		for i := range 1000 {
			told = append(told, heavy{newClassed(i, class, fmt.Sprint(i%3)), size})
		}
		order, held, _ := flood(t, told...)
		if held > sizeLimit+3*size {
			t.Errorf("class %d: %d bytes were queued at once", class, held)
		}
		if last := order[len(order)-3:]; !slices.Contains(last, 999) && class != Step || len(order) < 3 {
			t.Errorf("class %d: handled %v", class, order)
		}
		for _, id := range []int{997, 998, 999} {
			if !slices.Contains(order, id) {
				t.Errorf("class %d: the newest of a key is missing: %v", class, order)
			}
		}
	}
}

// A single message may have any size. While it is queued, a Step with another key is dropped, and a further LogLine
// displaces it.
func TestOneHugeMessage(t *testing.T) {
	huge := func(id int, class Class) any { return heavy{newClassed(id, class, fmt.Sprint(id)), 10 * sizeLimit} }
	order, _, _ := flood(t, huge(1, Step), huge(2, Step), huge(3, LogLine), huge(4, LogLine))
	if !slices.Equal(order, []int{1, 4}) {
		t.Errorf("handled %v, want the first step and the last log line", order)
	}
}

// While keyLimit keys are queued, messages with further keys, which a peer may invent, are summarized in one message.
func TestSummed(t *testing.T) {
	var told []any
	for i := range 100_000 {
		told = append(told, summed{heavy{newClassed(i, State, fmt.Sprint(i)), 10}})
	}
	order, _, depth := flood(t, told...)
	if len(order) != keyLimit+1 || depth != keyLimit+1 || order[keyLimit] != -1 {
		t.Errorf("%d handled, at most %d queued, the last is %d; want %d and then the sum", len(order), depth, order[len(order)-1], keyLimit)
	}
}
