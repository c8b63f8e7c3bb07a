package tui

import "github.com/gdamore/tcell/v2"

// crumbButtons makes the views in the path of the first line act on clicks. The path begins at column 0.
func (a *App) crumbButtons(w int) {
	var views []*view
	for v := a.view(); v != nil; v = v.up {
		views = append(views, v)
	}
	x := 0
	for i := len(views) - 1; i >= 0; i-- {
		v := views[i]
		n := width(v.crumb())
		if x+n > w {
			return
		}
		a.button(rect{x, 0, n, 1}, func() { a.open(v) })
		x += n + width(pathMark)
	}
}

// tabButtons makes the tabs in the title of a server's page act on clicks. at is the column of the note that lists them.
func (a *App) tabButtons(at, y int) {
	at += width(tabsMark)
	for _, k := range serverTabs {
		if k == a.view().kind {
			continue
		}
		a.button(rect{at, y, width(k.Name), 1}, func() { a.openTab(k) })
		at += width(k.Name) + 1
	}
}

// panelZones makes a panel of the view act on the mouse: a click anywhere selects the panel, one on a column's name sorts, one on
// a row selects it, a double click opens it, and the wheel scrolls.
func (a *App) panelZones(v *view, i int, place rect) (head, row func(r rect, at int)) {
	t := v.panels[i].table
	a.zones = append(a.zones, zone{rect: place, browse: true, click: func() { v.selectPanel(i) }, wheel: func(n int) { t.move(n); a.panelTop = 0 }})
	head = func(r rect, column int) {
		a.button(r, func() {
			v.selectPanel(i)
			t.sort(column)
		})
	}
	row = func(r rect, at int) {
		a.selects(r, func() {
			v.selectPanel(i)
			t.move(at - t.at)
			a.panelTop = 0
		})
		a.zones[len(a.zones)-1].browse = true
	}
	return head, row
}

// scrollForm presses pgdn or pgup, which scroll the arguments below a confirmation, the message of a server's question, or
// the answer.
func (a *App) scrollForm(n int) {
	key := tcell.KeyPgDn
	if n < 0 {
		key = tcell.KeyPgUp
	}
	a.press(tcell.NewEventKey(key, 0, tcell.ModNone))
}
