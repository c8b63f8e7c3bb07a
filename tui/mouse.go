package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// wheelLines is how many lines a step of the wheel scrolls.
const wheelLines = 3

// zone is a part of the screen that the mouse acts on.
type zone struct {
	rect
	click  func()
	open   func()      // on a double click; nil = click
	wheel  func(n int) // n lines down; nil = nothing
	browse bool        // acts only in browse mode; a click closes a prompt or a page of text first
	once   bool        // a double click is an accident, and does nothing
}

// pointing is the state of the mouse.
type pointing struct {
	mouse   bool   // the terminal reports the mouse
	zones   []zone // of the last Draw; later ones are on top of earlier ones
	clicked rect   // zone of the last click
	on      *view  // the visible view after it
}

// at returns the zone at a place on the screen for which wanted returns true, or nil.
func (p *pointing) at(x, y int, wanted func(z *zone) bool) *zone {
	for i := len(p.zones) - 1; i >= 0; i-- {
		z := &p.zones[i]
		if x >= z.x && x < z.x+z.w && y >= z.y && y < z.y+z.h && wanted(z) {
			return z
		}
	}
	return nil
}

// MouseHandler implements tview.Primitive.
func (a *App) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return func(action tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := e.Position()
		switch action {
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			return a.clickAt(x, y, action == tview.MouseLeftDoubleClick), nil
		case tview.MouseScrollUp, tview.MouseScrollDown:
			n := wheelLines
			if action == tview.MouseScrollUp {
				n = -n
			}
			if z := a.at(x, y, func(z *zone) bool { return z.wheel != nil }); z != nil && (!z.browse || a.mode != modeConfirm) {
				a.view().touch(a.now())
				z.wheel(n)
				return true, nil
			}
		}
		return false, nil
	}
}

// clickAt acts on a click. A second click counts as a double click only in the same zone of the same view. It reports
// whether a zone acted on the click.
func (a *App) clickAt(x, y int, double bool) bool {
	z := a.at(x, y, func(z *zone) bool { return z.click != nil })
	if z == nil || !a.allows(z) {
		return false
	}
	double = double && a.clicked == z.rect && a.on == a.view()
	a.view().touch(a.now())
	switch {
	case double && z.once:
	case double && z.open != nil:
		z.open()
	default:
		z.click()
	}
	a.clicked, a.on = z.rect, a.view()
	return true
}

// allows reports whether a zone acts in the current mode. If it does, and a prompt or a page of text is open, allows closes
// that first.
func (a *App) allows(z *zone) bool {
	if !z.browse {
		return true
	}
	switch a.mode {
	case modeBrowse:
	case modeCommand, modeFilter, modeCopy, modeFull, modeHelp:
		a.mode, a.json = modeBrowse, false
	default: // a form, a question or a list of actions is left with a key
		return false
	}
	return true
}

// button makes a part of the screen act on clicks in browse mode.
func (a *App) button(r rect, click func()) {
	a.zones = append(a.zones, zone{rect: r, click: click, browse: true})
}

// scrolls makes a part of the screen act on the wheel.
func (a *App) scrolls(r rect, wheel func(n int)) {
	a.zones = append(a.zones, zone{rect: r, wheel: wheel})
}

// selects makes a row of a list act on clicks: the first selects it, a double click presses enter.
func (a *App) selects(r rect, pick func()) {
	a.zones = append(a.zones, zone{rect: r, click: pick, open: func() { pick(); a.press(tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone)) }})
}

// press handles a key that stands for a click.
func (a *App) press(e *tcell.EventKey) { a.InputHandler()(e, nil) }

// keyButtons makes key hints act on clicks: a text such as "ctrl-r run  esc leave", drawn in w columns. Each click presses the key.
func (a *App) keyButtons(x, y, w int, text string) {
	for _, hint := range strings.SplitAfter(text, "  ") {
		label := strings.Trim(hint, " ")
		skip := width(hint) - width(strings.TrimLeft(hint, " "))
		name, _, _ := strings.Cut(label, " ")
		if e := keyEvent(name); e != nil && skip < w {
			a.zones = append(a.zones, zone{rect: rect{x + skip, y, min(width(label), w-skip), 1}, click: func() { a.press(e) }, once: name == "y"})
		}
		x, w = x+width(hint), w-width(hint)
	}
}

// yesOrNo makes the two letters of a question that ends with "y/n" act on clicks. A double click is not a yes, since its first
// click may have asked the question.
func (a *App) yesOrNo(y, w int, question string) {
	if at := width(question) - len("y/n"); strings.HasSuffix(question, "y/n") && at+len("y/n") <= w {
		a.keyButtons(at, y, 1, "y")
		a.keyButtons(at+2, y, 1, "n")
	}
}

// keyNames holds the keys of hints that have a name.
var keyNames = map[string]tcell.Key{"enter": tcell.KeyEnter, "esc": tcell.KeyEscape, "tab": tcell.KeyTab, "pgdn": tcell.KeyPgDn, "pgup": tcell.KeyPgUp,
	"↓": tcell.KeyDown, "↑": tcell.KeyUp}

// keyEvent returns the event of a key by its name in hints, or nil if name is not a key. Digits are
// not keys here, because hints also contain numbers.
func keyEvent(name string) *tcell.EventKey {
	if k, ok := keyNames[name]; ok {
		return tcell.NewEventKey(k, 0, tcell.ModNone)
	}
	if letter, ok := strings.CutPrefix(name, "ctrl-"); ok && len(letter) == 1 && letter[0] >= 'a' && letter[0] <= 'z' {
		return tcell.NewEventKey(tcell.KeyCtrlA+tcell.Key(letter[0]-'a'), 0, tcell.ModCtrl)
	}
	if name == "space" {
		name = " "
	}
	r, size := utf8.DecodeRuneInString(name)
	if size == 0 || size != len(name) || r < ' ' || r > '~' || unicode.IsDigit(r) {
		return nil
	}
	return tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone)
}

// chooseMouse is the command :mouse, with on or off, or without an argument to switch.
func (a *App) chooseMouse(words []string) {
	switch {
	case len(words) == 0:
		a.setMouse(!a.mouse)
	case len(words) == 1 && (words[0] == "on" || words[0] == "off"):
		a.setMouse(words[0] == "on")
	default:
		a.notify("unknown argument of :mouse: "+plain(strings.Join(words, " "))+"; use on or off", Bad)
	}
}

// setMouse turns the mouse on or off. Without the mouse, the terminal selects text itself.
func (a *App) setMouse(on bool) {
	a.mouse = on
	a.screen.EnableMouse(on)
	if on {
		a.notify("the mouse clicks and scrolls; hold shift to select text; :mouse turns this off", Plain)
		return
	}
	a.notify("the mouse selects text; :mouse turns clicks on", Plain)
}
