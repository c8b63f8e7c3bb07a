package tui

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// puts counts the characters that reach a screen.
type puts struct {
	tcell.SimulationScreen
	n int
}

// Put implements tcell.Screen.
func (p *puts) Put(x, y int, text string, style tcell.Style) (string, int) {
	p.n++
	return p.SimulationScreen.Put(x, y, text, style)
}

// With a frame, the screen shows the same as without it, even after a resize and with characters of two columns.
func TestFrame(t *testing.T) {
	direct, behind := tcell.NewSimulationScreen("UTF-8"), &puts{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	f := &frame{Screen: behind}
	both := []tcell.Screen{direct, f}
	for _, s := range both {
		if err := s.Init(); err != nil {
			t.Fatal(err)
		}
		defer s.Fini()
	}
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"a", "b", " ", "漢字", "é", "👩‍👩‍👧‍👦", "─", "long text"}
	styles := []tcell.Style{tcell.StyleDefault, tcell.StyleDefault.Bold(true), style(tcell.ColorRed)}
	for round := range 500 {
		if round%50 == 0 {
			for _, s := range both {
				s.SetSize(10+round/50, 5+round/100)
			}
		}
		for _, s := range both {
			s.Clear()
		}
		w, h := direct.Size()
		for range rng.IntN(20) {
			x, y, text, ink := rng.IntN(w), rng.IntN(h), texts[rng.IntN(len(texts))], styles[rng.IntN(len(styles))]
			for _, s := range both {
				put(s, x, y, w-x, text, ink, nil, ink)
			}
		}
		for _, s := range both {
			s.Show()
		}
		want, got := strings.Join(screenLines(direct), "\n"), strings.Join(screenLines(behind.SimulationScreen), "\n")
		if got != want {
			t.Fatalf("round %d: the screen shows\n%s\nwant\n%s", round, got, want)
		}
		for y := range h {
			for x := range w {
				a, b, _ := direct.Get(x, y)
				if c, d, _ := f.Get(x, y); strings.TrimSpace(a) != "" && (a != c || b != d) {
					t.Fatalf("round %d: %d,%d is %q in %v, want %q in %v", round, x, y, c, d, a, b)
				}
			}
		}
	}
}

// A frame that equals the one before passes nothing on.
func TestFrameWithoutChanges(t *testing.T) {
	behind := &puts{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	f := &frame{Screen: behind}
	if err := f.Init(); err != nil {
		t.Fatal(err)
	}
	defer f.Fini()
	f.SetSize(80, 24)
	draw := func() int {
		before := behind.n
		f.Clear()
		put(f, 3, 3, 40, "goblin 漢字", tcell.StyleDefault, nil, tcell.StyleDefault)
		f.Show()
		return behind.n - before
	}
	if n := draw(); n != 80*24 {
		t.Errorf("the first frame has %d characters", n)
	}
	if n := draw(); n != 0 {
		t.Errorf("an equal frame has %d characters", n)
	}
}

// lacking is a screen that cannot start.
type lacking struct{ tcell.SimulationScreen }

var errNoScreen = errors.New("no terminal")

// Init implements tcell.Screen.
func (lacking) Init() error { return errNoScreen }

// If the screen cannot start, Run returns why, and nothing was started.
func TestRunWithoutAScreen(t *testing.T) {
	source := &watched{}
	if err := Run(t.Context(), source, Options{Screen: lacking{tcell.NewSimulationScreen("UTF-8")}}); !errors.Is(err, errNoScreen) {
		t.Errorf("Run: %v, want %v", err, errNoScreen)
	}
	if source.followed.Load() {
		t.Error("the gateway is followed without a screen")
	}
}
