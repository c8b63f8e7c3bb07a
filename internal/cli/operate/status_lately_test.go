package operate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/status"
)

// The status shows people the newest three failures and refusals. With -o json it has all that were fetched. Texts of
// clients and servers cannot control the terminal.
func TestStatusTellsWhatFailedLately(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	var l lately
	for i := range 5 {
		l.Failures = append(l.Failures, status.FinishedCall{Number: uint64(i), Public: "web_search\x1b[31m", Method: "tools/call", Outcome: "unavailable", Code: "SERVER_UNAVAILABLE", Error: "gone\nnow", Began: now.Add(-2 * time.Second), Seconds: 1})
		l.Denials = append(l.Denials, status.Denial{Who: status.Unknown, From: "198.51.100.7", What: "POST /mcp\x07", Why: "unknown or revoked key", Last: now, Times: uint64(i + 1)})
	}
	l.Denials[1].Who, l.Denials[1].What, l.Denials[1].Why = "ci", "tools/call notes_delete", "no role permits it"
	s := &status.Snapshot{Now: now, Started: now.Add(-time.Hour), Ready: true}
	for format, count := range map[output.Format]int{output.Table: 1, lines: 1, output.JSON: 0} {
		var b strings.Builder
		if err := printAs(&b, s, l, format); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		if format == output.JSON {
			var got reported
			if err := json.Unmarshal([]byte(b.String()), &got); err != nil || len(got.Failures) != 5 || len(got.Denials) != 5 {
				t.Errorf("%v: %s", err, b.String())
			}
			continue
		}
		for _, want := range []string{
			"web_search", "failed at 11:59:59: SERVER_UNAVAILABLE: gone", "a client without a valid key from 198.51.100.7 was turned away at 12:00:00: POST /mcp",
			"ci from 198.51.100.7 was turned away at 12:00:00: tools/call notes_delete: no role permits it (2 times)", "(3 times)",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", format, want, b.String())
			}
		}
		if n := strings.Count(text, "failed at 11:59:59: SERVER"); n != shownLately*count || strings.Contains(text, "(4 times)") || strings.ContainsAny(b.String(), "\x1b\x07") {
			t.Errorf("%s has %d failures:\n%q", format, n, b.String())
		}
	}
}
