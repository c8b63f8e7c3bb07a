package actors

import (
	"context"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// While the nodes have different views of the members, a note may reach a node that is not the session's home, from one that is not the
// home any more. A node passes such a note on to the home, again and again until the home has kept it. So the note of a session that
// moves twice within a short time is not lost.

const (
	maxPassing = 64          // notes on their way to other nodes
	passAgain  = time.Second // until a note that another node has not kept is passed on again
)

type (
	// passNote passes a note on; notePassed follows.
	passNote struct {
		to   string // incarnation
		note *cluster.Note
	}
	notePassed struct {
		passNote
		kept bool
	}
	passDue struct{} // it is time to pass on again what was not kept
)

// passing is what a node knows about notes that it passes on.
type passing struct {
	count  int      // notes on their way
	queue  []string // sessions whose notes are to be checked
	failed []string // sessions whose notes another node has not kept; passDue follows if there are some
}

// passAll passes on all notes that are not at the right node.
func (n *notes) passAll(out []kernel.Effect) []kernel.Effect {
	n.passing.queue = slices.Sorted(maps.Keys(n.of))
	return n.pass(out)
}

// passOne passes on the notes about one session, if they are not at the right node.
func (n *notes) passOne(id string, out []kernel.Effect) []kernel.Effect {
	n.passing.queue = append(n.passing.queue, id)
	if len(n.passing.queue) > 2*maxNotes { // some are in it more than once
		return n.passAll(out)
	}
	return n.pass(out)
}

// passFailed passes on again what other nodes have not kept.
func (n *notes) passFailed(out []kernel.Effect) []kernel.Effect {
	n.passing.queue, n.passing.failed = append(n.passing.queue, n.passing.failed...), nil
	return n.pass(out)
}

func (n *notes) pass(out []kernel.Effect) []kernel.Effect {
	p := &n.passing
	for len(p.queue) > 0 && p.count < maxPassing {
		id := p.queue[0]
		p.queue = p.queue[1:]
		for _, k := range n.of[id] {
			if to := n.misplaced(k); to != "" && to != k.passed {
				k.passed = to
				p.count++
				out = append(out, kernel.Act(passNote{to, k.Note}))
			}
		}
	}
	return out
}

// misplaced returns the home of the session that a note is about, if neither the note's sender nor this node is the home. Otherwise, it
// returns "".
func (n *notes) misplaced(k *keptNote) (home string) {
	if n.view == nil {
		return ""
	}
	m := n.view.Home(k.Session)
	if m == nil || m.Incarnation == n.view.Self || m == n.view.Resolve(k.From) {
		return ""
	}
	return m.Incarnation
}

// passed handles the answer to a note that was passed on. This node forgets the note unless its sender still runs: the sender may be the
// home in its own view, and rely on this node.
func (n *notes) passed(m notePassed, out []kernel.Effect) []kernel.Effect {
	n.passing.count--
	for _, k := range n.of[m.note.Session] {
		switch {
		case k.Note != m.note:
		case !m.kept:
			k.passed = ""
			if n.passing.failed = append(n.passing.failed, m.note.Session); len(n.passing.failed) == 1 {
				out = append(out, kernel.WakeAfter(passAgain, passDue{}))
			}
		case n.view.Mine(k.From) || n.view.Resolve(k.From) == nil:
			n.forget(m.note.Session, func(other *keptNote) bool { return other == k })
			return n.pass(out)
		}
	}
	return n.pass(out)
}

func (g *gateway) passNote(self kernel.Self, a passNote) {
	note := *a.note // sendNote changes it
	self.Go(func(ctx context.Context) (result any) {
		result = notePassed{a, false}
		defer func() {
			if cause := recover(); cause != nil {
				g.log.Error("passing on a note about a session has panicked", "panic", cause)
			}
		}()
		return notePassed{a, g.sendNote(ctx, a.to, &note)}
	})
}
