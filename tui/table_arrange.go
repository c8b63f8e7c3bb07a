package tui

import (
	"slices"
	"strings"
	"time"
)

// basis is what the visible rows were computed from. If only the query differs and contains the earlier query, the rows that
// match it are among those that matched the earlier one.
type basis struct {
	order      *int // address of the first index in order.all, which identifies the order of one set of rows
	rows       *Row
	onlyFaults bool
	minRank    int
	all        bool
	query      string // "" = unusable
}

// arrange computes the visible rows. The selection stays on its row. If that row is no longer visible, the row now in its
// place is selected. If before is not nil, rows may be held in the places that they had: see hold.
func (t *table) arrange(before *earlier, now time.Time) {
	filter := t.filter()
	next := t.nextBasis(filter)
	if was := t.basis; was.query != "" && was == next.with(was.query) && strings.Contains(next.query, was.query) {
		t.shown = slices.DeleteFunc(t.shown, func(i int) bool { return !filter.matches(&t.rows[i]) })
	} else {
		t.show(filter)
		if before != nil && !t.isTree() && !t.kind.Tail {
			t.hold(before, now)
		}
	}
	t.basis = next
	t.measure()
	if at := slices.IndexFunc(t.shown, func(i int) bool { return t.rows[i].ID == t.selected }); at >= 0 {
		t.at = at
	}
	t.move(0)
}

// nextBasis returns the basis of the rows that match a filter. Only a text that is searched in all columns has one.
func (t *table) nextBasis(filter filters) basis {
	all := t.inOrder()
	if t.invert || len(t.rows) == 0 || len(filter) != 1 || filter[0].column >= 0 {
		return basis{}
	}
	b := basis{rows: &t.rows[0], onlyFaults: t.onlyFaults, minRank: t.minRank, all: t.all, query: filter[0].text}
	if all != nil {
		b.order = &all[0]
	}
	return b
}

func (b basis) with(query string) basis {
	b.query = query
	return b
}

// show makes the rows visible that match a filter and the other settings, in their order.
func (t *table) show(filter filters) {
	t.shown = t.shown[:0]
	tree, everything := t.isTree(), filter.all()
	closed := -1 // depth of the folded group above the row; -1 = none
	all := t.inOrder()
	for n := range t.rows {
		i := n
		if all != nil {
			i = all[n]
		}
		r := &t.rows[i]
		if t.keep != nil && !t.keep(r) || t.onlyFaults && r.Health != Bad && r.Health != Warn || r.Rank < t.minRank || r.Extra && !t.all {
			continue
		}
		if tree {
			if closed >= 0 && r.Branch.Depth > closed {
				continue
			}
			closed = -1
			if r.Branch.Group && t.isClosed(r) {
				closed = r.Branch.Depth
			}
		} else if r.Branch.Sum {
			continue
		}
		if everything || filter.matches(r) != t.invert {
			t.shown = append(t.shown, i)
		}
	}
}

// measure computes widths and bare. If all rows are visible and not a tree, it does that once for each set of rows.
func (t *table) measure() {
	var whole *Row
	if n := len(t.rows); n > 0 && n == len(t.shown) && !t.isTree() {
		whole = &t.rows[0]
		if t.measured == whole {
			return
		}
	}
	t.measured = whole
	t.widths = make([]int, len(t.columns))
	t.bare = make([]bool, len(t.columns))
	for i, c := range t.columns {
		t.widths[i] = width(c.Name)
		t.bare[i] = true
	}
	tree := t.isTree()
	for _, i := range t.shown {
		r := &t.rows[i]
		for column := range r.Cells {
			c := &r.Cells[column]
			w := c.width()
			if column == 0 && tree {
				w = width(t.branch(r))
			}
			if c.Trend {
				w++ // the arrow
			}
			t.widths[column] = max(t.widths[column], w)
			t.bare[column] = t.bare[column] && c.Text == ""
		}
	}
}

// width returns the number of columns of the cell's text. It is computed once.
func (c *Cell) width() int {
	if c.wide == 0 {
		c.wide = uint16(width(c.Text) + 1)
	}
	return int(c.wide) - 1
}

// foldedText returns the texts of all cells in lower case, for filters. It is computed once.
func (r *Row) foldedText() string {
	if r.folded == "" {
		var b strings.Builder
		for i := range r.Cells {
			b.WriteString(r.Cells[i].Text)
			b.WriteByte(0) // no cell has this character
		}
		r.folded = strings.ToLower(b.String())
	}
	return r.folded
}

// prepare computes what tables need of a row that several Pictures share. Afterwards, the row may be read by several
// goroutines.
func (r *Row) prepare() {
	for i := range r.Cells {
		r.Cells[i].width()
	}
	r.foldedText()
}
