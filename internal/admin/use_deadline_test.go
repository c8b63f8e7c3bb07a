package admin

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// limitedWriter records the deadlines that are set for writes.
type limitedWriter struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *limitedWriter) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

// Each event of a streamed use has a deadline, so that a client that does not read cannot hold the call forever.
func TestStreamedUseHasDeadlines(t *testing.T) {
	w := &limitedWriter{ResponseRecorder: httptest.NewRecorder()}
	src := status.Local{Perform: func(_ context.Context, _ status.Use, tell func(status.UseEvent)) (status.UseResult, error) {
		tell(status.UseEvent{Progress: &status.UseProgress{Done: 1}})
		return status.UseResult{Result: json.RawMessage(`{}`)}, nil
	}}
	streamUse(w, httptest.NewRequest("POST", "/actions/call", nil), src, status.Use{Tool: "a"})
	if got := w.Body.String(); !strings.Contains(got, "event: progress") || !strings.Contains(got, "event: answer") {
		t.Errorf("got %s", got)
	}
	if len(w.deadlines) != 2 || time.Until(w.deadlines[0]) > writeTime || time.Until(w.deadlines[0]) < writeTime/2 {
		t.Errorf("deadlines %v, want one of %v for each event", w.deadlines, writeTime)
	}
}
