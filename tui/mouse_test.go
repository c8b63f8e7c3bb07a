package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// find returns the place of a text on the screen.
func (s *testConsole) find(text string) (x, y int) {
	s.t.Helper()
	lines := s.draw()
	for y, line := range lines {
		if head, _, ok := strings.Cut(line, text); ok {
			return width(head), y
		}
	}
	s.t.Fatalf("the screen does not show %q:\n%s", text, strings.Join(lines, "\n"))
	return 0, 0
}

// mouse sends a mouse action at a text on the screen.
func (s *testConsole) mouse(action tview.MouseAction, text string) {
	s.t.Helper()
	x, y := s.find(text)
	s.app.MouseHandler()(action, tcell.NewEventMouse(x, y, tcell.ButtonNone, tcell.ModNone), nil)
}

func (s *testConsole) click(text string) { s.t.Helper(); s.mouse(tview.MouseLeftClick, text) }

func (s *testConsole) double(text string) {
	s.t.Helper()
	s.mouse(tview.MouseLeftClick, text)
	s.mouse(tview.MouseLeftDoubleClick, text)
}

// selected returns the ID of the selected row.
func (s *testConsole) selected() string {
	if r := s.app.view().table.row(); r != nil {
		return r.ID
	}
	return ""
}

// A click selects a row, a double click opens it. A click on a view in the first line, or on a tab of a
// server's page, goes there.
func TestMouseOpens(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.click("files")
	if got := s.selected(); got != "files" || s.app.view() != s.app.home() {
		t.Fatalf("selected %q", got)
	}
	s.double("github  ready")
	s.has("overview › github")
	s.click(" calls ")
	s.mouse(tview.MouseLeftClick, "calls tools")
	s.has("overview › github › calls")
	s.click("github › calls")
	s.has("─ backends(github)")
	s.click("overview")
	s.has("servers[5] worst first")
	s.click("last failures")
	if s.app.view().focus != 1 {
		t.Error("the panel of failures is not selected")
	}
	s.double("files_write_file")
	s.has("› call")
}

// A second click within half a second is a double click only on the same row.
func TestMouseDoubleClickNeedsOneRow(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.click("files")
	s.mouse(tview.MouseLeftDoubleClick, "memory  ready")
	if got := s.selected(); got != "memory" || s.app.view() != s.app.home() {
		t.Errorf("selected %q in %s", got, s.app.view().path())
	}
}

// Clicks on a column's name sort like shift and its letter.
func TestMouseSorts(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press("7")
	s.click("CLIENT")
	s.has("CLIENT↑")
	s.click("CLIENT")
	s.has("CLIENT↓")
	s.click("CLIENT")
	s.hasNot("CLIENT↓")
	s.click("AGE")
	s.has("AGE↓")
}

// The wheel acts on what the mouse is over: it moves the selection of a table, or scrolls the side panel, the help or the
// full screen.
func TestMouseWheel(t *testing.T) {
	s := newTestConsole(t, 120, 20, Options{})
	s.press("2")
	s.mouse(tview.MouseScrollDown, "─ tools[")
	if got := s.app.view().table.at; got != wheelLines {
		t.Errorf("row %d is selected", got)
	}
	s.mouse(tview.MouseScrollUp, "─ tools[")
	s.press("d")
	s.mouse(tview.MouseScrollDown, "inputSchema")
	if s.app.panelTop == 0 || s.app.view().table.at != 0 {
		t.Errorf("the panel is at line %d, the table at row %d", s.app.panelTop, s.app.view().table.at)
	}
	s.press("<esc>?")
	s.mouse(tview.MouseScrollDown, "keys; any other key")
	s.mouse(tview.MouseScrollDown, "keys; any other key")
	s.mouse(tview.MouseScrollUp, "keys; any other key")
	if s.app.helpTop != wheelLines {
		t.Errorf("the help is at line %d", s.app.helpTop)
	}
}

