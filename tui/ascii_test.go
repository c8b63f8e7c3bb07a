package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// With ASCII glyphs, every view is drawn without other characters, whatever is open.
func TestASCII(t *testing.T) {
	ascii := Options{ASCII: true}
	for _, k := range kinds {
		for _, size := range [][2]int{{120, 40}, {80, 24}} {
			goldenScreen(t, "ascii-"+k.Name, ":"+k.Name+"<enter>", size, ascii, samplePicture())
		}
		for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 10}, {20, 5}, {19, 2}} {
			s := newTestConsole(t, size[0], size[1], ascii)
			for _, keys := range []string{":" + k.Name + "<enter>", "d", "f", "<esc>y", "<esc>?", "<esc>x", "<esc>c", "<esc><ctrl-w>", "<right><right>", "<end>", "<enter>", "<enter>", "<esc>r", "<esc><ctrl-d>n", " ", "/a<enter>", "NN", ":x"} {
				s.press(keys)
				for y, line := range s.draw() {
					if !printable(line) {
						t.Fatalf("%s %v, after %q: line %d is not ASCII: %s", k.Name, size, keys, y, line)
					}
				}
			}
		}
	}
}

// Each glyph in the package's own texts has a replacement of one column.
func TestASCIIGlyphs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join("..", "internal", "form", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING && literal.Kind != token.CHAR {
				return true
			}
			text := literal.Value
			if literal.Kind == token.STRING {
				text, _ = strconv.Unquote(text)
			}
			for _, r := range text {
				if r > '~' && len(asciiGlyphs[r]) != 1 {
					t.Errorf("%s: asciiGlyphs has no replacement for %q", name, r)
				}
			}
			return true
		})
	}
	for glyph, ascii := range asciiGlyphs {
		if !printable(ascii) || len(ascii) != 1 || glyph < 0x80 {
			t.Errorf("%q is replaced by %q", glyph, ascii)
		}
	}
}

// Text from outside stays, apart from characters that are also glyphs of the console. Its place on the screen stays too.
func TestASCIIKeepsTexts(t *testing.T) {
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer screen.Fini()
	screen.SetSize(40, 6)
	s := &asciiScreen{Screen: screen}
	for y, text := range []string{"漢字 café… end", "level ≥ info, ≤ 3, ≥", "● ready", "≥"} {
		put(s, 0, y, 40, text, tcell.StyleDefault, nil, tcell.StyleDefault)
	}
	s.PutStr(0, 4, " ▲–×")
	s.SetCell(20, 4, tcell.StyleDefault, '─')
	s.SetContent(21, 4, '│', nil, tcell.StyleDefault)
	screen.Show()
	want := []string{"漢字 café~ end", "level >=info, <=3, >", "* ready", ">", " !-x                -|"}
	for y, line := range screenLines(screen)[:len(want)] {
		if line != want[y] {
			t.Errorf("line %d is %q, want %q", y, line, want[y])
		}
	}
}

// With ASCII glyphs, the help names the arrow keys in words.
func TestASCIIHelp(t *testing.T) {
	s := newTestConsole(t, 120, 60, Options{ASCII: true})
	s.press("?")
	s.has("up down j k")
	s.has("left right")
}

// A calm console shows no arrows at changed numbers.
func TestCalm(t *testing.T) {
	for _, calm := range []bool{false, true} {
		s := newTestConsole(t, 120, 40, Options{Calm: calm})
		s.press("7")
		p := *samplePicture()
		snapshot := *p.Snapshot
		snapshot.Sessions = append(snapshot.Sessions[:0:0], snapshot.Sessions...)
		for i := range snapshot.Sessions {
			snapshot.Sessions[i].InFlight += 5
		}
		p.Snapshot = &snapshot
		s.app.take(&p)
		if arrows := strings.Contains(strings.Join(s.draw(), "\n"), "↑"); arrows == calm {
			t.Errorf("calm %v: arrows %v", calm, arrows)
		}
	}
}
