package tui

import (
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// The console keeps failures apart from successes, and begins again with a restarted gateway.
func TestPast(t *testing.T) {
	sample := samplePicture()
	p := newPump(&fixed{picture: sample}, time.Now, nil)
	begin := func(boot string) *Picture {
		for _, n := range []status.Notice{{Hello: &status.Hello{Boot: boot}}, {Series: sample.rates}, {Snapshot: sample.Snapshot}, {Finished: sample.Finished}, {Lines: sample.Lines}} {
			p.take(n)
		}
		p.fetch(t.Context(), wants{usage: true})
		return p.newest
	}
	next := begin("a")
	if len(next.Finished) != 11 || len(next.Failures) != 4 || len(next.Lines) != 5 || len(next.ended) != 11 || len(next.rates) != 4 {
		t.Errorf("%d finished, %d failed, %d lines, %d rows, %d series", len(next.Finished), len(next.Failures), len(next.Lines), len(next.ended), len(next.rates))
	}
	var calls []status.FinishedCall
	var lines []status.Event
	for i := range 10_000 {
		calls = append(calls, status.FinishedCall{Number: uint64(100 + i), Outcome: "ok"})
		lines = append(lines, status.Event{Number: uint64(100 + i), Level: status.LevelStderr})
	}
	for i := 0; i < len(calls); i += 100 {
		p.take(status.Notice{Finished: calls[i : i+100]})
		p.take(status.Notice{Lines: lines[i : i+100]})
	}
	next = p.newest
	if len(next.Finished) != maxFinished || len(next.ended) != maxFinished || len(next.Lines) != maxLines || len(next.Failures) != 4 {
		t.Errorf("after 10 000 successes: %d finished, %d rows, %d lines, %d failed", len(next.Finished), len(next.ended), len(next.Lines), len(next.Failures))
	}
	if next = begin("b"); len(next.Finished) != 11 || len(next.Failures) != 4 {
		t.Errorf("after a restart: %d finished, %d failed", len(next.Finished), len(next.Failures))
	}
}

// Equal failures are one row with their number.
func TestEqualFailures(t *testing.T) {
	p := noPicture()
	for i := range 5 {
		p.past = p.with([]status.FinishedCall{{Number: uint64(i + 1), Server: "web", Item: "x", Outcome: "timeout", Began: noon.Add(time.Duration(i) * time.Second)}}, nil)
	}
	rows := failureRows(p)
	if len(rows) != 1 || rows[0].Cells[0].Text != "12:00:04" || rows[0].Cells[3].Text != "timeout ×5" {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
}

// Messages are counted over at least a second. The count of a restarted actor is not known at first.
func TestMessages(t *testing.T) {
	var m messages
	at := func(after time.Duration, a, b uint64) {
		p := noPicture()
		p.Now = noon.Add(after)
		p.Actors = []status.Actor{{Name: "a", Handled: a}, {Name: "b", Handled: b}}
		m = m.next(p)
	}
	at(0, 5, 5)
	if m.rate("a") != -1 {
		t.Errorf("known at once: %v", m.rate("a"))
	}
	at(time.Second-1, 50, 50)
	at(2*time.Second, 25, 3)
	if m.rate("a") != 10 || m.rate("b") != -1 || m.rate("c") != -1 {
		t.Errorf("a %v, b %v, c %v", m.rate("a"), m.rate("b"), m.rate("c"))
	}
}