// Hints press their keys, in the last line and in titles.
func TestMouseHints(t *testing.T) {
	s := newTestConsole(t, 160, 30, Options{})
	s.click("? help")
	s.has("keys; any other key")
	s.press("<esc>")
	s.click("space pause")
	s.has("‖ paused")
	s.click("space continue")
	s.hasNot("‖ paused")
	s.click("d describe")
	if !s.app.panel {
		t.Error("the panel is not open")
	}
	s.press("<esc>")
	s.click("c copy")
	s.has("copy  c name")
	var copied string
	s.app.clipboard = func(text string) error { copied = text; return nil }
	s.click("c name")
	if copied != "issues" {
		t.Errorf("copied %q", copied)
	}
	s.now = s.now.Add(flashTime)
	s.click("x actions")
	s.has("actions of issues")
	s.click("esc leave")
	s.hasNot("actions of issues")
	s.click(": go")
	if s.app.mode != modeCommand {
		t.Error("no command line")
	}
	s.click("memory")
	if s.app.mode != modeBrowse || s.selected() != "memory" {
		t.Errorf("mode %s, %q is selected", s.app.mode, s.selected())
	}
	s.click("/ filter")
	s.press("fil")
	s.click("files")
	s.has("</fil>")
	if s.app.mode != modeBrowse {
		t.Error("the prompt is open")
	}
}

// Every hint of the last line is a key of its action.
func TestMouseHintsAreKeys(t *testing.T) {
	for _, act := range actions {
		e := keyEvent(act.key)
		if act.hint != unhinted && (e == nil || !act.is(e)) {
			t.Errorf("a click on the hint of %q presses %v", act.key, e)
		}
	}
	for _, name := range []string{"", "1", "7", "any", "copy", "read-only", "ctrl-", "ctrl-D", "漢", "\x1b"} {
		if e := keyEvent(name); e != nil {
			t.Errorf("%q is the key %s", name, e.Name())
		}
	}
}

// A question takes a click on its y or n only, and never a double click as yes. A click elsewhere changes nothing.
func TestMouseConfirms(t *testing.T) {
	s := newTestConsole(t, 120, 30, Options{})
	asked := func() bool { return s.app.mode == modeConfirm }
	s.press("<ctrl-d>")
	s.click("memory  ready")
	s.click("overview")
	s.mouse(tview.MouseScrollDown, "memory  ready")
	if !asked() || s.selected() != "issues" {
		t.Fatalf("mode %s, %q is selected", s.app.mode, s.selected())
	}
	acted := false
	s.app.onYes = func() { acted = true }
	s.app.clicked, s.app.on = rect{}, nil
	x, y := s.find("y/n")
	at := func(action tview.MouseAction, x int) {
		s.app.MouseHandler()(action, tcell.NewEventMouse(x, y, tcell.ButtonNone, tcell.ModNone), nil)
	}
	s.app.clicked, s.app.on = rect{x, y, 1, 1}, s.app.view() // the click that asked was in the same place
	at(tview.MouseLeftDoubleClick, x)
	if acted || !asked() {
		t.Fatal("a double click is a yes")
	}
	at(tview.MouseLeftClick, x+2)
	s.has("canceled")
	s.press("<ctrl-d>")
	s.app.onYes = func() { acted = true }
	s.draw()
	at(tview.MouseLeftClick, x)
	if !acted {
		t.Error("the click on y did nothing")
	}
}

// In a form, a click on a field selects it, and a click on a key hint presses the key. A click elsewhere does not leave the
// form.
func TestMouseInForms(t *testing.T) {
	s, _ := formConsole(t, `{"inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}}}}`, true)
	for i, one := range s.app.form.inputs.All {
		s.click(one.Name)
		if s.app.form.at != i {
			t.Errorf("field %d is selected, want %d", s.app.form.at, i)
		}
	}
	s.click("overview")
	if s.app.mode != modeForm {
		t.Error("the click left the form")
	}
	s.click("esc leave")
	if s.app.mode != modeBrowse {
		t.Error("the hint did not leave the form")
	}
}

// :mouse and --no-mouse leave the mouse to the terminal.
func TestMouseCommand(t *testing.T) {
	s := newTestConsole(t, 120, 30, Options{NoMouse: true})
	if s.app.mouse {
		t.Error("the mouse is on")
	}
	s.press(":mouse<enter>")
	s.has("the mouse clicks and scrolls")
	s.press(":mouse<enter>")
	s.has("the mouse selects text")
	for _, c := range []struct {
		argument, want string
		on             bool
	}{
		{"off", "the mouse selects text", false},
		{"on", "the mouse clicks and scrolls", true},
		{"on", "the mouse clicks and scrolls", true},
		{"maybe", "unknown argument of :mouse: maybe; use on or off", true},
		{"off", "the mouse selects text", false},
		{"o<tab>", "the mouse clicks and scrolls", true}, // completed to on
	} {
		s.press(":mouse " + c.argument + "<enter>")
		s.has(c.want)
		if s.app.mouse != c.on {
			t.Errorf(":mouse %s: on is %t", c.argument, s.app.mouse)
		}
	}
}

