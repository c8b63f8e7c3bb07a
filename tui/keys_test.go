package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

// A few keys lead from the first screen to the answer to each question.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		question string
		keys     []string
		answers  []string
	}{
		{"why does a server fail?", nil, []string{"issues  waiting 7s", "Error: ISSUES_TOKEN is not set"}},
		{"which call is stuck, and for whom does it wait?", []string{"6"}, []string{"48s  editor 1.98.2", "create_issue", "parked"}},
		{"what did an agent do?", []string{"6"}, []string{"agent 2.1           files   files_read_file", "agent 2.1           issues  issues_search"}},
		{"who listens to a resource?", strings.Split(": s u <enter>", " "), []string{"milk.md ▾", "└─ editor 1.98.2"}},
		{"who is turned away, and why?", nil, []string{"─ turned away[3]", "198.51.100.7", "unknown or revoked key ×12"}},
		{"which mailbox is deepest?", []string{"8", "D"}, []string{"◑  gateway/pool/github", "DEPTH↓"}},
	} {
		t.Run(c.question, func(t *testing.T) {
			s := newTestConsole(t, 120, 40, Options{})
			for _, key := range c.keys {
				s.press(key)
			}
			for _, answer := range c.answers {
				s.has(answer)
			}
			t.Logf("%d keys", len(c.keys))
		})
	}
}

// enter goes down, esc and q go up the same way, and the first line shows the path.
func TestHierarchy(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press("<enter>")
	s.has("overview › issues  3/4")
	s.press("<tab>")
	s.has("overview › issues › calls  3/4")
	s.press("<enter>")
	s.has("overview › issues › calls › call issues_search")
	s.press("q")
	s.has("overview › issues › calls  3/4")
	s.press("q<esc>")
	s.has("● live  overview")
	s.press("[")
	s.has("overview › issues  3/4")
	s.press("[[")
	s.has("overview › issues › calls › call issues_search")
	s.press("]]]]]]")
	s.has("● live  overview")
	s.press("7<enter>")
	s.has("overview › sessions › 1ak3v7qd")
	s.press("6")
	s.has("overview › calls  3/4")
	s.press("s")
	s.has("overview › github › calls")
	s.press("q")
	s.has("overview › github  3/4")
	s.press("<backtab>")
	s.has("overview › github › actors")
	s.press("<tab>")
	s.has("overview › github  3/4")
}

// In the overview, tab goes through the panels that have rows.
func TestPanels(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	for _, selected := range []string{"▌11:59:31  issues", "▌11:59:58          configuration", "▌  48s  github", "▌  2.0s  ?", "✗▌ issues"} {
		s.press("<tab>")
		s.has(selected)
	}
	s.press("<tab><enter>")
	s.has("overview › call issues_search")
	s.press("q<tab><tab><enter>")
	s.has("overview › call create_issue")
}

// While the screen is paused, it stands still and the console keeps receiving.
func TestPause(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press("6 ")
	s.now = s.now.Add(12 * time.Second)
	p := *samplePicture()
	p.past = p.with([]status.FinishedCall{{Number: 99, Session: "x", Item: "new_call", Outcome: "ok", Began: noon}}, nil)
	s.app.take(&p)
	s.has("‖ paused 12s")
	s.hasNot("new_call")
	s.press(".")
	s.hasNot("new_call")
	s.press(" ")
	s.has("new_call")
	s.has("● live")
}

// A name, a row or JSON is copied. A failure is reported.
func TestCopy(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	var copied string
	var fails error
	s.app.clipboard = func(text string) error { copied = text; return fails }
	for _, c := range []struct{ keys, want string }{
		{":tools<enter>cc", "files_read_file"},
		{"cr", "files_read_file\tfiles\t120311\t0.1%\t4.0ms\t0.2s\tread-only\tRead the complete contents of a file as text"},
		{"cj", "{\n  \"name\": \"files_read_file\",\n  \"server\": \"files\""},
		{"6cc", "session/1ak3v7qd/17"},
	} {
		s.press(c.keys)
		if !strings.HasPrefix(copied, c.want) {
			t.Errorf("%s copied %q, want %q", c.keys, copied, c.want)
		}
	}
	copied = "nothing"
	s.press("c<esc>")
	if copied != "nothing" {
		t.Errorf("esc copied %q", copied)
	}
	fails = errors.New("there is no terminal")
	s.press("cc")
	s.has("not copied: there is no terminal")
}

// Rows change places at most once a second, and not within two seconds of a key.
func TestRowsHoldStill(t *testing.T) {
	kind := &Kind{Name: "x", Worst: true, Columns: []Column{{Name: "A"}}}
	tab := newTable(kind)
	at := noon
	order := func(after time.Duration, marks string) string {
		at = at.Add(after)
		var rows []Row
		for i, m := range strings.Fields(marks) {
			mark := sevGood
			if m == "x" {
				mark = sevFailed
			}
			if m != "-" {
				rows = append(rows, Row{ID: fmt.Sprint(i), Mark: mark, Cells: []Cell{text(m)}})
			}
		}
		tab.update(rows, at)
		return tab.ids()
	}
	for i, c := range []struct {
		after       time.Duration
		marks, want string
		key         bool
	}{
		{0, "o o o", "0 1 2", false},
		{0, "o x o", "1 0 2", false},
		{restTime - 1, "o o x", "1 0 2", false},
		{1, "o o x", "2 0 1", false},
		{restTime, "o o x x", "2 3 0 1", false}, // a new row moves no other
		{restTime, "x - x x", "0 2 3", true},
		{restTime, "o - x x", "0 2 3", false},
		{keyTime - restTime - 1, "o - x x", "0 2 3", false},
		{1, "o - x x", "2 3 0", false},
	} {
		if got := order(c.after, c.marks); got != c.want {
			t.Errorf("step %d: %s, want %s", i, got, c.want)
		}
		if c.key {
			tab.touched = at
		}
	}
}

// The selected row keeps its colors on the ground of the selection, unless they are hard to read there.
func TestSelectionKeepsColors(t *testing.T) {
	p := palettes["colour"]
	bad, ground, _ := p.selected(Bad).Decompose()
	own, _, _ := p.Health[Bad].Decompose()
	_, want, _ := p.Selected.Decompose()
	if bad != own || ground != want {
		t.Errorf("a failed state is drawn in %v on %v, want %v on %v", bad, ground, own, want)
	}
	if good, _, _ := p.selected(Good).Decompose(); good != tcell.ColorLime {
		t.Errorf("a good state is drawn in %v, want a brighter green", good)
	}
	for h := range p.Health {
		if ink, ground, _ := p.selected(Health(h)).Decompose(); contrast(ink, ground) < minContrast {
			t.Errorf("health %d has contrast %.1f", h, contrast(ink, ground))
		}
	}
	skin := paletteOf("colour", map[string]Paint{"selected": {Foreground: "#000000", Background: "#ffffff"}, "warn": {Foreground: "#ffff00"}})
	if ink, _, _ := skin.selected(Warn).Decompose(); contrast(ink, colorOf("#ffffff")) < minContrast {
		t.Errorf("yellow on white stays")
	}
}
