package tui

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v2"
)

// A skin styles the parts that it names. All other parts get the background of "plain".
func TestSkin(t *testing.T) {
	skin := map[string]Paint{
		"plain":    {Foreground: "white", Background: "#102030"},
		"bad":      {Foreground: "#ff5555", Underline: true},
		"selected": {Foreground: "black", Background: "aqua"},
	}
	s := newTestConsole(t, 80, 24, Options{Skin: skin})
	s.press(":servers<enter><down>d")
	s.draw()
	ground := tcell.NewHexColor(0x102030)
	found := map[tcell.Style]bool{}
	for y := range 24 {
		for x := range 80 {
			_, style, _ := s.screen.Get(x, y)
			found[style] = true
			if _, bg, _ := style.Decompose(); bg != ground && bg != tcell.ColorAqua && bg != tcell.ColorYellow {
				t.Fatalf("at %d,%d the background is %v", x, y, bg)
			}
		}
	}
	for name, want := range map[string]tcell.Style{
		"plain":    tcell.StyleDefault.Foreground(tcell.ColorWhite).Background(ground),
		"bad":      tcell.StyleDefault.Foreground(tcell.NewHexColor(0xff5555)).Background(ground).Underline(true),
		"selected": tcell.StyleDefault.Foreground(tcell.ColorBlack).Background(tcell.ColorAqua),
		"good":     tcell.StyleDefault.Foreground(tcell.ColorGreen).Background(ground), // not in the skin: unchanged
	} {
		if !found[want] {
			t.Errorf("no cell has the style of %s", name)
		}
	}
}

// NO_COLOR overrides every skin and palette.
func TestNoColorOverridesSkin(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	s := newTestConsole(t, 80, 24, Options{Palette: "colour", Skin: map[string]Paint{"plain": {Background: "red"}}})
	if s.app.palette != palettes["mono"] {
		t.Error("the skin is applied despite NO_COLOR")
	}
}

// A skin that is saved while the console runs is applied within a second, also to a form that is open and to text that is being
// typed. An invalid skin changes nothing, and the console says what is wrong.
func TestSkinIsReread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestConsole(t, 80, 24, Options{Skin: map[string]Paint{"plain": {Foreground: "white", Background: "navy"}}})
		s.now = time.Now()
		saved := make(chan error, 1) // an error, or nil for a new skin
		go s.app.followSkin(func() (map[string]Paint, error) {
			select {
			case err := <-saved:
				return map[string]Paint{"plain": {Foreground: "white", Background: "#102030"}}, err
			default:
				return nil, nil
			}
		})
		defer s.app.stop()
		grounds := func() map[tcell.Color]bool {
			s.draw()
			found := map[tcell.Color]bool{}
			for y := range 24 {
				for x := range 80 {
					_, style, _ := s.screen.Get(x, y)
					_, bg, _ := style.Decompose()
					found[bg] = true
				}
			}
			return found
		}
		next := func() {
			time.Sleep(skinPause)
			synctest.Wait()
			s.app.take(samplePicture())
		}
		s.press("2r")
		next()
		if got := grounds(); !got[tcell.ColorNavy] {
			t.Errorf("backgrounds %v", got)
		}
		saved <- errors.New(`dark.yaml:1:7: plain: got "rde", want a color`)
		next()
		s.has(`skin not changed: dark.yaml:1:7: plain: got "rde", want a color`)
		if got := grounds(); !got[tcell.ColorNavy] {
			t.Errorf("after an error: backgrounds %v", got)
		}
		saved <- nil
		next()
		s.has("skin reloaded")
		if got := grounds(); !got[tcell.NewHexColor(0x102030)] || got[tcell.ColorNavy] || got[tcell.ColorBlack] {
			t.Errorf("after a new skin: backgrounds %v", got)
		}
		s.press("<esc>/read")
		saved <- errors.New("broken")
		next()
		s.press("_file<enter>")
		s.has("</read_file>")
	})
}

func TestCheckSkin(t *testing.T) {
	for _, c := range []struct {
		name string
		skin map[string]Paint
		want string
	}{
		{"nothing", nil, ""},
		{"attributes only", map[string]Paint{"selected": {Reverse: true}, "match": {Underline: true}}, ""},
		{"no selection", map[string]Paint{"selected": {}}, "selected: same style as plain text"},
		{"matches look like plain text", map[string]Paint{"plain": {Foreground: "red"}, "match": {Foreground: "red"}}, "match: same style as plain text"},
	} {
		err := CheckSkin(c.skin)
		if got := ""; err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) || err == nil && c.want != got {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
