package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// tab reaches each panel of the overview, and the panel that keys act on is on the screen.
func TestTabShowsThePanel(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {80, 18}, {70, 16}, {40, 10}} {
		s := newTestConsole(t, size[0], size[1], Options{})
		for range len(overviewKind.Panels) {
			v := s.app.view()
			got := strings.Join(s.draw(), "\n")
			if row := v.table.row(); row == nil || !strings.Contains(got, "▌") && size[0] >= 60 {
				t.Errorf("%v: panel %s is not on the screen:\n%s", size, v.part().Name, got)
			}
			s.press("<tab>")
		}
		if s.app.view().focus != 0 {
			t.Errorf("%v: after all panels, tab reaches panel %d", size, s.app.view().focus)
		}
	}
}

// At the ends of the history, [ and ] change nothing.
func TestEndsOfTheHistory(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press("123")
	s.press("]")
	s.has("]: this is the newest view in the history")
	s.press("-")
	s.has("› tools")
	s.press("[[[[[[[")
	s.has("[: this is the oldest view in the history")
	s.has("servers[5] worst first")
}

// Each view has a part in the path, and enter on a server goes back to its page if that is above.
func TestPathHasNoEmptyPart(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press(":servers github<enter>")
	s.has("overview › github › servers ")
	s.press("<enter>")
	s.has("overview › github ")
	s.hasNot("servers ›")
	for _, k := range kinds {
		s.press(":" + k.Name + " github<enter>")
		for part := range strings.SplitSeq(s.app.view().path(), " › ") {
			if strings.TrimSpace(part) == "" {
				t.Errorf("%s: the path is %q", k.Name, s.app.view().path())
			}
		}
		s.press("<enter><enter>l")
		if path := s.app.view().path(); strings.Contains(path, "›  ›") || strings.HasSuffix(path, "› ") {
			t.Errorf("%s: the path is %q", k.Name, path)
		}
	}
}

// enter on a project shows the sessions of that project.
func TestSessionsOfAProject(t *testing.T) {
	p := *samplePicture()
	snapshot := *p.Snapshot
	snapshot.Projects = []status.Project{{Name: "web"}, {Name: "docs"}}
	snapshot.Sessions = []status.Session{{ID: "aaaa", Project: "web"}, {ID: "bbbb", Project: "docs"}, {ID: "cccc"}}
	p.Snapshot = &snapshot
	s := newTestConsole(t, 120, 40, Options{})
	s.app.take(&p)
	s.press(":projects<enter><enter>")
	s.has("overview › projects › web")
	s.has("sessions(web)[1]")
	s.has("aaaa")
	s.hasNot("bbbb")
	s.press("q")
	s.has("projects[2]")
}

// After the gateway's clock was set back, the rates are those of its new time at once.
func TestRatesAfterAClockWasSetBack(t *testing.T) {
	source := &clockSource{}
	r, err := recent{}.fetch(t.Context(), source, noon)
	if err != nil || len(r.rates) != 1 || r.rates[0].Until != noon.Unix() {
		t.Fatalf("got %+v, %v", r, err)
	}
	for _, back := range []time.Duration{time.Hour, 2 * time.Second} {
		later := noon.Add(-back)
		source.now = later.Unix()
		next, err := r.fetch(t.Context(), source, later)
		if err != nil || len(next.rates) != 1 || next.rates[0].Until != later.Unix() || len(next.rates[0].Seconds) != 1 || next.rates[0].Seconds[0].Start != later.Unix()-1 {
			t.Errorf("set back by %v: got %+v, %v", back, next.rates, err)
		}
	}
	if next, _ := r.fetch(t.Context(), source, noon.Add(-100*time.Millisecond)); next.asked != r.asked {
		t.Error("a response that was slow looks like a clock that was set back")
	}
	all := sampled(nil, "x 1", noon)
	if all = sampled(all, "x 2", noon.Add(-time.Hour)); len(all) != 1 || all[0].at != noon.Add(-time.Hour) {
		t.Errorf("samples of metrics: %v", all)
	}
}

// clockSource is a Source with one interval, which ends now.
type clockSource struct {
	fixed
	now int64
}

func (c *clockSource) Series(_ context.Context, after int64) ([]status.Series, error) {
	if c.now == 0 {
		c.now = noon.Unix()
	}
	s := status.Series{Until: c.now}
	if i := (status.Interval{Start: c.now - 1, Calls: 1}); i.Start >= after {
		s.Seconds = append(s.Seconds, i)
	}
	return []status.Series{s}, nil
}
