package tui

import (
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

// A running call shows how much of it is done, if its server has reported a total.
func TestDoneOf(t *testing.T) {
	for want, c := range map[string]status.Call{
		"running, 40%":  {State: "written", Progress: 2, Total: 5},
		"running, 0%":   {State: "written", Total: 5},
		"running, 99%":  {State: "written", Progress: 999, Total: 1000},
		"running, 100%": {State: "written", Progress: 7, Total: 5},
		"running":       {State: "written", Progress: 7},
		"parked":        {State: "parked", Progress: 7, Total: 8},
	} {
		if got := stateOf(c); got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}

// Both the calls and the overview show how much of a running call is done, and a filter finds the running calls.
func TestProgressInLists(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.has("waits for the server, 40% done")
	s.press("6/outcome:running<enter>")
	s.has("running, 40%")
	if got := strings.Join(s.draw(), "\n"); strings.Count(got, "running") < 3 { // the filter and two calls
		t.Errorf("not every running call is shown:\n%s", got)
	}
}
