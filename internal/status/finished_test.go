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

// A stored call has all facts that are known about it.
func TestFactsOfFinishedCalls(t *testing.T) {
	m := NewMetrics()
	began := time.Unix(100, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	m.Server("files").Ended(Ended{
		Session: "a", Client: "agent 2", Who: "ci", Method: protocol.MethodToolsCall, Item: "read", Public: "files_read", Outcome: OutcomeError, Began: began, Took: 9 * time.Millisecond,
		Taken: MomentOf(began, began), Sent: at(2), Asked: MomentOf(began, at(3)), Answered: MomentOf(began, at(8)), In: 120, Out: 4100,
		Route: &Route{Backend: "0.2", Protocol: "2025-11-25"}, Version: "2026-07-28", Code: -32602, Failure: &Failure{"-32602", "no such file"},
	})
	want := FinishedCall{
		Number: 1, Session: "a", Client: "agent 2", Who: "ci", Server: "files", Method: "tools/call", Item: "read", Public: "files_read", Outcome: "error", Began: began, Seconds: 0.009,
		Taken: began, Written: at(2), Asked: at(3), Answered: at(8), In: 120, Out: 4100, Backend: "0.2", Peer: "2025-11-25", Version: "2026-07-28", Code: "-32602", Error: "no such file",
	}
	if got := m.Finished("files", 0); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Requests that were refused before a server was chosen are stored apart from the servers' calls, and their number is limited too.
func TestRefusedRequests(t *testing.T) {
	m := NewMetrics()
	m.Server("files").Ended(Ended{Item: "read", Outcome: OutcomeOK})
	for range 10000 {
		m.Refused(Ended{Public: strings.Repeat("x", 1000), Outcome: OutcomeFailed, Failure: &Failure{Code: "TOOL_NOT_FOUND"}})
	}
	all := m.Finished("", 0)
	if len(all) != maxFinished+1 || all[0].Server != "files" || all[1].Server != "" || all[1].Code != "TOOL_NOT_FOUND" || len(all[1].Public) != maxFinishedItem+len("…") {
		t.Errorf("%d calls, the first are %+v", len(all), all[:2])
	}
	if of := m.Finished("files", 0); len(of) != 1 {
		t.Errorf("%d calls of the server", len(of))
	}
}

func BenchmarkEnded(b *testing.B) {
	s := NewMetrics().Server("files")
	b.ReportAllocs()
	for b.Loop() {
		s.Ended(Ended{Session: "a", Method: protocol.MethodToolsCall, Item: "read", Outcome: OutcomeOK, Took: time.Millisecond})
	}
}

// BenchmarkEndedWithFacts measures Ended for a call that was sent to a server.
func BenchmarkEndedWithFacts(b *testing.B) {
	s := NewMetrics().Server("files")
	route, began := &Route{Backend: "0.1", Protocol: "2025-11-25"}, time.Now()
	sent := began.Add(time.Microsecond)
	b.ReportAllocs()
	for b.Loop() {
		s.Ended(Ended{Session: "a", Client: "agent 2", Who: "ci", Method: protocol.MethodToolsCall, Item: "read", Public: "files_read", Outcome: OutcomeOK, Began: began, Took: time.Millisecond,
			Taken: MomentOf(began, sent), Sent: sent, Answered: MomentOf(began, sent), In: 120, Out: 4100, Route: route, Version: "2026-07-28"})
	}
}
