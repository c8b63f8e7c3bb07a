package tui

import (
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
)

const (
	gap     = 2  // columns between two columns
	minFlex = 16 // a flexible column is never narrower, unless its text is
	wide    = 100
	maxText = 40 // a column that is not flexible is never wider
)

// draw draws the head and the rows into a rectangle. Nothing is drawn outside it, however small it is.
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

// layout gives every column from left on its room in w columns of the screen: fixed ones what their texts need, at
// most 40; what is left is shared by the flexible ones, those that need less first. 0 = the column is left out.
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

// sortMark is the room of the arrow in the head.
func (t *table) sortMark(column int) int {
	if t.order == column+1 && t.widths[column] <= width(t.columns[column].Name) {
		return 1
	}
	return 0
}
