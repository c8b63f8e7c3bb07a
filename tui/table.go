package tui

import (
	"slices"
	"time"
	"unicode"
)

// table holds the rows of a panel with their filter, order and selection. Drawing is in table_draw.go; keys are handled
// by App.
type table struct {
	kind    *Kind
	columns []Column

	rows     []Row // all rows
	shown    []int // indices of the visible rows, in display order
	branches bool  // the rows form a tree
	ordered  order // of rows
	basis    basis // of shown

	keep       func(*Row) bool // restricts rows to the view's server, session and project; nil = all
	query      string
	invert     bool
	onlyFaults bool
	minRank    int             // minimum Row.Rank
	all        bool            // show all columns and rows
	folded     map[string]bool // by Row.ID: the user has changed whether the group is folded

	order      int // sort column + 1; 0 = the kind's order
	descending bool
	moved      time.Time // when rows last changed places
	touched    time.Time // when the user last pressed a key or used the mouse

	selection
	trends   map[trendKey]trend
	widths   []int  // per column, the width of the widest text in shown rows
	bare     []bool // per column, whether no shown row has a text
	measured *Row   // the first row if widths and bare are those of all rows, otherwise nil
}

// selection is the selected row and the part of the table that is on the screen.
type selection struct {
	selected string // Row.ID; "" = no row
	at       int    // index of the selected row in shown
	held     bool   // see forget: the table did not follow its end
	chosen   bool   // the user has selected the row; otherwise the first row is selected, or the last in a table that follows its end
	top      int    // first visible row
	left     int    // first visible column
	height   int    // rows that fit on the screen when it was last drawn
	wraps    bool   // long texts take several lines
}

func newTable(k *Kind) *table {
	t := &table{kind: k, columns: k.Columns, trends: map[trendKey]trend{}, folded: map[string]bool{}}
	if k.Levels {
		t.minRank = rankInfo
	}
	t.measure()
	return t
}

// update replaces the rows. A row that the user has selected stays selected and, if possible, on its line of the screen.
func (t *table) update(rows []Row, now time.Time) {
	end, was := t.following(), t.at
	before := earlier{t.rows, slices.Clone(t.shown)}
	t.follow(rows, now)
	t.rows = rows
	t.ordered, t.measured = order{}, nil
	t.branches = slices.ContainsFunc(rows, func(r Row) bool { return r.Branch.Group })
	t.arrange(&before, now)
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
func (t *table) following() bool {
	if t.rows == nil && t.shown == nil {
		return t.kind.Tail && !t.held
	}
	return t.kind.Tail && t.at >= len(t.shown)-1
}

// forget drops the rows of a table that is not visible. What the user has chosen stays.
func (t *table) forget() {
	t.held = !t.following()
	t.rows, t.shown, t.ordered, t.basis, t.measured = nil, nil, order{}, basis{}, nil
	clear(t.trends)
}

// restrict shows only the rows for which keep returns true; nil = all.
func (t *table) restrict(keep func(*Row) bool) {
	t.keep = keep
	t.basis = basis{}
}

// apply computes the visible rows after the user has changed a setting, and holds none in its place.
func (t *table) apply() { t.arrange(nil, time.Time{}) }

// sort sorts by a column: in descending order if it is right-aligned, as numbers are. A second call for the column reverses
// the order, a third restores the original order.
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
