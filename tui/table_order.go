package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	restTime = time.Second     // rows change places at most once in this time
	keyTime  = 2 * time.Second // after a key, a click or a turn of the wheel, rows keep their places for this time
)

// order is the order of all rows of a table. It is computed once for each set of rows, not for each key.
type order struct {
	by         int // table.order
	descending bool
	known      bool
	all        []int // indices of all rows; nil = the rows are in order
}

// sortKey is what a row is sorted by.
type sortKey struct {
	number float64
	text   string
	row    int
}

// inOrder returns the indices of all rows in the order in which they are shown, or nil if that is the order of the rows.
func (t *table) inOrder() []int {
	if o := &t.ordered; o.known && o.by == t.order && o.descending == t.descending {
		return o.all
	}
	t.ordered = order{by: t.order, descending: t.descending, known: true}
	switch {
	case t.order > 0:
		t.ordered.all = t.sorted()
	case t.kind.Worst:
		t.ordered.all = t.worstFirst()
	}
	return t.ordered.all
}

// sorted returns the indices of all rows, sorted by the column of t.order. Equal rows keep their order.
func (t *table) sorted() []int {
	keys := make([]sortKey, len(t.rows))
	for i := range t.rows {
		c := cellOf(&t.rows[i], t.order-1)
		keys[i] = sortKey{c.Number, strings.ToLower(c.Text), i}
	}
	sign := 1
	if t.descending {
		sign = -1
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		c := cmp.Compare(a.number, b.number)
		if c == 0 {
			c = strings.Compare(a.text, b.text)
		}
		if c != 0 {
			return c * sign
		}
		return a.row - b.row
	})
	all := make([]int, len(keys))
	for i := range keys {
		all[i] = keys[i].row
	}
	return all
}

// worstFirst returns the indices of all rows by their severity, most urgent first. Rows without a severity are last.
func (t *table) worstFirst() []int {
	all := make([]int, 0, len(t.rows))
	for n := range sevOff + 1 {
		mark := (n + 1) % (sevOff + 1)
		for i := range t.rows {
			if t.rows[i].Mark == mark {
				all = append(all, i)
			}
		}
	}
	return all
}

// earlier is the visible rows of a table before an update.
type earlier struct {
	rows  []Row
	shown []int
}

// places returns the places of the visible rows by id.
func (v *earlier) places() map[string]int {
	places := make(map[string]int, len(v.shown))
	for place, i := range v.shown {
		places[v.rows[i].ID] = place
	}
	return places
}

// same reports whether the visible rows of t are those of v, in the same places.
func (v *earlier) same(t *table) bool {
	if len(v.shown) != len(t.shown) {
		return false
	}
	for place, i := range t.shown {
		if t.rows[i].ID != v.rows[v.shown[place]].ID {
			return false
		}
	}
	return true
}

// hold keeps rows in the order of before if they have changed places less than restTime ago, or if the user pressed
// a key or used the mouse less than keyTime ago. New rows come in front of the row that they precede in the wanted order.
func (t *table) hold(before *earlier, now time.Time) {
	if before.same(t) {
		return
	}
	places := before.places()
	place := func(i int) (int, bool) { p, ok := places[t.rows[i].ID]; return p, ok }
	ordered, last := true, -1
	for _, i := range t.shown {
		if p, ok := place(i); ok {
			ordered = ordered && p > last
			last = p
		}
	}
	if ordered {
		return
	}
	if now.Sub(t.moved) >= restTime && now.Sub(t.touched) >= keyTime {
		t.moved = now
		return
	}
	type group struct {
		rows  []int // new rows, then one that was visible before
		place int
	}
	var groups []group
	var fresh []int
	for _, i := range t.shown {
		fresh = append(fresh, i)
		if p, ok := place(i); ok {
			groups = append(groups, group{fresh, p})
			fresh = nil
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return a.place - b.place })
	t.shown = t.shown[:0]
	for _, g := range groups {
		t.shown = append(t.shown, g.rows...)
	}
	t.shown = append(t.shown, fresh...)
}

// isTree reports whether the rows are shown as a tree. Filtered and sorted rows are a flat list.
func (t *table) isTree() bool {
	return t.branches && t.query == "" && t.order == 0 && !t.onlyFaults
}

// isClosed reports whether the rows below a group are hidden.
func (t *table) isClosed(r *Row) bool { return r.Branch.Closed != t.folded[r.ID] }

// fold folds or unfolds a group.
func (t *table) fold(r *Row) {
	if t.folded[r.ID] {
		delete(t.folded, r.ID)
	} else {
		t.folded[r.ID] = true
	}
	t.apply()
}
