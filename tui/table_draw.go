package tui

import (
	"cmp"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
)

const (
	gap     = 2   // spaces between two columns
	minFlex = 12  // minimum width of a flexible column, unless its text is narrower
	minRest = 4   // a column is not drawn if less of it is visible
	wide    = 100 // minimum width of a table that shows the columns marked Wide
	maxText = 40  // maximum width of a column that is not flexible
)

// canvas is a rectangle of the screen in which a table is drawn.
type canvas struct {
	tcell.Screen
	x, y, w, h int
	p          *Palette
	now        time.Time
	focus      bool                // keys act on the table
	calm       bool                // changed numbers have no arrows
	head, row  func(r rect, i int) // called for each column's name and each row that is drawn, with its index; nil = nothing
}

// gutter returns the width of the glyph and the selection's bar in front of each row, for a table of width w.
func gutter(w int) int {
	if w < 60 {
		return 2
	}
	return 3
}

// draw draws the header and the rows. It draws nothing outside the canvas.
func (t *table) draw(c canvas) {
	if c.w < 1 || c.h < 1 {
		return
	}
	t.left = max(0, min(t.left, len(t.columns)-1))
	g := min(gutter(c.w), c.w)
	room := t.layout(c.w - g)
	if !t.kind.Bare {
		t.drawHead(c, g, room)
		c.y++
		c.h--
	}
	t.height = max(1, c.h)
	t.scroll(c.h, room)
	found := t.filter()
	if t.invert {
		found = nil
	}
	line := 0
	for at := t.top; line < c.h && at < len(t.shown); at++ {
		if line == c.h-1 && t.kind.More != nil && at < len(t.shown)-1 && t.at < at && len(t.shown) > c.h {
			var rest []Row
			for _, i := range t.shown[at:] {
				rest = append(rest, t.rows[i])
			}
			put(c, c.x, c.y+line, c.w, "⋮  "+t.kind.More(rest), c.p.Hint, nil, c.p.Hint)
			return
		}
		from := line
		line += t.drawRow(c, line, g, room, &t.rows[t.shown[at]], at == t.at, found)
		if c.row != nil {
			c.row(rect{c.x, c.y + from, c.w, line - from}, at)
		}
	}
}

// scroll makes the selected row visible in h lines.
func (t *table) scroll(h int, room []int) {
	if t.kind.More != nil && len(t.shown) > h && t.at >= t.top+h-1 {
		h-- // the last line counts the other rows
	}
	t.top = max(0, min(t.top, t.at, len(t.shown)-1))
	used := 0
	for at := t.at; at >= t.top; at-- {
		used += t.heightOf(at, room)
		if used > h && at < t.at {
			t.top = at + 1
			break
		}
	}
	if used = 0; t.top > 0 { // no empty lines below the last row
		for at := len(t.shown) - 1; at >= 0; at-- {
			if used += t.heightOf(at, room); used > h {
				t.top = min(t.top, at+1)
				return
			}
		}
		t.top = 0
	}
}

// heightOf returns the number of lines of a row.
func (t *table) heightOf(at int, room []int) int {
	if !t.wraps || at >= len(t.shown) { // there may be no rows
		return 1
	}
	n := 1
	for i, c := range t.columns {
		if c.Flex && room[i] > 0 {
			n = max(n, len(wrap(cellOf(&t.rows[t.shown[at]], i).Text, room[i])))
		}
	}
	return n
}

func (t *table) drawHead(c canvas, g int, room []int) {
	at := g
	for i := t.left; i < len(t.columns) && at < c.w; i++ {
		if room[i] == 0 {
			continue
		}
		name := t.columns[i].Name
		if t.order == i+1 {
			if t.descending {
				name += "↓"
			} else {
				name += "↑"
			}
		}
		here := min(room[i], c.w-at)
		if here < min(minRest, room[i]) {
			break
		}
		indent := 0
		if t.columns[i].Right {
			indent = max(0, here-width(name))
		}
		put(c, c.x+at+indent, c.y, here-indent, name, c.p.Head, nil, c.p.Head)
		if c.head != nil && t.columns[i].Sort != 0 {
			c.head(rect{c.x + at, c.y, here, 1}, i)
		}
		at += room[i] + gap
	}
}

