package tui

import "time"

// trendTime is how long a changed number is marked with an arrow.
const trendTime = 3 * time.Second

// trendKey identifies a cell.
type trendKey struct {
	id     string
	column int
}

// trend is the last change of a number.
type trend struct {
	up bool
	at time.Time
}

// follow compares the numbers of the rows on the screen with their newer values and records the changes.
func (t *table) follow(rows []Row, now time.Time) {
	for key, tr := range t.trends {
		if !tr.recent(now) {
			delete(t.trends, key)
		}
	}
	var places map[string]int // in rows by id; made when a row has moved
	for _, was := range t.onScreen() {
		old, at := &t.rows[was], was
		if at >= len(rows) || rows[at].ID != old.ID {
			if places == nil {
				places = make(map[string]int, len(rows))
				for i := range rows {
					places[rows[i].ID] = i
				}
			}
			var still bool
			if at, still = places[old.ID]; !still {
				continue
			}
		}
		for column := range min(len(rows[at].Cells), len(old.Cells)) {
			c, before := &rows[at].Cells[column], &old.Cells[column]
			if c.Trend && before.Trend && c.Number != before.Number {
				t.trends[trendKey{old.ID, column}] = trend{c.Number > before.Number, now}
			}
		}
	}
}

// onScreen returns the indices of the rows that were drawn last, or of all visible rows if there was no drawing yet.
func (t *table) onScreen() []int {
	if t.height == 0 {
		return t.shown
	}
	from := min(t.top, len(t.shown))
	return t.shown[from:min(from+t.height, len(t.shown))]
}

// recent reports whether the change is marked at the time now. A clock that was set back ends the mark.
func (tr trend) recent(now time.Time) bool {
	passed := now.Sub(tr.at)
	return passed >= 0 && passed < trendTime
}

// arrow returns the mark after a number that has changed recently, ↑ or ↓, otherwise "".
func (t *table) arrow(id string, column int, now time.Time) string {
	tr, known := t.trends[trendKey{id, column}]
	switch {
	case !known || !tr.recent(now):
		return ""
	case tr.up:
		return "↑"
	}
	return "↓"
}
