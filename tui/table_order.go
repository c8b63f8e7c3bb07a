package tui

import (
	"cmp"
	"slices"
	"time"
)

const (
	restTime = time.Second     // rows change places at most once in this time
	keyTime  = 2 * time.Second // after a key, rows keep their places for this time
)

// worse compares two rows by their severity, most urgent first. Rows without a severity are last.
func (t *table) worse(i, j int) int {
	rank := func(s Severity) Severity { return s - 1 } // the zero value wraps around
	return cmp.Compare(rank(t.rows[i].Mark), rank(t.rows[j].Mark))
}

// places returns the places of the visible rows by id.
func (t *table) places() map[string]int {
	places := make(map[string]int, len(t.shown))
	for place, i := range t.shown {
		places[t.rows[i].ID] = place
	}
	return places
}

// hold keeps rows in the order of before if they have changed places less than restTime ago, or if a key was pressed
// less than keyTime ago. New rows come in front of the row that they precede in the wanted order.
func (t *table) hold(before map[string]int, now time.Time) {
	place := func(i int) (int, bool) { p, ok := before[t.rows[i].ID]; return p, ok }
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
