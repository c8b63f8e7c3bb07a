package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// The last line says how to get help and how to leave, in every view and on every terminal that has room for it.
func TestLastLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		w, h    int
		options Options
		keys    string
		want    string
	}{
		{"first view", 80, 24, Options{}, "", "? help  ctrl-c quit  ctrl-z faults"},
		{"deeper", 80, 24, Options{}, ":servers<enter>", "? help  ctrl-c quit  esc back  - last  ctrl-z faults"},
		{"back again", 80, 24, Options{}, ":servers<enter><esc>", "? help  ctrl-c quit  - last  ctrl-z faults"},
		{"of its own gateway", 80, 24, Options{Ends: true}, "", "? help  ctrl-c quit, ends the gateway  ctrl-z faults"},
		{"faults only", 80, 24, Options{}, "<ctrl-z>", "? help  ctrl-c quit  ctrl-z all"},
		{"small", 20, 5, Options{}, ":calls<enter>", "? help  ctrl-c quit"},
		{"small, of its own gateway", 20, 5, Options{Ends: true}, "", "? help  ctrl-c quit"},
		{"too low", 20, 4, Options{}, "", "backends       5  4…"},
		{"nowhere to go back to", 80, 24, Options{}, "<esc>", "esc: this is where it began; ctrl-c or :quit leaves"},
		{"a key that is none", 80, 24, Options{}, "q", "q is no key; ? helps, ctrl-c leaves"},
		{"no view before", 80, 24, Options{}, "-", "-: there was no view before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sit(t, c.w, c.h, c.options)
			s.press(c.keys)
			if got := s.draw()[c.h-1]; got != c.want {
				t.Errorf("the last line is %q, want %q", got, c.want)
			}
		})
	}
	for _, k := range kinds {
		s := sit(t, 80, 24, Options{View: k.Name})
		if got := s.draw()[23]; !strings.HasPrefix(got, "? help  ctrl-c quit") {
			t.Errorf("%s: the last line is %q", k.Name, got)
		}
	}
}

// A table without rows says why.
func TestEmptyTables(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{":tools<enter>/nowhere", `no row contains "nowhere"; esc clears the filter`},
		{":tools<enter>/!_", `every row contains "_"; esc clears the filter`},
		{":tools<enter><ctrl-z>", "all is well; ctrl-z shows everything"},
		{":prompts memory<enter>", "no prompts of memory"},
		{":tools<enter>", ""},
	} {
		s := sit(t, 80, 24, Options{})
		s.press(c.keys)
		lines := s.draw()
		if got := lines[3]; c.want != "" && got != c.want || c.want == "" && slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "no ") }) {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
	s := sit(t, 80, 24, Options{View: "calls"})
	p := *samplePicture()
	status := *p.Snapshot
	status.Calls = nil
	p.Snapshot = &status
	s.app.take(&p)
	s.has("no calls")
	s.app.take(nothing())
	s.has("nothing is known yet")
}

// A configuration file that could not be taken is wrong until one can.
func TestOverviewTellsOfTheConfiguration(t *testing.T) {
	s := sit(t, 120, 40, Options{})
	s.hasNot("✗ configuration")
	p := *samplePicture()
	picture := *p.Snapshot
	picture.ConfigFault = &status.ConfigFault{Since: noon.Add(-time.Minute), Reason: "goblin.yaml:3:5: unknown key"}
	p.Snapshot = &picture
	s.app.take(&p)
	s.has("✗ configuration")
	s.has("goblin.yaml:3:5: unknown key")
}

// What does not fit into the side panel is said to be there.
func TestPanelSaysThereIsMore(t *testing.T) {
	s := sit(t, 80, 16, Options{})
	s.press(":servers<enter><down><down>d")
	s.has(" ] 5 lines more ─")
	s.press("]]]]]]")
	s.has(" [ scrolls back ─")
	s.has("offers: 0 tools")
}

// So is what does not fit of the help.
func TestHelpSaysThereIsMore(t *testing.T) {
	s := sit(t, 80, 24, Options{})
	s.press("?")
	s.has(" lines more ─")
	s.hasNot("draw the screen anew")
	s.press("<pgdn><pgdn>")
	s.has(" ↑ scrolls back ─")
	s.has("draw the screen anew")
	s.press("q")
	s.has("overview[10]")
	s = sit(t, 120, 40, Options{})
	s.press("?")
	s.has("─ keys; any other key closes this")
}

// Asking for the view that is shown does not pile it up.
func TestSameViewAgain(t *testing.T) {
	s := sit(t, 120, 40, Options{})
	s.press(":servers<enter>:servers<enter>:servers github<enter>")
	s.has("overview › servers › servers(github)")
}

// Subscriptions of clients, and how many the server knows of at the server.
func TestSubscriptionsOfAServer(t *testing.T) {
	s := sit(t, 120, 40, Options{})
	s.press(":servers<enter>d")
	s.has("subscriptions: 1 of clients, 1 at the server")
	s.press("<down>")
	s.hasNot("subscriptions:")
}
