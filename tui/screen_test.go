package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

var update = flag.Bool("update", false, "rewrite the expected screens, docs/tui.md and docs/images")

func TestMain(m *testing.M) {
	if soakPeer() {
		return
	}
	time.Local = time.UTC
	os.Unsetenv("NO_COLOR")
	os.Exit(m.Run())
}

// noon is the time of all fixtures.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testConsole is a console on a simulated screen, without a pump. The test controls its clock and its Pictures.
type testConsole struct {
	t      *testing.T
	app    *App
	screen tcell.SimulationScreen
	now    time.Time
}

func newTestConsole(t testing.TB, w, h int, o Options) *testConsole {
	t.Helper()
	s := &testConsole{screen: tcell.NewSimulationScreen("UTF-8"), now: noon}
	s.t, _ = t.(*testing.T)
	if err := s.screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.screen.Fini)
	s.screen.SetSize(w, h)
	o.Now = func() time.Time { return s.now }
	s.app = newApp(context.Background(), &fixed{}, o)
	s.app.take(samplePicture())
	return s
}

// press sends a script of characters and of key names in angle brackets, such as "<enter>".
func (s *testConsole) press(script string) {
	for script != "" {
		if end := strings.IndexByte(script, '>'); script[0] == '<' && end > 0 {
			if k, ok := named[script[1:end]]; ok {
				s.app.InputHandler()(tcell.NewEventKey(k, 0, tcell.ModNone), nil)
				script = script[end+1:]
				continue
			}
		}
		r := []rune(script)[0]
		s.app.InputHandler()(tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone), nil)
		script = script[len(string(r)):]
	}
}

var named = map[string]tcell.Key{"enter": tcell.KeyEnter, "esc": tcell.KeyEscape, "tab": tcell.KeyTab, "down": tcell.KeyDown, "up": tcell.KeyUp,
	"end": tcell.KeyEnd, "home": tcell.KeyHome, "pgdn": tcell.KeyPgDn, "pgup": tcell.KeyPgUp, "left": tcell.KeyLeft, "right": tcell.KeyRight,
	"backtab": tcell.KeyBacktab, "ctrl-w": tcell.KeyCtrlW, "ctrl-z": tcell.KeyCtrlZ, "ctrl-d": tcell.KeyCtrlD, "ctrl-e": tcell.KeyCtrlE, "ctrl-r": tcell.KeyCtrlR, "ctrl-x": tcell.KeyCtrlX, "ctrl-y": tcell.KeyCtrlY, "backspace": tcell.KeyBackspace2}

// draw draws the console and returns the lines of the screen.
func (s *testConsole) draw() []string {
	w, h := s.screen.Size()
	s.app.SetRect(0, 0, w, h)
	s.app.Draw(s.screen)
	s.screen.Show()
	return screenLines(s.screen)
}

