package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// trendTime is how long a changed number is marked with an arrow.
const trendTime = 3 * time.Second

// table holds the rows of a panel with their filter, order and selection. Drawing is in table_draw.go; keys are handled
// by App.
type table struct {
	kind    *Kind
	columns []Column

	rows     []Row // all rows
	shown    []int // indices of the visible rows, in display order
	branches bool  // the rows form a tree

	keep       func(*Row) bool // restricts rows to the view's server and session; nil = all
	query      string
	invert     bool
	onlyFaults bool
	minRank    int             // minimum Row.Rank
	all        bool            // show all columns and rows
	folded     map[string]bool // by Row.ID: the user has changed whether the group is folded

	order      int // sort column + 1; 0 = the kind's order
	descending bool
	moved      time.Time // when rows last changed places
	touched    time.Time // when the user last pressed a key

	selection
	trends map[trendKey]trend
	widths []int  // per column, the width of the widest text in shown rows
	blank  []bool // per column, whether no shown row has a text
}

// selection is the selected row and the part of the table that is on the screen.
type selection struct {
	selected string // Row.ID; "" = no row
	at       int    // index of the selected row in shown
	chosen   bool   // the user has selected the row; otherwise the first row is selected, or the last in a table that follows its end
	top      int    // first visible row
	left     int    // first visible column
	height   int    // rows that fit on the screen when it was last drawn
	wraps    bool   // long texts take several lines
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
	t := &table{kind: k, columns: k.Columns, trends: map[trendKey]trend{}, folded: map[string]bool{}}
	if k.Levels {
		t.minRank = rankInfo
	}
	t.measure()
	return t
}

// update replaces the rows. The selected row stays selected and, if possible, on its line of the screen.
func (t *table) update(rows []Row, now time.Time) {
	end := t.following()
	before, was := t.places(), t.at
	t.follow(rows, now)
	t.rows = rows
	t.branches = slices.ContainsFunc(rows, func(r Row) bool { return r.Branch.Group })
	t.arrange(before, now)
	switch {
	case end:
		t.move(len(t.shown))
	case !t.chosen && !t.kind.Tail:
		t.at = 0
		t.move(0)
	case t.top > 0 || t.at < was:
		t.top = max(0, t.top+t.at-was)
	}
}

// following reports whether the selection stays at the end as rows are appended.
func (t *table) following() bool { return t.kind.Tail && t.at >= len(t.shown)-1 }

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

// apply computes the visible rows after a key, in their order.
func (t *table) apply() { t.arrange(nil, time.Time{}) }

// arrange computes the visible rows. The selection stays on its row. If that row is no longer visible, the row now in its
// place is selected. If before is not nil, rows may be held in the places that they had: see hold.
func (t *table) arrange(before map[string]int, now time.Time) {
	t.shown = t.shown[:0]
	filter := t.filter()
	tree := t.isTree()
	closed := -1 // depth of the folded group above the row; -1 = none
	for i := range t.rows {
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
		if !filter.all() && filter.matches(r) == t.invert {
			continue
		}
		t.shown = append(t.shown, i)
	}
	switch {
	case t.order > 0:
		slices.SortStableFunc(t.shown, t.compare)
	case t.kind.Worst:
		slices.SortStableFunc(t.shown, t.worse)
	}
	if before != nil && !tree && !t.kind.Tail {
		t.hold(before, now)
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

// move moves the selection down by n rows (up if n is negative), within the visible rows.
func (t *table) move(n int) {
	t.at = max(0, min(t.at+n, len(t.shown)-1))
	if n != 0 {
		t.chosen = t.at > 0
	}
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
	t.blank = make([]bool, len(t.columns))
	for i, c := range t.columns {
		t.widths[i] = width(c.Name)
		t.blank[i] = true
	}
	tree := t.isTree()
	for _, i := range t.shown {
		for column, c := range t.rows[i].Cells {
			w := width(c.Text)
			if column == 0 && tree {
				w = width(t.branch(&t.rows[i]))
			}
			if c.Trend {
				w++ // the arrow
			}
			t.widths[column] = max(t.widths[column], w)
			t.blank[column] = t.blank[column] && c.Text == ""
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

// contains reports whether a text contains a folded query. It is find without the conversion for texts in ASCII.
func contains(s string, query []rune) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return find(fold(s), query, 0) >= 0
		}
	}
next:
	for i := 0; i+len(query) <= len(s); i++ {
		for j, r := range query {
			c := s[i+j]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if rune(c) != r {
				continue next
			}
		}
		return true
	}
	return false
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
