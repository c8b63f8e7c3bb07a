package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"goblin-actor/internal/status"
	"goblin-actor/internal/visible"
)

// nasty contains texts that a server could send as a name, a description or a reason.
var nasty = []string{
	"\x1b[31mred\x1b[0m\x1b]0;title\a\x1b[2J",
	"[red]tag[-] [::b]bold [\"region\"]x[\"\"] [[",
	"abc\u202edcba\u2066x\u2069\u200f",
	"line\nbreak\r\nand\ttab\x00nul\x7fdel\u0085",
	"wide 漢字 and emoji 👩‍👩‍👧‍👦 🇩🇪 and e" + strings.Repeat("\u0301", 500),
	"\xff\xfe broken \xc3",
	"\u2028\u2029\ufeff\u00ad\U000e0041",
	strings.Repeat("long ", 5000),
	"",
	" ",
}

// nastyPicture returns a Picture in which every field that comes from outside has a text from pick.
func nastyPicture(pick func() string) *Picture {
	s := &status.Snapshot{Version: pick(), Now: noon, Started: noon, Listen: []string{pick()}, Waiting: []string{pick()}, Failed: []string{pick()}}
	items := &status.Items{Version: 1}
	p := &Picture{Snapshot: s, Items: items, Metrics: pick() + "\n" + pick() + "{" + pick() + "} 1\n# " + pick()}
	for i := range 12 {
		id := fmt.Sprint(i)
		s.Servers = append(s.Servers, status.Server{Name: pick() + id, State: pick(), Reason: pick(), Hint: pick(), Description: pick(), NextAttempt: noon.Add(1)})
		s.Backends = append(s.Backends, status.Backend{Server: pick(), State: "waiting", Reason: pick(), Protocol: pick(), Transport: pick(), Stderr: []string{pick(), pick()}})
		s.Sessions = append(s.Sessions, status.Session{ID: pick() + id, Client: pick(), Protocol: pick(), Transport: pick()})
		s.Calls = append(s.Calls, status.Call{ID: pick() + id, Session: pick(), Server: pick(), Method: pick(), Item: pick(), State: pick()})
		s.Subscriptions = append(s.Subscriptions, status.Subscription{Session: pick(), Server: pick(), URI: pick(), OwnURI: pick()})
		s.Actors = append(s.Actors, status.Actor{Name: pick() + id, Kind: pick(), Last: pick()})
		item := status.Item{Server: pick(), Public: pick() + id, Original: pick(), Name: pick(), Title: pick(), Description: pick(), MIMEType: pick(), Size: -1, Raw: pick()}
		items.Tools, items.Prompts = append(items.Tools, item), append(items.Prompts, item)
		items.Resources, items.Templates = append(items.Resources, item), append(items.Templates, item)
		p.Finished = append(p.Finished, status.FinishedCall{Number: uint64(i + 1), Session: pick(), Client: pick(), Server: pick(), Method: pick(), Item: pick(), Public: pick(), Outcome: pick(), Code: pick(), Error: pick(), Who: pick(), Backend: pick()})
		p.Failures, p.ended = p.Finished, append(p.ended, finishedRow(p.Finished[i]))
		p.Lines = append(p.Lines, status.Event{Number: uint64(i + 1), Level: status.LevelStderr, Message: pick(), Server: pick()})
		p.Users.Users = append(p.Users.Users, status.User{Name: pick() + id, Roles: []string{pick()}, Reason: pick(), RefusedSince: noon.Add(-time.Hour)})
		p.Logins = append(p.Logins, status.Login{Server: pick(), Whose: pick() + id, State: pick(), Issuer: pick(), Reason: pick()})
		p.Denials = append(p.Denials, status.Denial{Number: uint64(i), Who: pick(), From: pick(), What: pick(), Why: pick(), Rule: pick()})
		p.Events = append(p.Events, status.Event{Number: uint64(i + 1), Level: pick(), Message: pick(), Server: pick(), Fields: pick()})
	}
	return p
}