// drawRow draws a row from a line of the canvas on and returns the number of its lines.
func (t *table) drawRow(c canvas, line, g int, room []int, r *Row, selected bool, found filters) int {
	height := 1
	selected = selected && c.focus
	if t.wraps {
		height = min(t.heightOf(slices.IndexFunc(t.shown, func(i int) bool { return &t.rows[i] == r }), room), c.h-line)
	}
	style := func(h Health) tcell.Style {
		if selected {
			return c.p.selected(h)
		}
		return c.p.Health[h]
	}
	y := c.y + line
	if selected {
		for i := range height {
			fill(c, c.x, y+i, c.w, c.p.Selected)
		}
		put(c, c.x+1, y, c.w-1, "▌", style(r.Mark.health()), nil, c.p.Match)
	}
	put(c, c.x, y, c.w, glyphs[r.Mark], style(r.Mark.health()), nil, c.p.Match)
	at := g
	for i := t.left; i < len(t.columns) && at < c.w; i++ {
		if room[i] == 0 {
			continue
		}
		cell, here := cellOf(r, i), min(room[i], c.w-at)
		if here < min(minRest, room[i]) {
			break
		}
		text := t.textOf(r, i, c)
		if t.columns[i].URI {
			text = middle(text, here)
		}
		pieces := []string{text}
		if t.wraps && t.columns[i].Flex {
			pieces = wrap(text, here)
		}
		for n, piece := range pieces[:min(len(pieces), height)] {
			indent := 0
			if t.columns[i].Right {
				indent = max(0, here-width(piece))
			}
			put(c, c.x+at+indent, y+n, here-indent, piece, style(cell.Health), found.marks(i, piece), c.p.Match)
		}
		at += room[i] + gap
	}
	return height
}

// textOf returns the text of a cell with an arrow if its number has changed and, in a tree, the lines in front of it.
func (t *table) textOf(r *Row, column int, on canvas) string {
	c := cellOf(r, column)
	text := c.Text
	if c.Trend && !on.calm {
		text += t.arrow(r.ID, column, on.now)
	}
	if column == 0 && t.isTree() {
		return t.branch(r)
	}
	return text
}

// branch returns the text of a row's first cell in a tree.
func (t *table) branch(r *Row) string {
	text := cmp.Or(r.Branch.Text, cellOf(r, 0).Text)
	switch {
	case !r.Branch.Group:
		return text
	case t.isClosed(r):
		return text + " ▸"
	}
	return text + " ▾"
}

// layout returns the width of every column from t.left on, for a table of width w. Columns that are not flexible get
// the width of their texts, at most maxText. Flexible columns share the rest; those that need less are served first. 0
// means that the column is hidden.
func (t *table) layout(w int) []int {
	room := make([]int, len(t.columns))
	rest := w + gap
	var flexible []int
	for i := t.left; i < len(t.columns); i++ {
		switch c := t.columns[i]; {
		case (c.Spare && t.bare[i] || w+gutter(w) < c.Min) && !t.all:
			continue
		case (c.Wide && w+gutter(wide) < wide || c.Extra) && i > t.left && !t.all:
			continue
		case c.Flex:
			flexible = append(flexible, i)
		default:
			room[i] = min(t.widths[i], maxText) + t.sortMark(i)
			rest -= room[i]
		}
		rest -= gap
	}
	slices.SortStableFunc(flexible, func(a, b int) int { return t.widths[a] - t.widths[b] })
	for n, i := range flexible {
		share := max(rest/(len(flexible)-n), minFlex)
		room[i] = max(1, min(t.widths[i]+t.sortMark(i), share))
		rest -= room[i]
	}
	return room
}

// sortMark returns the extra width for the sort arrow in the header.
func (t *table) sortMark(column int) int {
	if t.order == column+1 && t.widths[column] <= width(t.columns[column].Name) {
		return 1
	}
	return 0
}
