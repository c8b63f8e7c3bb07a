package tui

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// Minimum sizes of the screen for parts other than the table.
const (
	headHeight = 8   // rows needed to show the line about the gateway
	hintHeight = 7   // rows needed to show the hint bar
	lastHeight = 5   // rows needed to show the last line if it contains only the keys for help and quit
	sideWidth  = 100 // columns needed to show the panel at the side instead of below
)

// Draw implements tview.Primitive. It draws the whole screen and copes with any size.
func (a *App) Draw(screen tcell.Screen) {
	if a.onFirstDraw != nil {
		a.onFirstDraw()
		a.onFirstDraw = nil
	}
	_, _, w, h := a.GetRect()
	for y := range h {
		fill(screen, 0, y, w, a.palette.Health[Plain])
	}
	screen.HideCursor()
	if w < 1 || h < 1 {
		return
	}
	top, bottom := 0, h
	if h >= headHeight {
		a.drawHead(screen, w)
		top++
	}
	if a.mode != modeBrowse && a.mode != modeHelp || a.flashing() || h >= lastHeight {
		bottom--
		a.drawLast(screen, bottom, w)
	}
	if h >= hintHeight {
		bottom--
		a.drawHints(screen, bottom, w, hintView)
	}
	if a.mode == modeHelp {
		a.drawHelp(screen, top, bottom, w)
		return
	}
	tableW, tableBottom := w, bottom
	panelX, panelY, panelW := 0, 0, 0
	if a.panel {
		if w >= sideWidth {
			tableW = w * 11 / 20
			panelX, panelY, panelW = tableW+1, top, w-tableW-1
		} else {
			tableBottom = top + max(2, (bottom-top)/3)
			panelY, panelW = tableBottom, w
		}
	}
	a.rule(screen, 0, top, tableW, a.view().title(), "")
	a.view().table.draw(screen, 0, top+1, tableW, tableBottom-top-1, &a.palette, a.now())
	if why := a.empty(); why != "" && tableBottom-top > 2 {
		put(screen, 0, top+2, tableW, why, a.palette.Hint, nil, a.palette.Hint)
	}
	if a.panel {
		a.drawPanel(screen, panelX, panelY, panelW, bottom-panelY)
	}
}

// empty returns why the table shows no rows, or "" if it shows some.
func (a *App) empty() string {
	v := a.view()
	switch t := v.table; {
	case len(t.shown) > 0:
		return ""
	case a.picture.Now.IsZero():
		return "waiting for the gateway's first response"
	case t.query != "" && t.invert:
		return fmt.Sprintf("every row contains %q; press esc to clear the filter", plain(t.query))
	case t.query != "":
		return fmt.Sprintf("no row contains %q; press esc to clear the filter", plain(t.query))
	case t.onlyFaults:
		return "no row is unhealthy; press ctrl-z to show all rows"
	case v.of() != "":
		return "no " + v.kind.Name + " of " + v.of()
	}
	return "no " + v.kind.Name
}

// rule draws a horizontal line with a title at its start and a note at its end. If both do not fit, the title is cut. A note
// that is too long for the line is omitted.
func (a *App) rule(screen tcell.Screen, x, y, w int, title, note string) {
	for i := range w {
		screen.Put(x+i, y, "─", a.palette.Frame)
	}
	if w < 4 {
		return
	}
	screen.Put(x+1, y, " ", a.palette.Frame)
	if n := width(note); note != "" && n+8 < w {
		w -= n + 3
		put(screen, x+w, y, n+2, " "+note+" ", a.palette.Key, nil, a.palette.Key)
	}
	n := put(screen, x+2, y, w-3, title, a.palette.Title, nil, a.palette.Title)
	screen.Put(x+2+n, y, " ", a.palette.Frame)
}

// drawHead draws the first line: the gateway's version, addresses and health, and the trail of views.
func (a *App) drawHead(screen tcell.Screen, w int) {
	p := a.picture
	x := put(screen, 0, 0, w, "goblin-actor "+plain(p.Version), a.palette.Title, nil, a.palette.Title)
	state, health := a.gatewayState()
	if addresses := plain(strings.Join(p.Listen, ", ")); addresses != "" {
		state = addresses + "  " + state
	}
	x += 2
	if x < w {
		x += put(screen, x, 0, w-x, state, a.palette.Health[health], nil, a.palette.Match)
	}
	var crumbs []string
	for _, v := range a.trail[max(0, len(a.trail)-4):] {
		crumbs = append(crumbs, v.crumb())
	}
	trail := strings.Join(crumbs, " › ")
	if n := width(trail); x+2+n <= w {
		put(screen, w-n, 0, n, trail, a.palette.Hint, nil, a.palette.Match)
	}
}

// gatewayState returns the gateway's state for the first line, and the health that determines its color.
func (a *App) gatewayState() (string, Health) {
	p := a.picture
	switch {
	case p.Lost != nil:
		return fmt.Sprintf("no answer for %s, retrying every second: %s", span(a.now().Sub(p.Since)), plain(p.Lost.Error())), Bad
	case p.Now.IsZero():
		return "…", Quiet
	}
	up := "  up " + span(p.Now.Sub(p.Started).Truncate(1e9))
	switch {
	case p.Draining:
		return "draining, " + plural(len(p.Calls), "call") + " left" + up, Warn
	case !p.Ready:
		return "starting, waiting for " + plain(strings.Join(p.Waiting, ", ")) + up, Warn
	case len(p.Failed) > 0:
		return "ready, but without " + plain(strings.Join(p.Failed, ", ")) + up, Warn
	}
	return "ready" + up, Good
}

