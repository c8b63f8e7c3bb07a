package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
)

// TestScreens compares the screens of all views after some keys with golden files, on terminals of two sizes.
// S0.11 S0.11.1 S0.11.2 S0.11.3 S0.11.4 S0.11.5 S1.60
func TestScreens(t *testing.T) {
	cases := []struct{ name, keys string }{
		{"overview", ""},
		{"overview-failures", "<tab><down>"},
		{"servers", ":servers<enter>"},
		{"servers-describe", ":servers<enter>d"},
		{"servers-confirm", ":servers<enter><down><ctrl-d>"},
		{"backends", ":backends<enter>"},
		{"server", "<enter>"},
		{"server-calls", ":servers github<enter><enter><tab>"},
		{"sessions", ":sessions<enter>"},
		{"calls", "6"},
		{"calls-failed", "6/outcome:!ok total>1ms<enter>"},
		{"calls-of-a-session", ":sessions<enter><enter>"},
		{"call", "6/read_file<enter><enter>"},
		{"call-running", "6<enter>"},
		{"call-details", "6f"},
		{"call-json", "6y"},
		{"tools", ":tools<enter>"},
		{"tools-of-github", ":tools github<enter>"},
		{"tools-filter", ":tools<enter>/issue"},
		{"tools-filter-kept", ":tools<enter>/SEARCH<enter>"},
		{"tools-filter-inverse", ":tools<enter>/!issue<enter>"},
		{"tools-describe", ":tools<enter><enter>"},
		{"prompts", ":prompts<enter>"},
		{"resources", ":resources<enter>"},
		{"resources-describe", ":resources<enter><enter>"},
		{"resources-of-memory", ":resources<enter><end>s"},
		{"resources-by-size", ":resources<enter>B"},
		{"resources-by-mime", "4/mime:TEXT/<enter>"},
		{"resources-subscribed", "4/subs:<enter>"},
		{"templates", ":templates<enter>"},
		{"subscriptions", ":subscriptions<enter>"},
		{"subscriptions-flat", ":subscriptions<enter>/graph<enter>"},
		{"actors", ":actors<enter>"},
		{"actors-by-depth", "8D"},
		{"actors-faults", ":actors<enter><ctrl-z>"},
		{"logs", ":logs<enter>"},
		{"logs-wrap", ":logs<enter>vwG"},
		{"logs-of-issues", ":servers<enter>l"},
		{"projects", ":projects<enter>"},
		{"metrics", ":metrics<enter>"},
		{"metrics-all", ":metrics<enter><ctrl-w>"},
		{"help", "?"},
		{"command", ":res<tab>"},
		{"no-such-view", ":nothing<enter>"},
		{"paused", "6 "},
		{"copy", "6c"},
	}
	for _, c := range cases {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			goldenScreen(t, c.name, c.keys, size, Options{}, samplePicture())
		}
	}
}

// goldenScreen compares the screen after some keys with a golden file.
func goldenScreen(t *testing.T, name, keys string, size [2]int, o Options, p *Picture) {
	t.Helper()
	name = fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
	t.Run(name, func(t *testing.T) {
		s := newTestConsole(t, size[0], size[1], o)
		s.app.take(p)
		s.press(keys)
		got := strings.Join(s.draw(), "\n") + "\n\n" + s.styles()
		golden(t, filepath.Join("testdata", name+".txt"), got)
	})
}

// TestScreenSizes compares each view with golden files: on a tiny and on a huge terminal, without colors, without data, while
// the screen is paused, and while the gateway does not respond.
func TestScreenSizes(t *testing.T) {
	empty := noPicture()
	empty.Now, empty.Started, empty.Ready = noon, noon, true
	lost := *samplePicture()
	lost.Lost, lost.Since = errGone, noon.Add(-5*time.Second)
	mono := Options{Palette: "mono"}
	for _, k := range kinds {
		keys := ":" + k.Name + "<enter>"
		goldenScreen(t, "tiny-"+k.Name, keys, [2]int{20, 5}, Options{}, samplePicture())
		goldenScreen(t, "huge-"+k.Name, keys, [2]int{300, 100}, Options{}, samplePicture())
		goldenScreen(t, "mono-"+k.Name, keys, [2]int{120, 40}, mono, samplePicture())
		goldenScreen(t, "mono-"+k.Name, keys, [2]int{80, 24}, mono, samplePicture())
		goldenScreen(t, "paused-"+k.Name, keys+" ", [2]int{80, 24}, Options{}, samplePicture())
		goldenScreen(t, "lost-"+k.Name, keys, [2]int{80, 24}, Options{}, &lost)
		goldenScreen(t, "empty-"+k.Name, keys, [2]int{80, 24}, Options{}, empty)
	}
	goldenScreen(t, "lost-overview", "", [2]int{120, 40}, Options{}, &lost)
	goldenScreen(t, "line", "", [2]int{40, 4}, Options{}, samplePicture())
	goldenScreen(t, "line-lost", "", [2]int{19, 1}, Options{}, &lost)
}

// S1.60: each digit opens its view. 1 to 5 open servers, tools, prompts, resources and the log.
func TestDigits(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	for digit, view := range []string{"overview", "servers", "tools", "prompts", "resources", "logs", "calls", "sessions", "actors", "metrics"} {
		s.press(fmt.Sprint(digit))
		if digit == 0 {
			view = "servers"
		}
		s.has("─ " + view + "[")
	}
}

// The screen is drawn before the gateway's first response.
func TestBeforeTheFirstAnswer(t *testing.T) {
	for _, k := range kinds {
		s := newTestConsole(t, 80, 24, Options{View: k.Name})
		s.app.picture = noPicture()
		s.app.root = nil
		s.app.history = history{}
		s.app.history.add(s.app.home())
		s.app.open(newView(k, "", ""))
		s.has("waiting for the gateway's first response")
		s.press("<enter><down>d<ctrl-d>ls<ctrl-z><esc><tab>fycj vw[]{}q?")
		s.draw()
	}
}

// If the gateway stops responding, the console reports this and keeps showing the last state.
func TestLostGateway(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	p := *samplePicture()
	p.Lost, p.Since = errGone, noon.Add(-5*time.Second)
	s.app.take(&p)
	s.has("no answer for 5.0s")
	s.has("connection refused")
	s.has("✗ lost")
	s.has("issues  waiting 7s")
	s.app.take(samplePicture())
	s.has("the gateway is responding again")
	s.now = s.now.Add(flashTime)
	s.hasNot("the gateway is responding again")
}

// Without colors, words and reversed, bold and underlined text provide the same information.
func TestNoColors(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	s := newTestConsole(t, 80, 24, Options{})
	s.press(":tools<enter>/issue<enter>")
	s.draw()
	w, h := s.screen.Size()
	for y := range h {
		for x := range w {
			_, style, _ := s.screen.Get(x, y)
			if fg, bg, _ := style.Decompose(); fg != tcell.ColorDefault || bg != tcell.ColorDefault {
				t.Fatalf("color at %d,%d", x, y)
			}
		}
	}
	if got := s.styles(); !strings.Contains(got, `match "issue"`) || !strings.Contains(got, "selected") {
		t.Errorf("matches and selection cannot be distinguished:\n%s", got)
	}
}
