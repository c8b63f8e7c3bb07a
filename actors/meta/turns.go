package meta

import (
	"slices"
	"time"

	"goblin-actor/actors/message"
)

// waiting is a call that waits for its turn.
type waiting struct {
	message.Dispatch
	until time.Time // when it is refused
}

// turns are the calls that wait: one line for each client, so that whoever asks much waits for himself.
type turns struct {
	lines []*clientLine // whose turn is next stands first; none is empty
	count int
}

// clientLine is the calls of one client.
type clientLine struct {
	client string
	calls  []waiting // the oldest first
}

// add has a call wait. When there is no more room, one has to go, whose it is: the newest of the client that has most, or the call
// itself.
func (t *turns) add(w waiting) (refused message.Dispatch, full bool) {
	client := w.Request.Caller.Line()
	its := slices.IndexFunc(t.lines, func(l *clientLine) bool { return l.client == client })
	if t.count >= maxWaiting {
		most := slices.MaxFunc(t.lines, func(a, b *clientLine) int { return len(a.calls) - len(b.calls) })
		if its >= 0 && len(t.lines[its].calls)+1 >= len(most.calls) || len(most.calls) == 1 {
			return w.Dispatch, true
		}
		refused, full = most.calls[len(most.calls)-1].Dispatch, true
		most.calls = slices.Delete(most.calls, len(most.calls)-1, len(most.calls)) // it had more than one: the line stays
		t.count--
	}
	if its < 0 {
		its = len(t.lines)
		t.lines = append(t.lines, &clientLine{client: client})
	}
	t.lines[its].calls = append(t.lines[its].calls, w)
	t.count++
	return refused, full
}

// next takes out the call whose turn it is. There has to be one.
func (t *turns) next() message.Dispatch {
	l := t.lines[0]
	d := l.calls[0].Dispatch
	l.calls = slices.Delete(l.calls, 0, 1)
	t.count--
	t.lines = slices.Delete(t.lines, 0, 1)
	if len(l.calls) > 0 {
		t.lines = append(t.lines, l)
	}
	return d
}

// take takes out all calls that which wants, line by line.
func (t *turns) take(which func(*waiting) bool) (taken []message.Dispatch) {
	for _, l := range t.lines {
		l.calls = slices.DeleteFunc(l.calls, func(w waiting) bool {
			if which(&w) {
				taken = append(taken, w.Dispatch)
				return true
			}
			return false
		})
	}
	t.lines = slices.DeleteFunc(t.lines, func(l *clientLine) bool { return len(l.calls) == 0 })
	t.count -= len(taken)
	return taken
}