func screenLines(screen tcell.Screen) []string {
	w, h := screen.Size()
	out := make([]string, h)
	for y := range h {
		var b strings.Builder
		for x := 0; x < w; {
			text, _, cells := screen.Get(x, y)
			if text == "" {
				text = " "
			}
			b.WriteString(text)
			x += max(1, cells)
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// styles lists the highlighted texts on the screen: filter matches, the selected row, and bad and warning cells.
func (s *testConsole) styles() string {
	var b strings.Builder
	w, h := s.screen.Size()
	for y := range h {
		run, from, word := "", 0, ""
		end := func(_ int) {
			if run != "" {
				fmt.Fprintf(&b, "%2d:%-3d %s %q\n", y, from, run, strings.TrimRight(word, " "))
			}
		}
		for x := range w {
			text, style, _ := s.screen.Get(x, y)
			what := s.styleName(style)
			if what != run {
				end(x)
				run, from, word = what, x, ""
			}
			word += text
		}
		end(w)
	}
	return b.String()
}

func (s *testConsole) styleName(style tcell.Style) string {
	p := s.app.colors()
	names := [...]string{Plain: "", Good: "good", Warn: "warn", Bad: "bad", Quiet: "quiet"}
	switch style {
	case p.Match:
		return "match"
	case p.Health[Plain], p.Frame, p.Hint, p.Key, p.Title, p.Head:
		return ""
	}
	for h, name := range names {
		if style == p.Health[h] {
			return name
		}
		if style == p.selected(Health(h)) {
			return strings.TrimSpace("selected " + name)
		}
	}
	return ""
}

func (s *testConsole) has(want string) {
	s.t.Helper()
	if got := strings.Join(s.draw(), "\n"); !strings.Contains(got, want) {
		s.t.Errorf("the screen does not show %q:\n%s", want, got)
	}
}

func (s *testConsole) hasNot(not string) {
	s.t.Helper()
	if got := strings.Join(s.draw(), "\n"); strings.Contains(got, not) {
		s.t.Errorf("the screen shows %q:\n%s", not, got)
	}
}

// golden compares got with the file at path. With -update it writes the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (go test ./tui -update rewrites it)\n--- want\n%s\n--- got\n%s", path, want, got)
	}
}

// fixed is a Source that always returns the same Picture. It sends actions to acted unless that is nil.
type fixed struct {
	picture *Picture // nil = samplePicture
	lost    error
	acted   chan status.Action
}

var errGone = errors.New("connection refused")

func (f *fixed) get() *Picture {
	if f.picture == nil {
		return samplePicture()
	}
	return f.picture
}

func (f *fixed) Status(context.Context) (*status.Snapshot, error) { return f.get().Snapshot, f.lost }

func (f *fixed) Items(_ context.Context, known uint64) (*status.Items, error) {
	if known == f.get().Items.Version {
		return nil, nil
	}
	return f.get().Items, nil
}

func (f *fixed) Events(_ context.Context, after uint64) ([]status.Event, error) {
	var out []status.Event
	for _, e := range f.get().Events {
		if e.Number > after {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fixed) Lines(_ context.Context, _ string, after uint64) ([]status.Event, error) {
	return slices.DeleteFunc(slices.Clone(f.get().Lines), func(e status.Event) bool { return e.Number <= after }), nil
}

func (f *fixed) Finished(_ context.Context, _ string, after uint64) ([]status.FinishedCall, error) {
	return slices.DeleteFunc(slices.Clone(f.get().Finished), func(c status.FinishedCall) bool { return c.Number <= after }), nil
}

func (f *fixed) Users(context.Context, string) (status.Users, error) { return f.get().Users, nil }

func (f *fixed) Nodes(context.Context) ([]status.NodeReport, error) { return f.get().access.Nodes, nil }

func (f *fixed) Logins(context.Context) ([]status.Login, error) { return f.get().Logins, nil }

func (f *fixed) Records(context.Context, status.RecordQuery) ([]status.Recording, error) {
	return f.get().Records.list, nil
}

func (f *fixed) Payloads(context.Context, status.PayloadQuery) ([]status.KeptPayloads, error) {
	return f.get().Payloads, nil
}

func (f *fixed) Denials(context.Context) ([]status.Denial, error) { return f.get().Denials, nil }

func (f *fixed) Metrics(context.Context) (string, error) { return f.get().Metrics, nil }

// Follow reports the Picture again and again, or that the gateway is lost.
func (f *fixed) Follow(ctx context.Context, _ status.FollowOptions, tell func(status.Notice) error) error {
	return followed(ctx, f, f.get().rates, tell)
}

// followed reports what a Source returns, every 100 ms, and rates once, as notices of a stream.
func followed(ctx context.Context, source status.Source, rates []status.Series, tell func(status.Notice) error) error {
	events, _ := source.Events(ctx, 0)
	lines, _ := source.Lines(ctx, "", 0)
	finished, _ := source.Finished(ctx, "", 0)
	for _, n := range []status.Notice{{Hello: &status.Hello{Boot: "x"}}, {Series: rates}, {Log: events}, {Lines: lines}, {Finished: finished}} {
		if err := tell(n); err != nil {
			return err
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := source.Status(ctx)
		n := status.Notice{Snapshot: s}
		if err != nil {
			n = status.Notice{Lost: err}
		}
		if err := tell(n); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (*fixed) Answer(context.Context, status.UseAnswer) error { return status.ErrNoQuestion }

func (*fixed) Use(context.Context, status.Use, func(status.UseEvent)) (status.UseResult, error) {
	return status.UseResult{}, status.ErrNoUser
}

func (f *fixed) Act(_ context.Context, a status.Action) error {
	if f.acted != nil {
		f.acted <- a
	}
	return nil
}
