package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// After any sequence of changes, a table shows the same rows as a new table with the same settings.
func TestArrangeAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	columns := []Column{{Name: "A", Sort: 'A'}, {Name: "B", Sort: 'B', Right: true}, {Name: "C"}}
	kind := &Kind{Name: "x", Columns: columns, Worst: true}
	rows := func() []Row {
		all := make([]Row, 60)
		for i := range all {
			all[i] = Row{ID: fmt.Sprint(i), Mark: Severity(rng.IntN(8)), Health: Health(rng.IntN(5)), Server: fmt.Sprint(rng.IntN(3)), Extra: rng.IntN(5) == 0,
				Cells: []Cell{text(strings.Repeat("aBÄ", rng.IntN(3)) + fmt.Sprint(i%7)), count(rng.IntN(9)), text("ß" + fmt.Sprint(rng.IntN(3)))}}
			if rng.IntN(2) == 0 {
				all[i].prepare()
			}
		}
		return all
	}
	now := noon
	tab := newTable(kind)
	tab.update(rows(), now)
	for step := range 5000 {
		now = now.Add(time.Minute) // rows are not held
		switch rng.IntN(9) {
		case 0:
			tab.update(rows(), now)
		case 1:
			tab.sort(rng.IntN(2))
		case 2:
			tab.onlyFaults = !tab.onlyFaults
		case 3:
			tab.all = !tab.all
		case 4:
			tab.invert = !tab.invert
		case 5:
			server := fmt.Sprint(rng.IntN(3))
			tab.restrict(func(r *Row) bool { return r.Server == server })
		case 6:
			tab.query = ""
		case 7:
			tab.query = []string{"b:", "a:!b", "b>3", "c:1"}[rng.IntN(4)]
		default:
			tab.query += []string{"a", "B", "ä", "1", "b"}[rng.IntN(5)]
		}
		tab.apply()
		fresh := newTable(kind)
		fresh.query, fresh.invert, fresh.onlyFaults, fresh.all, fresh.keep, fresh.order, fresh.descending = tab.query, tab.invert, tab.onlyFaults, tab.all, tab.keep, tab.order, tab.descending
		fresh.update(tab.rows, now)
		if tab.ids() != fresh.ids() || !slices.Equal(tab.widths, fresh.widths) || !slices.Equal(tab.bare, fresh.bare) {
			t.Fatalf("step %d, query %q: shows\n%s %v\nwant\n%s %v", step, tab.query, tab.ids(), tab.widths, fresh.ids(), fresh.widths)
		}
	}
}
