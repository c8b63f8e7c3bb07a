package tui

import (
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
)

const (
	gap     = 2   // spaces between two columns
	minFlex = 16  // width that a flexible column gets at least, unless its text is narrower
	wide    = 100 // minimum screen width to show the columns marked Wide
	maxText = 40  // maximum width of a column that is not flexible
)

// draw draws the header and the rows into a rectangle of any size. It draws nothing outside the rectangle.
func (t *table) draw(screen tcell.Screen, x, y, w, h int, p *Palette, now time.Time) {
	if w < 1 || h < 1 {
		return
	}
	t.height = max(1, h-1)
	t.left = max(0, min(t.left, len(t.columns)-1))
	room := t.layout(w)
	t.drawHead(screen, x, y, w, room, p)
	t.top = max(0, min(t.top, t.at, len(t.shown)-1))
	if t.at >= t.top+t.height {
		t.top = t.at - t.height + 1
	}
	t.top = max(0, min(t.top, len(t.shown)-t.height))
	found := t.filter()
	if t.invert {
		found = filter{column: -1}
	}
	for line := 0; line < h-1 && t.top+line < len(t.shown); line++ {
		r := &t.rows[t.shown[t.top+line]]
		t.drawRow(screen, x, y+1+line, w, room, r, t.top+line == t.at, found, p, now)
	}
}

func (t *table) drawHead(screen tcell.Screen, x, y, w int, room []int, p *Palette) {
	at := 0
	for i := t.left; i < len(t.columns) && at < w; i++ {
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
		here := min(room[i], w-at)
		indent := 0
		if t.columns[i].Right {
			indent = max(0, here-width(name))
		}
		put(screen, x+at+indent, y, here-indent, name, p.Head, nil, p.Head)
		at += room[i] + gap
	}
}

func (t *table) drawRow(screen tcell.Screen, x, y, w int, room []int, r *Row, selected bool, found filter, p *Palette, now time.Time) {
	if selected {
		fill(screen, x, y, w, p.Selected)
	}
	at := 0
	for i := t.left; i < len(t.columns) && at < w; i++ {
		if room[i] == 0 {
			continue
		}
		c := cellOf(r, i)
		s := p.Health[c.Health]
		if selected {
			s = p.Selected
		}
		text := c.Text
		if c.Trend {
			text += t.arrow(r.ID, i, now)
		}
		here := min(room[i], w-at)
		indent := 0
		if t.columns[i].Right {
			indent = max(0, here-width(text))
		}
		if t.columns[i].URI {
			text = middle(text, here)
		}
		put(screen, x+at+indent, y, here-indent, text, s, marks(text, found.marked(i)), p.Match)
		at += room[i] + gap
	}
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
		case c.Wide && w < wide && i > t.left:
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
