package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// trendTime is how long a changed number is marked with an arrow.
const trendTime = 3 * time.Second

// table holds the rows of a view with their filter, order and selection. Drawing is in table_draw.go; keys are handled
// by App.
type table struct {
	columns []Column
	tail    bool // keep the last row selected as rows are appended, until the user moves the selection

	rows  []Row // all rows
	shown []int // indices of the visible rows, in display order

	keep       func(*Row) bool // restricts rows to the view's server and session; nil = all
	query      string
	invert     bool
	onlyFaults bool
	order      int // sort column + 1; 0 = the order of rows
	descending bool

	selected string // Row.ID; "" = no row
	at       int    // index of the selected row in shown
	top      int    // first visible line
	left     int    // first visible column
	height   int    // lines that fit on the screen when it was last drawn

	trends map[trendKey]trend
	widths []int // per column, the width of the widest text in shown rows
}

type trendKey struct {
	id     string
	column int
}

type trend struct {
	last float64
	up   bool
	at   time.Time // time of the last change; zero = none
}

func newTable(k *Kind) *table {
	t := &table{columns: k.Columns, tail: k.Tail, trends: map[trendKey]trend{}}
	t.measure()
	return t
}

// update replaces the rows.
func (t *table) update(rows []Row, now time.Time) {
	end := t.tail && t.at >= len(t.shown)-1
	t.follow(rows, now)
	t.rows = rows
	t.apply()
	if end {
		t.move(len(t.shown))
	}
}

// follow compares numbers with their previous values and records the changes.
func (t *table) follow(rows []Row, now time.Time) {
	next := make(map[trendKey]trend, len(t.trends))
	for i := range rows {
		for column, c := range rows[i].Cells {
			if !c.Trend {
				continue
			}
			key := trendKey{rows[i].ID, column}
			was, known := t.trends[key]
			if known && was.last != c.Number {
				was.up, was.at = c.Number > was.last, now
			}
			was.last = c.Number
			next[key] = was
		}
	}
	t.trends = next
}

// arrow returns the mark after a number that has changed recently, ↑ or ↓, otherwise "".
func (t *table) arrow(id string, column int, now time.Time) string {
	tr := t.trends[trendKey{id, column}]
	switch {
	case tr.at.IsZero() || now.Sub(tr.at) >= trendTime:
		return ""
	case tr.up:
		return "↑"
	}
	return "↓"
}

// apply computes the visible rows. The selection stays on its row. If that row is no longer visible, the row now in its
// place is selected.
func (t *table) apply() {
	t.shown = t.shown[:0]
	filter := t.filter()
	for i := range t.rows {
		r := &t.rows[i]
		if t.keep != nil && !t.keep(r) || t.onlyFaults && r.Health != Bad && r.Health != Warn {
			continue
		}
		if !filter.all() && filter.matches(r) == t.invert {
			continue
		}
		t.shown = append(t.shown, i)
	}
	if t.order > 0 {
		slices.SortStableFunc(t.shown, t.compare)
	}
	t.measure()
	if at := slices.IndexFunc(t.shown, func(i int) bool { return t.rows[i].ID == t.selected }); at >= 0 {
		t.at = at
	}
	t.move(0)
}

func (t *table) compare(i, j int) int {
	column := t.order - 1
	a, b := cellOf(&t.rows[i], column), cellOf(&t.rows[j], column)
	c := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)))
	if t.descending {
		return -c
	}
	return c
}

// sort sorts by a column, numbers in descending order. A second call for the column reverses the order, a third
// restores the original order.
func (t *table) sort(column int) {
	first := t.columns[column].Right
	switch {
	case t.order != column+1:
		t.order, t.descending = column+1, first
	case t.descending == first:
		t.descending = !first
	default:
		t.order = 0
	}
	t.apply()
}

// move moves the selection down by n lines (up if n is negative), within the visible rows.
func (t *table) move(n int) {
	t.at = max(0, min(t.at+n, len(t.shown)-1))
	t.selected = ""
	if len(t.shown) > 0 {
		t.selected = t.rows[t.shown[t.at]].ID
	}
}

// row returns the selected row, or nil if no row is visible.
func (t *table) row() *Row {
	if len(t.shown) == 0 {
		return nil
	}
	return &t.rows[t.shown[t.at]]
}

// measure computes widths.
func (t *table) measure() {
	t.widths = make([]int, len(t.columns))
	for i, c := range t.columns {
		t.widths[i] = width(c.Name)
	}
	for _, i := range t.shown {
		for column, c := range t.rows[i].Cells {
			w := width(c.Text)
			if c.Trend {
				w++ // the arrow
			}
			t.widths[column] = max(t.widths[column], w)
		}
	}
}

func cellOf(r *Row, column int) Cell {
	if column < len(r.Cells) {
		return r.Cells[column]
	}
	return Cell{}
}

// fold converts text to lower case rune by rune, so that indices of runes stay the same.
func fold(s string) []rune {
	runes := []rune(s)
	for i, r := range runes {
		runes[i] = unicode.ToLower(r)
	}
	return runes
}

// find returns the index of query in text, searching from index from, or -1.
func find(text, query []rune, from int) int {
	for i := from; i+len(query) <= len(text); i++ {
		if slices.Equal(text[i:i+len(query)], query) {
			return i
		}
	}
	return -1
}

// marks returns a function that reports whether the query matches the rune at an index of text. It returns nil if the
// query matches nothing.
func marks(text string, query []rune) func(int) bool {
	if len(query) == 0 {
		return nil
	}
	folded := fold(text)
	var starts []int
	for i := find(folded, query, 0); i >= 0; i = find(folded, query, i+len(query)) {
		starts = append(starts, i)
	}
	if starts == nil {
		return nil
	}
	return func(i int) bool {
		return slices.ContainsFunc(starts, func(start int) bool { return i >= start && i < start+len(query) })
	}
}
