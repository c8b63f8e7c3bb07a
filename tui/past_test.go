package tui

import (
	"context"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// The console receives each call and line once, keeps failures apart from successes, and begins again with a restarted
// gateway.
func TestPast(t *testing.T) {
	source := &fixed{picture: samplePicture()}
	next := noPicture()
	step := func() {
		t.Helper()
		last := next
		copied := *last
		next = &copied
		next.Snapshot = source.picture.Snapshot
		if err := fetchPast(context.Background(), source, last, next); err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	if len(next.Finished) != 11 || len(next.Failures) != 4 || len(next.Lines) != 5 || len(next.ended) != 11 || len(next.rates) != 4 {
		t.Errorf("%d finished, %d failed, %d lines, %d rows, %d series", len(next.Finished), len(next.Failures), len(next.Lines), len(next.ended), len(next.rates))
	}
	for i := range 10_000 {
		next.past = next.with([]status.FinishedCall{{Number: uint64(100 + i), Outcome: "ok"}}, []status.Event{{Number: uint64(100 + i), Level: status.LevelStderr}})
	}
	if len(next.Finished) != maxFinished || len(next.ended) != maxFinished || len(next.Lines) != maxLines || len(next.Failures) != 4 {
		t.Errorf("after 10 000 successes: %d finished, %d rows, %d lines, %d failed", len(next.Finished), len(next.ended), len(next.Lines), len(next.Failures))
	}
	again := *source.picture.Snapshot
	again.Started = again.Started.Add(time.Hour)
	source.picture.Snapshot = &again
	step()
	if len(next.Finished) != 11 || len(next.Failures) != 4 {
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