// Whatever the texts, keys and sizes of the terminal are, every cell of the screen is safe and nothing panics.
func TestHostileText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return nasty[rng.IntN(len(nasty))] }
	script := []string{"<down>", "<up>", "<end>", "<home>", "<pgdn>", "<pgup>", "<enter>", "<esc>", "d", "l", "s", "-", "?", "<ctrl-z>", "<ctrl-d>", "n", "N", "S", "R",
		"<left>", "<right>", "[", "]", "{", "}", "q", "f", "y", "c", "cj", " ", "v", "w", "<tab>", "<backtab>", "<ctrl-w>", "6", "0", "/e<enter>", "/!\u202e<enter>", "/[red]<esc>", ":x<esc>"}
	for _, k := range kinds {
		script = append(script, ":"+k.Name+"<enter>")
	}
	s := newTestConsole(t, 80, 24, Options{})
	s.app.clipboard = func(text string) error { safe(t, text); return nil }
	for round := range 300 {
		if round%7 == 0 {
			s.app.take(nastyPicture(pick))
		}
		keys := script[rng.IntN(len(script))]
		s.press(keys)
		if round%3 == 0 {
			s.screen.SetSize(rng.IntN(130), rng.IntN(45))
		}
		s.draw()
		harmless(t, s, keys)
	}
}

// safe fails the test if a copied text has control characters other than line ends and tabs, or hidden characters.
func safe(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && (harmful(r) || unicode.IsControl(r)) {
			t.Fatalf("copied %q", text)
		}
	}
}

func harmless(t *testing.T, s *testConsole, keys string) {
	t.Helper()
	w, h := s.screen.Size()
	for y := range h {
		for x := range w {
			text, _, _ := s.screen.Get(x, y)
			for _, r := range text {
				if harmful(r) || unicode.IsControl(r) {
					t.Fatalf("after %q: %q at %d,%d", keys, text, x, y)
				}
			}
			if n := utf8.RuneCountInString(text); n > maxCluster {
				t.Fatalf("after %q: %d runes in one cell", keys, n)
			}
		}
	}
}

// Color tags and escape sequences are displayed as text.
func TestHostileTextIsShown(t *testing.T) {
	p := samplePicture()
	p.Items = &status.Items{Version: 2, Tools: []status.Item{{Server: "files", Public: "x[red]y\x1b[31m", Description: "a\u202eb"}}}
	s := newTestConsole(t, 80, 24, Options{})
	s.app.take(p)
	s.press(":tools<enter>")
	s.has(`x[red]y\x1b[31m`)
	s.has(`a\u202eb`)
	s.press("/[red]")
	s.has("tools[1] </[red]>")
	if got := s.styles(); !strings.Contains(got, `match "[red]"`) {
		t.Errorf("the match is not highlighted:\n%s", got)
	}
}

// S0.11.3: upper-case letters may have more or fewer bytes than their lower-case forms.
func TestMatchPositions(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{"List Issues", "ISS", "....." + "xxx..."},
		{"İstanbul", "stan", ".xxxx..."},
		{"aaaa", "aa", "xxxx"},
		{"漢字", "字", ".x"},
		{"none", "some", "...."},
		{"", "x", ""},
	} {
		var got strings.Builder
		mark := marks(c.text, fold(c.query))
		for i := range []rune(c.text) {
			if mark != nil && mark(i) {
				got.WriteByte('x')
			} else {
				got.WriteByte('.')
			}
		}
		if got.String() != c.want {
			t.Errorf("marks(%q, %q) = %s, want %s", c.text, c.query, got.String(), c.want)
		}
	}
}

// harmful reports whether r must not reach the screen. Joiners and variation selectors are allowed within a character.
func harmful(r rune) bool {
	return visible.Hidden(r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Variation_Selector, r)
}

func FuzzPlain(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		got := plain(s)
		if strings.ContainsFunc(got, harmful) || !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxPlain {
			t.Errorf("plain(%q) = %q", s, got)
		}
		if again := plain(got); again != got {
			t.Errorf("plain(plain(%q)) = %q, want %q", s, again, got)
		}
		w = min(max(w, 1), 200)
		for _, line := range lines(s) {
			if strings.ContainsFunc(line, harmful) {
				t.Errorf("lines(%q) has %q", s, line)
			}
			for _, piece := range wrap(line, w) {
				if width(piece) > max(w, 2) {
					t.Errorf("wrap(%q, %d) has %q of %d columns", line, w, piece, width(piece))
				}
			}
		}
	})
}
