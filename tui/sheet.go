package tui

import (
	"context"

	"github.com/gdamore/tcell/v2"
)

// modeSheet is the mode in which a sheet covers the view.
const modeSheet mode = "sheet"

// sheet shows the progress or the result of an action.
type sheet struct {
	title  string
	lines  []sheetLine
	copies string             // what c copies; "" = nothing
	cancel context.CancelFunc // called when the user leaves the sheet
	top    int                // first visible line
}

// sheetLine is a text of a sheet. It may come from a server, and may have several lines.
type sheetLine struct {
	text   string
	health Health
	key    bool // drawn like a key: something to copy
}

// openSheet shows an empty sheet. The returned context ends when the user leaves it.
func (a *App) openSheet(title string) (*sheet, context.Context) {
	ctx, cancel := context.WithCancel(a.ctx)
	a.sheet, a.mode = &sheet{title: title, cancel: cancel}, modeSheet
	return a.sheet, ctx
}

// sheetKey handles a key while a sheet is open.
func (a *App) sheetKey(e *tcell.EventKey) {
	s := a.sheet
	switch {
	case keys(tcell.KeyDown, tcell.KeyUp)(e), char('j')(e), char('k')(e):
		s.top = max(0, s.top+direction(e))
	case keys(tcell.KeyPgDn, tcell.KeyPgUp)(e):
		s.top = max(0, s.top+10*direction(e))
	case char('c')(e) && s.copies != "":
		a.copyText(oneLine(s.copies))
	case e.Key() == tcell.KeyEscape, char('q')(e):
		s.cancel()
		a.sheet, a.mode = nil, modeBrowse
	}
}

// hint returns the last line of a sheet.
func (s *sheet) hint() string {
	if s.copies != "" {
		return "c copy  pgdn scroll  esc leave"
	}
	return "pgdn scroll  esc leave"
}

// drawSheet draws a sheet. Texts of any origin are escaped and wrapped.
func (a *App) drawSheet(screen tcell.Screen, r rect) {
	s, p := a.sheet, a.colors()
	type line struct {
		text  string
		style tcell.Style
	}
	var all []line
	for _, l := range s.lines {
		style := p.Health[l.health]
		if l.key {
			style = p.Key
		}
		for _, part := range lines(cutAt(l.text, maxMessage)) {
			for _, text := range wrap(part, max(1, r.w-2)) {
				all = append(all, line{text, style})
			}
		}
		if len(all) > maxPanel {
			break
		}
	}
	s.top = max(0, min(s.top, len(all)-(r.h-1)))
	a.rule(screen, r.x, r.y, r.w, s.title, scrollNote(len(all)-(r.h-1), s.top, "pgdn", "pgup"))
	for i := 0; i < r.h-1 && s.top+i < len(all); i++ {
		put(screen, r.x, r.y+1+i, r.w, "  "+all[s.top+i].text, all[s.top+i].style, nil, p.Match)
	}
}
