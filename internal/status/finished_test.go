package status

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// Failed calls stay stored after ten thousand successful ones, the most recent calls are all stored, and the number of stored calls is
// limited.
func TestFinishedCalls(t *testing.T) {
	m := NewMetrics()
	files, web := m.Server("files"), m.Server("web")
	began := time.Unix(1, 0)
	end := func(s *ServerMetrics, item string, outcome Outcome) {
		s.Ended(Ended{Session: "a", Method: protocol.MethodToolsCall, Item: item, Outcome: outcome, Began: began, Took: time.Second})
	}
	end(files, "write", OutcomeToolError)
	for range 10000 {
		end(files, "read", OutcomeOK)
	}
	end(web, strings.Repeat("é", 500), OutcomeTimeout)
	all, of := m.Finished("", 0), m.Finished("files", 0)
	if len(of) != maxFinished+1 || len(all) != len(of)+1 {
		t.Fatalf("%d calls of files, %d of all servers", len(of), len(all))
	}
	want := FinishedCall{Number: 1, Session: "a", Server: "files", Method: "tools/call", Item: "write", Outcome: "tool_error", Began: began, Seconds: 1}
	if all[0] != want || !all[0].Failed() || of[1].Failed() {
		t.Errorf("first call: got %+v, want %+v", all[0], want)
	}
	last := all[len(all)-1]
	if last.Server != "web" || last.Outcome != "timeout" || len(last.Item) > maxFinishedItem+3 {
		t.Errorf("last call: got %+v", last)
	}
	if got := m.Finished("", last.Number-1); len(got) != 1 || got[0] != last {
		t.Errorf("calls after the last but one: %+v", got)
	}
	if got := m.Finished("absent", 0); got == nil || len(got) != 0 {
		t.Errorf("calls of an unknown server: %v", got)
	}
}

func BenchmarkEnded(b *testing.B) {
	s := NewMetrics().Server("files")
	b.ReportAllocs()
	for b.Loop() {
		s.Ended(Ended{Session: "a", Method: protocol.MethodToolsCall, Item: "read", Outcome: OutcomeOK, Took: time.Millisecond})
	}
}
