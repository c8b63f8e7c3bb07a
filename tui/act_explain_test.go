package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// A denial of the policy is explained on a sheet, even in a read-only console. For another denial, the action says why
// it cannot be explained.
func TestExplainDenial(t *testing.T) {
	asked, answer := make(chan string, 1), make(chan error, 1)
	s := newTestConsole(t, 120, 40, Options{ReadOnly: true, Explain: func(_ context.Context, who, item string) (string, error) {
		asked <- who + " " + item
		return "denied: tool notes_\x1b[2J of notes, for ci\n  role reader does not permit it: readOnly (goblin.yaml:12)\n", <-answer
	}})
	p := *samplePicture()
	p.Denials = []status.Denial{
		{Number: 7, Who: "ci", What: "tools/call notes_delete_note", Why: "no role permits it", Times: 3},
		{Number: 8, Who: status.Unknown, What: "POST /mcp", Why: "unknown or revoked key", Times: 1},
		{Number: 9, Who: "ada's laptop", What: `tools/call it's a "tool" \ here`, Why: "no role permits it", Times: 1},
		{Number: 10, Who: "ci", What: "tools/call " + strings.Repeat("x", 180) + "…", Why: "no role permits it", Times: 1},
	}
	s.app.take(&p)
	s.press(":denials<enter>x")
	s.has("= goblin-actor policy explain --as ci notes_delete_note")
	s.choose("explain it")
	s.has("reading the policy")
	if got := <-asked; got != "ci notes_delete_note" {
		t.Errorf("asked for %q", got)
	}
	answer <- nil
	s.happen()
	s.has(`denied: tool notes_\x1b[2J of notes, for ci`)
	s.has("  role reader does not permit it: readOnly (goblin.yaml:12)")
	harmless(t, s, "an explanation")

	s.press("<esc>x")
	s.choose("explain it")
	<-asked
	answer <- errors.New("the gateway is gone; start it")
	s.happen()
	s.has("the gateway is gone; start it")

	s.press("<esc><down>x")
	s.choose("explain it")
	s.has("explain it: no command explains this denial")

	s.press("<esc><down>x")
	s.has(`= goblin-actor policy explain --as 'ada'\''s laptop' 'it'\''s a "tool" \ here'`)
	s.choose("explain it")
	if got := <-asked; got != `ada's laptop it's a "tool" \ here` {
		t.Errorf("asked for %q", got)
	}
	answer <- nil
	s.happen()

	s.press("<esc><down>x")
	s.choose("explain it")
	s.has("explain it: no command explains this denial")
}
