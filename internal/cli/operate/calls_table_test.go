package operate

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// A row shows why a call failed or what it waits for, and a hostile text stays in its cell.
func TestCallRows(t *testing.T) {
	began := time.Date(2026, 11, 28, 12, 4, 30, 0, time.Local)
	rows := callRows(calls{
		Finished: []status.FinishedCall{
			{Client: "agent 2", Who: "ci", Server: "files", Method: "tools/call", Item: "search", Public: "files_search", Outcome: "unavailable", Began: began, Seconds: 1,
				Code: "SERVER_UNAVAILABLE", Error: "files is\nnot\x1b[31m connected", Taken: began.Add(12 * time.Millisecond), In: 98, Out: 4200},
			{Session: "abc", Method: "tools/call", Public: "nope", Outcome: "failed", Began: began, Code: "TOOL_NOT_FOUND", In: 2 << 20},
		},
		Running: []status.Call{
			{Client: "editor", Server: "web", Method: "tools/call", Item: "riddle", State: "parked", Began: began, WaitsFor: "its user has not answered a form of 3 fields", Deadline: began.Add(time.Minute)},
			{Client: "editor", Server: "web", State: "written", Began: began, Deadline: began.Add(time.Minute)},
		},
	}, began.Add(48*time.Second))
	for i, want := range [][]string{
		{"12:04:31", "agent 2 of ci", "files", "tools/call", "files_search", "unavailable", "12ms", "1s", "98 B", "4.1 K", `SERVER_UNAVAILABLE: files is not\x1b[31m connected`},
		{"12:04:30", "abc", "-", "tools/call", "nope", "failed", "", "0s", "2.0 M", "", "TOOL_NOT_FOUND"},
		{"now", "editor", "web", "tools/call", "riddle", "parked", "", "48s", "", "", "its user has not answered a form of 3 fields, 12s left"},
		{"now", "editor", "web", "", "", "written", "", "48s", "", "", "12s left"},
	} {
		if !slices.Equal(rows[i], want) || len(rows[i]) != len(callColumns) {
			t.Errorf("row %d: got %q, want %q", i, rows[i], want)
		}
	}
}