// Clicks and scrolls anywhere, in every mode, cause no panic.
func TestMouseEverywhere(t *testing.T) {
	s := newTestConsole(t, 90, 24, Options{})
	for _, keys := range []string{"", "d", "f", "?", "x", ":a", "/a", "c", "2r", "6", "<enter>", "5w", "<ctrl-d>"} {
		for _, action := range []tview.MouseAction{tview.MouseLeftClick, tview.MouseLeftDoubleClick, tview.MouseScrollDown, tview.MouseScrollUp, tview.MouseRightClick, tview.MouseMove} {
			for y := -1; y <= 24; y++ {
				for x := -1; x <= 90; x += 3 {
					if x%30 == 0 {
						s.press(keys)
						s.draw()
					}
					s.app.MouseHandler()(action, tcell.NewEventMouse(x, y, tcell.ButtonNone, tcell.ModNone), nil)
				}
			}
			s.press("<esc><esc>n")
			s.app.form, s.app.mode = nil, modeBrowse
		}
	}
}

// Through tview, the terminal's mouse events reach the console: clicks, double clicks and the wheel.
func TestMouseEvents(t *testing.T) {
	s := run(t)
	s.await("servers[5] worst first")
	press := func(x, y int) {
		s.screen.InjectMouse(x, y, tcell.ButtonPrimary, tcell.ModNone)
		s.screen.InjectMouse(x, y, tcell.ButtonNone, tcell.ModNone)
	}
	row := func(text string) int {
		for y, line := range strings.Split(s.shown(), "\n") {
			if strings.Contains(line, text) {
				return y
			}
		}
		t.Fatalf("no %q", text)
		return 0
	}
	s.typed("2")
	s.await("─ tools[")
	press(10, row("github_search_code"))
	s.await("◑▌ github_search_code")
	time.Sleep(tview.DoubleClickInterval)
	s.screen.InjectMouse(10, 10, tcell.WheelUp, tcell.ModNone)
	s.typed("1")
	s.await("─ servers[")
	press(5, row("memory"))
	press(5, row("memory"))
	s.await("overview › servers › memory")
	s.typed(":mouse")
	s.key(tcell.KeyEnter, 0)
	s.await("the mouse selects text")
	s.key(tcell.KeyCtrlC, 0)
	s.end()
}

// The last line has buttons for the keys of the mode only: in another mode, a key of browse mode does something else.
func TestMouseInOtherModes(t *testing.T) {
	for keys, c := range map[string]struct {
		has, not []string
	}{
		"x": {[]string{"enter do", "c copy command", "esc leave"}, []string{"enter open", "? help", "d details"}},
		"?": {[]string{"pgdn scroll", "esc leave"}, []string{"enter open  "}},
		"f": {[]string{"pgdn scroll", "c copy", "y json", "esc leave"}, []string{"enter open", "? help"}},
	} {
		s := newTestConsole(t, 140, 30, Options{})
		s.press(keys)
		shown := s.draw()
		last := shown[len(shown)-1]
		for _, hint := range c.has {
			if !strings.Contains(last, hint) {
				t.Errorf("%s: no %q in %q", keys, hint, last)
			}
		}
		for _, hint := range c.not {
			if strings.Contains(last, hint) {
				t.Errorf("%s: %q in %q", keys, hint, last)
			}
		}
		if s.click("esc leave"); s.app.mode != modeBrowse {
			t.Errorf("%s, then a click on esc: mode %q", keys, s.app.mode)
		}
	}
}

// In the list of actions, a click selects an action, and a double click does it or says why not.
func TestMouseInActions(t *testing.T) {
	s := newTestConsole(t, 140, 30, Options{})
	s.press("x")
	s.click("follow its log")
	if got := s.app.acts[s.app.actAt].label; got != "follow its log" || s.app.mode != modeActs {
		t.Errorf("%q is selected", got)
	}
	s.double("restart the server")
	s.has("restart server issues? y/n")
}
