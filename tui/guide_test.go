package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// If the terminal is large enough, the last line ends with the keys for quit and help, unless it shows a message or a question.
func TestLastLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		w, h    int
		options Options
		keys    string
		want    string // end of the line
	}{
		{"overview", 80, 24, Options{}, "", "q quit  ? help"},
		{"deeper", 80, 24, Options{}, ":servers<enter>", "q up  ? help"},
		{"back again", 80, 24, Options{}, ":servers<enter><esc>", "q quit  ? help"},
		{"filtered", 80, 24, Options{}, "/x<enter>", "q up  ? help"},
		{"console of serve --tui", 80, 24, Options{Ends: true}, "", "q quit, ends the gateway  ? help"},
		{"small", 20, 5, Options{}, ":calls<enter>", "◐     0.8s  editor …"},
		{"nowhere to go back to", 80, 24, Options{}, "<esc>", "esc: this is the overview; press q to quit"},
		{"unknown key", 80, 24, Options{}, "g", "g: unknown key; press ? for a list of keys, q to go up"},
		{"no previous view", 80, 24, Options{}, "-", "-: there is no previous view"},
		{"no history", 80, 24, Options{}, "[", "[ ]: there is no other view in the history"},
		{"no levels", 80, 24, Options{}, "v", "v: only logs have levels and long lines; press 5 for the log"},
		{"quit asks", 80, 24, Options{Ends: true}, "q", "quitting also stops the gateway; quit? y/n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestConsole(t, c.w, c.h, c.options)
			s.press(c.keys)
			if got := s.draw()[c.h-1]; !strings.HasSuffix(got, c.want) {
				t.Errorf("the last line is %q, want %q", got, c.want)
			}
		})
	}
	for _, k := range kinds {
		s := newTestConsole(t, 80, 24, Options{View: k.Name})
		if got := s.draw()[23]; !strings.HasSuffix(got, "? help") {
			t.Errorf("%s: the last line is %q", k.Name, got)
		}
	}
}

// A table without rows shows the reason.
func TestEmptyTables(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{":tools<enter>/nowhere", `no row matches "nowhere"; press esc to clear the filter`},
		{":tools<enter>/!_", `every row matches "_"; press esc to clear the filter`},
		{":prompts<enter><ctrl-z>", "no row is unhealthy; press ctrl-z to show all rows"},
		{":prompts memory<enter>", "no prompts of memory"},
		{":tools<enter>", ""},
	} {
		s := newTestConsole(t, 80, 24, Options{})
		s.press(c.keys)
		lines := s.draw()
		if got := lines[3]; c.want != "" && got != c.want || c.want == "" && slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "no ") }) {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
	s := newTestConsole(t, 80, 24, Options{View: "calls"})
	p := *samplePicture()
	status := *p.Snapshot
	status.Calls = nil
	p.Snapshot = &status
	p.past = past{}
	s.app.take(&p)
	s.has("no calls")
	s.app.take(noPicture())
	s.has("waiting for the gateway's first response")
}

// The overview shows that the configuration file was rejected, and why.
func TestOverviewShowsRejectedConfiguration(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.hasNot("rejected")
	p := *samplePicture()
	picture := *p.Snapshot
	picture.ConfigFault = &status.ConfigFault{Since: noon.Add(-time.Minute), Reason: "goblin.yaml:3:5: unknown key"}
	p.Snapshot = &picture
	s.app.take(&p)
	s.has("▲▌ configuration  rejected 1m")
	s.has("goblin.yaml:3:5: unknown key")
}

// The side panel shows how many lines did not fit.
func TestPanelCountsHiddenLines(t *testing.T) {
	s := newTestConsole(t, 80, 16, Options{})
	s.press(":servers<enter>d")
	s.has(" } 7 lines more ─")
	s.press("}}}}}}}}")
	s.has(" { scrolls up ─")
	s.has("offers: 0 tools")
}

// The help shows how many lines did not fit.
func TestHelpCountsHiddenLines(t *testing.T) {
	s := newTestConsole(t, 80, 24, Options{})
	s.press("?")
	s.has(" lines more ─")
	s.hasNot("redraw the screen")
	s.press("<pgdn><pgdn><pgdn><pgdn>")
	s.has(" ↑ scrolls up ─")
	s.has("redraw the screen")
	s.press("q")
	s.has("servers[5] worst first")
	s = newTestConsole(t, 120, 40, Options{})
	s.press("?")
	s.has("─ keys; any other key closes the list")
}

// Opening the visible view again does not extend the path.
func TestSameViewAgain(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press(":servers<enter>:servers<enter>:servers github<enter>")
	s.has("overview › github › servers")
	s.press("<esc><esc>")
	s.has("● live  overview")
}

// A server's details count the subscriptions of clients and those at the server.
func TestSubscriptionsOfAServer(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press(":servers<enter><down><down>d")
	s.has("subscriptions: 1 by clients, 1 at the server")
	s.press("<up>")
	s.hasNot("subscriptions:")
}
