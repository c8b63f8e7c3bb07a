package tui

import (
	"fmt"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
)

const (
	maxCommand = 4 // maximum number of lines of a form's command line
	maxAbout   = 3 // maximum number of lines about the field that is edited
)

// drawForm draws the form, its command line, and the answer below.
func (a *App) drawForm(screen tcell.Screen, r rect) {
	f, p := a.form, a.colors()
	a.scrolls(r, a.scrollForm)
	title := map[bool]string{true: "fill in ", false: string(f.verb) + " "}[f.template] + plain(f.item.Public)
	note := ""
	if f.item.ReadOnly {
		note = "read-only"
	}
	a.rule(screen, r.x, r.y, r.w, title, note)
	y, end := r.y+1, r.y+r.h
	text := func(s string, style tcell.Style, most int) {
		if s == "" {
			return
		}
		for _, line := range wrapped(s, max(1, r.w-2), most) {
			if y < end {
				put(screen, r.x, y, r.w, "  "+line, style, nil, style)
				y++
			}
		}
	}
	if q := f.question(); q != nil && f.asking == nil {
		y = a.drawQuestion(screen, f, q, rect{r.x, y, r.w, max(1, end-y-3)})
		text(plain(f.note), p.Health[Warn], 2)
	} else {
		text(plain(f.item.Description), p.Hint, 2)
		room := (end - y) / 2
		if f.use == nil && f.asking == nil {
			room = end - y - maxCommand - 1
		}
		y += a.drawFields(screen, rect{r.x, y, r.w, max(1, room)}, &f.fieldset)
		if f.defined && len(f.inputs.All) == 0 && f.verb != form.Read {
			text("no arguments", p.Hint, 1)
		}
		text(f.omitted(), p.Health[Warn], 2)
		if u, err := f.current(); err == nil && f.defined {
			if line := u.CommandLine(); line != "" {
				text("= "+line, p.Key, maxCommand)
			}
		}
		if f.asking != nil {
			a.drawAsking(screen, f, rect{r.x, y, r.w, end - y})
			return
		}
		text(plain(f.note), p.Health[Warn], 2)
	}
	if f.use == nil || y >= end {
		return
	}
	state, h := f.use.state(a.now())
	rest := a.drawAnswer(screen, rect{r.x, y + 1, r.w, end - y - 1})
	a.rule(screen, r.x, y, r.w, "answer", rest)
	put(screen, r.x+9, y, max(0, r.w-9-width(rest)-3), " "+state+" ", p.Health[h], nil, p.Health[h])
}

// drawAsking draws the question before a call, and below it the arguments from line askTop.
func (a *App) drawAsking(screen tcell.Screen, f *itemForm, r rect) {
	p := a.colors()
	y, end := r.y, r.y+r.h
	for _, line := range wrap(f.asking[0], max(1, r.w-2)) {
		if y < end {
			put(screen, r.x, y, r.w, "  "+line, p.Health[Bad], nil, p.Match)
			y++
		}
	}
	var all []string
	for _, line := range f.asking[1:] {
		if all = append(all, wrap(line, max(1, r.w-4))...); len(all) > maxPanel {
			break
		}
	}
	f.askTop = max(0, min(f.askTop, len(all)-(end-y)))
	for i := f.askTop; i < len(all) && y < end; i++ {
		put(screen, r.x, y, r.w, "    "+all[i], p.Health[Plain], nil, p.Match)
		y++
	}
}

// drawAnswer draws the visible part of the answer and returns a note about the rest.
func (a *App) drawAnswer(screen tcell.Screen, r rect) (note string) {
	f, p := a.form, a.colors()
	if f.use.ended.IsZero() || r.h < 1 {
		return ""
	}
	all := f.use.wrapped(max(1, r.w-2))
	f.top = max(0, min(f.top, len(all)-r.h))
	for i := 0; i < r.h && f.top+i < len(all); i++ {
		put(screen, r.x, r.y+i, r.w, "  "+all[f.top+i], p.Health[Plain], nil, p.Match)
	}
	return scrollNote(len(all)-r.h, f.top, "pgdn", "pgup")
}

// drawFields draws a row for each field that fits, and what the field that is edited accepts if that does not fit beside it. It returns
// how many rows that took.
func (a *App) drawFields(screen tcell.Screen, r rect, f *fieldset) int {
	p, all := a.colors(), len(f.inputs.All)
	if all == 0 {
		return 0
	}
	label := 0
	for i := range f.inputs.All {
		label = max(label, min(24, width(plain(f.inputs.All[i].Name))))
	}
	field := max(8, (r.w-label-6)/2)
	var below []string
	about, h := f.about(f.at)
	if width(about) > r.w-label-field-6 {
		below = wrapped(about, max(1, r.w-6), maxAbout)
	}
	rows := max(1, r.h-len(below))
	first, n := 0, 0
	if all > rows {
		rows = max(1, rows-1)
		first = max(0, f.at-rows+1)
	}
	for i := first; i < all && n < rows; i++ {
		one := &f.inputs.All[i]
		y := r.y + n
		n++
		name, style := plain(one.Name), p.Head
		if i == f.at {
			style = p.Key
		}
		put(screen, r.x+2, y, label, name, style, nil, style)
		a.zones = append(a.zones, zone{rect: rect{r.x, y, r.w, 1}, click: func() { f.edit(i) }})
		if one.Required {
			put(screen, r.x+3+label, y, 1, "*", p.Key, nil, p.Key)
		}
		x := r.x + label + 5
		if i == f.at {
			drawInput(screen, f.input, p.Health[Plain].Underline(true), rect{x, y, min(field, max(1, r.w-x)), 1})
		} else {
			put(screen, x, y, min(field, max(0, r.w-x)), plain(f.texts[i]), p.Health[Plain], nil, p.Match)
		}
		if x += field + 1; x < r.x+r.w {
			about, h := f.about(i)
			put(screen, x, y, r.x+r.w-x, about, p.Health[h], nil, p.Match)
		}
	}
	line := func(text string, style tcell.Style) {
		if n < r.h {
			put(screen, r.x, r.y+n, r.w, text, style, nil, p.Match)
			n++
		}
	}
	if all > rows {
		line(fmt.Sprintf("  %d to %d of %d; tab shows more", first+1, first+rows, all), p.Hint)
	}
	for _, text := range below {
		line("    "+text, p.Health[h])
	}
	return n
}