// drawHints lists keys that are enabled in the view, as many as fit.
func (a *App) drawHints(screen tcell.Screen, y, w int, which hint) {
	x := 0
	for i := range actions {
		act := &actions[i]
		if act.hint != which || act.disabled != nil && act.disabled(a) != "" {
			continue
		}
		label := act.label
		if act.labelNow != nil {
			if now := act.labelNow(a); x+width(act.key)+1+width(now) <= w {
				label = now
			}
		}
		if x+width(act.key)+1+width(label) > w {
			return
		}
		x += put(screen, x, y, w-x, act.key, a.palette.Key, nil, a.palette.Key) + 1
		x += put(screen, x, y, w-x, label, a.palette.Hint, nil, a.palette.Hint) + 2
	}
}

func (a *App) flashing() bool { return a.flash != "" && a.now().Sub(a.flashed) < flashTime }

// drawLast draws the last line: the input, a confirmation, a message, or the keys for help and quit.
func (a *App) drawLast(screen tcell.Screen, y, w int) {
	switch {
	case a.mode == modeCommand || a.mode == modeFilter:
		a.input.SetRect(0, y, w, 1)
		a.input.Draw(screen)
	case a.mode == modeConfirm:
		put(screen, 0, y, w, a.confirm, a.palette.Health[Bad], nil, a.palette.Match)
	case a.flashing():
		put(screen, 0, y, w, a.flash, a.palette.Health[a.flashHealth], nil, a.palette.Match)
	default:
		a.drawHints(screen, y, w, hintLast)
	}
}

// drawPanel draws the side panel with the selected row's details.
func (a *App) drawPanel(screen tcell.Screen, x, y, w, h int) {
	if w < 1 || h < 1 {
		return
	}
	title, all := "no row selected", []panelLine(nil)
	if r := a.view().table.row(); r != nil {
		title = plain(r.ID)
		if r.Detail != nil {
			all = panelLines(r.Detail(), w)
		}
	}
	a.panelTop = max(0, min(a.panelTop, len(all)-(h-1)))
	note := ""
	switch more := len(all) - (h - 1) - a.panelTop; {
	case more > 0:
		note = "] " + plural(more, "line") + " more"
	case a.panelTop > 0:
		note = "[ scrolls up"
	}
	a.rule(screen, x, y, w, title, note)
	query := a.view().table.filter().text
	if a.view().table.invert {
		query = nil
	}
	for i := 0; i < h-1 && a.panelTop+i < len(all); i++ {
		line := all[a.panelTop+i]
		n := put(screen, x, y+1+i, w, line.label, a.palette.Head, nil, a.palette.Head)
		if line.label != "" {
			n++
		}
		if n < w {
			put(screen, x+n, y+1+i, w-n, line.text, a.palette.Health[Plain], marks(line.text, query), a.palette.Match)
		}
	}
}

// panelLine is one line of the side panel.
type panelLine struct{ label, text string }

// maxPanel is the maximum number of lines in the panel.
const maxPanel = 2000

// panelLines breaks fields into lines. A text that fits follows its name; any other is indented below it.
func panelLines(all []Field, w int) []panelLine {
	var out []panelLine
	for _, f := range all {
		text := lines(f.Text)
		if len(text) == 1 && width(f.Name)+2+width(text[0]) <= w {
			out = append(out, panelLine{f.Name + ":", text[0]})
			continue
		}
		out = append(out, panelLine{f.Name + ":", ""})
		for _, line := range text {
			for _, piece := range wrap(line, w-2) {
				if len(out) == maxPanel {
					return out
				}
				out = append(out, panelLine{"", "  " + piece})
			}
		}
	}
	return out
}

// drawHelp lists all keys, starting with the view's sort letters.
func (a *App) drawHelp(screen tcell.Screen, top, bottom, w int) {
	var all []panelLine
	if letters := sortLetters(a.view().kind); letters != "" {
		all = append(all, panelLine{"in " + a.view().kind.Name + ", shift and", letters})
	}
	for i := range actions {
		for n, piece := range wrap(strings.ReplaceAll(actions[i].help, "`", ""), max(10, w-15)) {
			label := ""
			if n == 0 {
				label = actions[i].key
			}
			all = append(all, panelLine{fmt.Sprintf("%-13s", label), piece})
		}
	}
	a.helpTop = max(0, min(a.helpTop, len(all)-(bottom-top-1)))
	note := ""
	switch more := len(all) - (bottom - top - 1) - a.helpTop; {
	case more > 0:
		note = "↓ " + plural(more, "line") + " more"
	case a.helpTop > 0:
		note = "↑ scrolls up"
	}
	a.rule(screen, 0, top, w, "keys; any other key closes the list", note)
	for y := top + 1; y < bottom && a.helpTop+y-top-1 < len(all); y++ {
		line := all[a.helpTop+y-top-1]
		n := put(screen, 0, y, w, line.label, a.palette.Key, nil, a.palette.Key) + 1
		if n < w {
			put(screen, n, y, w-n, line.text, a.palette.Health[Plain], nil, a.palette.Match)
		}
	}
}
