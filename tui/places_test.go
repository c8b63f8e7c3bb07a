package tui

import (
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

// After the gateway's clock was set back, the rates are those of its new time at once, and so are those after a server was removed
// and added again.
func TestRatesOfANewPast(t *testing.T) {
	second := func(since, start int64) []status.Series {
		return []status.Series{{Since: since, Until: start + 1, Seconds: []status.Interval{{Start: start, Calls: 1}}}}
	}
	known := withSeries(withSeries(nil, second(100, 110)), second(100, 111))
	if len(known[0].Seconds) != 2 || known[0].Until != 112 {
		t.Fatalf("got %+v", known)
	}
	for _, since := range []int64{20, 111} {
		if next := withSeries(known, second(since, since+2)); len(next[0].Seconds) != 1 || next[0].Seconds[0].Start != since+2 || next[0].Until != since+3 {
			t.Errorf("since %d: got %+v", since, next)
		}
	}
	if next := withSeries(known, nil); len(next) != 0 {
		t.Errorf("a server that no longer exists: got %+v", next)
	}
	all := sampled(nil, "x 1", noon)
	if all = sampled(all, "x 2", noon.Add(-time.Hour)); len(all) != 1 || all[0].at != noon.Add(-time.Hour) {
		t.Errorf("samples of metrics: %v", all)
	}
}

// Before the gateway has started, a sparkline has a gap.
func TestSparklineBeforeTheStart(t *testing.T) {
	for since, want := range map[int64]string{noon.Unix() - 3600: "▇▁▁▁▁▇", noon.Unix() - 25: "   ▁▁▇", noon.Unix() - 1: "     ▇", noon.Unix(): "     ▇"} {
		p := noPicture()
		p.rates = []status.Series{{Since: since, Until: noon.Unix(), Seconds: []status.Interval{{Start: noon.Unix() - 55, Calls: 3}, {Start: noon.Unix() - 1, Calls: 3}}}}
		if got := p.spark("", callsOf); got != want {
			t.Errorf("%d seconds after the start: got %q, want %q", noon.Unix()-since, got, want)
		}
	}
}
