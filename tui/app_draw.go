package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// Draw implements tview.Primitive. It draws the whole screen and copes with any size.
func (a *App) Draw(screen tcell.Screen) {
	if a.onFirstDraw != nil {
		a.onFirstDraw()
		a.onFirstDraw = nil
	}
	a.terminal, a.zones = screen, a.zones[:0]
	if a.ascii {
		screen = &asciiScreen{Screen: screen}
	}
	_, _, w, h := a.GetRect()
	p := a.colors()
	screen.Fill(' ', p.Health[Plain])
	screen.HideCursor()
	if w < 1 || h < 1 {
		return
	}
	full := w >= fullWidth && h >= fullHeight
	defer a.drawKeeping(screen, w, full)
	top, bottom := 0, h
	if full {
		a.drawPath(screen, w)
		top++
	}
	if full || a.busyLine() {
		bottom -= min(h, a.lastLines(w, full))
		a.drawLast(screen, rect{0, bottom, w, h - bottom})
	}
	switch {
	case a.mode == modeHelp:
		a.drawHelp(screen, top, bottom, w)
	case a.mode == modeForm:
		a.drawForm(screen, rect{0, top, w, bottom - top})
	case a.mode == modeSheet:
		a.drawSheet(screen, rect{0, top, w, bottom - top})
	case a.mode == modeActs:
		a.drawActs(screen, rect{0, top, w, bottom - top})
	case a.mode == modeFull:
		a.drawPanel(screen, 0, top, w, bottom-top)
	case (w < bareWidth || h < bareHeight) && !a.busyLine():
		a.drawHealth(screen, w)
	default:
		a.drawBody(screen, rect{0, top, w, bottom - top}, full, w >= tallWidth && h >= tallHeight)
	}
}

// colors returns the palette. While the gateway does not respond, every Health has the style of Quiet.
func (a *App) colors() *Palette {
	if a.picture.Lost != nil {
		return a.palette.grey()
	}
	return &a.palette
}

// drawBody draws the visible view: the lines above the tables, the tables and the side panel.
func (a *App) drawBody(screen tcell.Screen, r rect, full, tall bool) {
	v, p := a.view(), a.colors()
	if full {
		n := a.drawAbove(screen, r, tall)
		r.y, r.h = r.y+n, r.h-n
	}
	side := rect{}
	if a.panel {
		if r.w >= tallWidth {
			w := r.w * 11 / 20
			side = rect{r.x + w + 1, r.y, r.w - w - 1, r.h}
			r.w = w
		} else {
			h := max(2, r.h/3)
			side = rect{r.x, r.y + h, r.w, r.h - h}
			r.h = h
		}
	}
	places := v.places(r, full, tall && !a.panel)
	for i, place := range places {
		part := v.panels[i]
		if place.h < 1 || place.w < 1 {
			continue
		}
		head, row := a.panelZones(v, i, place)
		if full {
			tabs := cmp.Or(a.tabs(place.w), v.hidden(i, places))
			if at := a.rule(screen, place.x, place.y, place.w, v.title(part), tabs); at > 0 && v.isServerPage() {
				a.tabButtons(at, place.y)
			}
			place.y, place.h = place.y+1, place.h-1
		}
		part.table.draw(canvas{Screen: screen, x: place.x, y: place.y, w: place.w, h: place.h, p: p, now: a.now(), focus: i == v.focus, calm: a.calm, head: head, row: row})
		if why := a.empty(part); why != "" && place.h > 1 {
			put(screen, place.x, place.y+1, place.w, why, p.Hint, nil, p.Hint)
		}
	}
	if a.panel {
		a.drawPanel(screen, side.x, side.y, side.w, side.h)
	}
}

// drawAbove draws the lines above the tables and returns how many there are.
func (a *App) drawAbove(screen tcell.Screen, r rect, tall bool) int {
	v := a.view()
	if v.kind.Head == nil || a.picture.Now.IsZero() {
		return 0
	}
	most := 1
	switch {
	case v.kind == callKind:
		most = r.h / 2
	case tall:
		most = 4
	case v.kind == overviewKind:
		return 0
	}
	all := v.kind.Head(a.picture, v.scope)
	all = all[:min(len(all), most)]
	for i, l := range all {
		l.draw(screen, r.x, r.y+i, r.w, a.colors())
	}
	return len(all)
}

// hidden returns a note for the title of the i-th panel: the key that shows the panels for which there is no room, and their names. Only
// the last panel on the screen gets the note. hidden returns "" for the others, and if no panel is left out.
func (v *view) hidden(i int, places []rect) string {
	var names []string
	for j, p := range v.panels {
		switch {
		case places[j].h > 0 && j > i:
			return ""
		case places[j].h == 0 && p.visible():
			names = append(names, p.kind.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "tab " + strings.Join(names, ", ")
}

// tabsMark precedes the tabs of a server's page.
const tabsMark = "tab: "

// tabs lists the other tabs of a server's page. It returns "" in other views, and if w is less than tallWidth.
func (a *App) tabs(w int) string {
	v := a.view()
	if !v.isServerPage() || w < tallWidth {
		return ""
	}
	var names []string
	for _, k := range serverTabs {
		if k != v.kind {
			names = append(names, k.Name)
		}
	}
	return tabsMark + strings.Join(names, " ")
}

// empty returns why a table shows no rows, or "" if it shows some.
func (a *App) empty(part *panel) string {
	v := a.view()
	switch t := part.table; {
	case len(t.shown) > 0:
		return ""
	case a.picture.Now.IsZero():
		return "waiting for the gateway's first response"
	case t.query != "" && t.invert:
		return fmt.Sprintf("every row matches %q; press esc to clear the filter", plain(t.query))
	case t.query != "":
		return fmt.Sprintf("no row matches %q; press esc to clear the filter", plain(t.query))
	case t.onlyFaults:
		return "no row is unhealthy; press ctrl-z to show all rows"
	case t.kind.Levels && len(t.rows) > 0 && t.minRank > 0:
		return "no line has level " + levels[t.minRank] + " or above; press v for more levels"
	case v.kind == actorKind:
		return "no messages"
	case v.of() != "":
		return "no " + part.kind.Name + " of " + v.of()
	}
	return "no " + part.kind.Name
}

// rule draws a horizontal line with a title at its start and a note at its end. If both do not fit, the title is cut. A note
// that is too long for the line is omitted. Key hints in the note act on clicks. rule returns the note's column, or 0 if it was
// omitted.
func (a *App) rule(screen tcell.Screen, x, y, w int, title, note string) (at int) {
	p := a.colors()
	for i := range w {
		screen.Put(x+i, y, "─", p.Frame)
	}
	if w < 4 {
		return 0
	}
	screen.Put(x+1, y, " ", p.Frame)
	if n := width(note); note != "" && n+8 < w {
		w -= n + 3
		put(screen, x+w, y, n+2, " "+note+" ", p.Key, nil, p.Key)
		at = x + w + 1
		a.keyButtons(at, y, n, note)
	}
	n := put(screen, x+2, y, w-3, title, p.Title, nil, p.Title)
	screen.Put(x+2+n, y, " ", p.Frame)
	return at
}
