package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestScreens compares the screens of all views after some keys with golden files, on terminals of two sizes.
// S0.11 S0.11.1 S0.11.2 S0.11.3 S0.11.4 S0.11.5 S1.60
func TestScreens(t *testing.T) {
	cases := []struct{ name, keys string }{
		{"overview", ""},
		{"servers", ":servers<enter>"},
		{"servers-describe", ":servers<enter><down><down>d"},
		{"servers-confirm", ":servers<enter><down><ctrl-d>"},
		{"backends", ":backends<enter>"},
		{"backends-of-github", ":servers<enter><down><enter>"},
		{"sessions", ":sessions<enter>"},
		{"calls", ":calls<enter>"},
		{"calls-of-a-session", ":sessions<enter><enter>"},
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
		{"actors", ":actors<enter>"},
		{"actors-faults", ":actors<enter><ctrl-z>"},
		{"logs", ":logs<enter>"},
		{"logs-of-issues", ":servers<enter><down><down>l"},
		{"metrics", ":metrics<enter>"},
		{"help", "?"},
		{"command", ":res<tab>"},
		{"no-such-view", ":nothing<enter>"},
	}
	for _, c := range cases {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				s := newTestConsole(t, size[0], size[1], Options{})
				s.press(c.keys)
				got := strings.Join(s.draw(), "\n") + "\n\n" + s.styles()
				golden(t, filepath.Join("testdata", name+".txt"), got)
			})
		}
	}
}

// S1.60: each digit opens its view. 1 to 5 open servers, tools, prompts, resources and the log.
func TestDigits(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	for digit, view := range []string{"overview", "servers", "tools", "prompts", "resources", "logs", "calls", "sessions", "actors", "metrics"} {
		s.press(fmt.Sprint(digit))
		s.has("─ " + view + "[")
	}
}

// The screen is drawn before the gateway's first response.
func TestBeforeTheFirstAnswer(t *testing.T) {
	for _, k := range kinds {
		s := newTestConsole(t, 80, 24, Options{View: k.Name})
		s.app.picture = noPicture()
		s.app.trail = []*view{newView(k, "", "")}
		s.has(k.Name + "[0]")
		s.press("<enter><down>d<ctrl-d>ls<ctrl-z><esc>?")
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
	s.has("3 ready, 1 waiting")
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
			if fg, bg, _ := style.Decompose(); fg != 0 || bg != 0 {
				t.Fatalf("color at %d,%d", x, y)
			}
		}
	}
	if got := s.styles(); !strings.Contains(got, `match "issue"`) || !strings.Contains(got, "selected") {
		t.Errorf("matches and selection cannot be distinguished:\n%s", got)
	}
}
