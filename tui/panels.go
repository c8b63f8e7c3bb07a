package tui

// Sizes of the screen at which its layout changes.
const (
	fullWidth  = 60  // minimum columns for the lines above and below the tables
	fullHeight = 15  // minimum lines for them
	tallWidth  = 100 // minimum columns for tables side by side and more lines above them
	tallHeight = 30  // minimum lines for these
	bareWidth  = 20  // with fewer columns, the screen shows only a line about the gateway's state
	bareHeight = 5   // likewise with fewer lines
)

// rect is a part of the screen.
type rect struct{ x, y, w, h int }

// visible reports whether a panel has anything to show.
func (p *panel) visible() bool { return len(p.table.rows) > 0 }

// need returns the number of lines that a panel can use, including its title.
func (p *panel) need() int {
	n := 1 + max(1, len(p.table.shown))
	if !p.kind.Bare {
		n++
	}
	return n
}

// Limits of the overview's panels, in lines.
const (
	maxServerLines = 16
	maxSideLines   = 12
	maxWaitLines   = 5
	maxDenialLines = 4
	minSideLines   = 4
)

// places lays the panels of a view out in a part of the screen. Panels with nothing to show, and those for which there is
// no room, have no height. A small screen shows only the panel that keys act on.
func (v *view) places(r rect, full, tall bool) []rect {
	out := make([]rect, len(v.panels))
	if len(v.panels) == 1 || !full {
		out[v.focus] = r
		return out
	}
	if v.kind != overviewKind {
		return v.stacked(r)
	}
	return v.overviewPlaces(r, tall)
}

// overviewPlaces lays out the panels of the overview.
func (v *view) overviewPlaces(r rect, tall bool) []rect {
	out := make([]rect, len(v.panels))
	need := func(i, most int) int {
		if !v.panels[i].visible() {
			return 0
		}
		return min(v.panels[i].need(), most)
	}
	const servers, failures, log, waits, denials = 0, 1, 2, 3, 4
	top := v.panels[servers].need()
	if !tall { // one panel below the servers: the one that keys act on
		lower := failures
		if v.focus != servers {
			lower = v.focus
		}
		below := min(need(lower, maxSideLines), max(0, r.h-top, minSideLines))
		if r.h < 2*minSideLines {
			out[v.focus] = r
			return out
		}
		out[servers] = rect{r.x, r.y, r.w, r.h - below}
		out[lower] = rect{r.x, r.y + r.h - below, r.w, below}
		return out
	}
	side, wait, denied := max(need(failures, maxSideLines), need(log, maxSideLines)), need(waits, maxWaitLines), need(denials, maxDenialLines)
	first := min(top, max(maxServerLines, r.h-side-wait-denied))
	// what is left over goes to the panels that can use it
	free := r.h - first - side - wait - denied
	more := min(max(0, free), max(need(failures, r.h), need(log, r.h))-side)
	side += more
	free -= more
	if more = min(max(0, free), need(waits, r.h)-wait); more > 0 {
		wait += more
		free -= more
	}
	if more = min(max(0, free), need(denials, r.h)-denied); more > 0 {
		denied += more
	}
	out[servers] = rect{r.x, r.y, r.w, first}
	y := r.y + first
	half := r.w/2 - 1
	switch {
	case need(failures, 1) > 0 && need(log, 1) > 0:
		out[failures] = rect{r.x, y, half, side}
		out[log] = rect{r.x + half + 2, y, r.w - half - 2, side}
	case need(failures, 1) > 0:
		out[failures] = rect{r.x, y, r.w, side}
	case need(log, 1) > 0:
		out[log] = rect{r.x, y, r.w, side}
	}
	out[waits] = rect{r.x, y + side, r.w, wait}
	out[denials] = rect{r.x, y + side + wait, r.w, denied}
	return out
}

// stacked lays out the first panel and, below it, the one that keys act on or else the first with anything to show. The upper
// one takes more than half of the lines only if the lower one does not need them.
func (v *view) stacked(r rect) []rect {
	out := make([]rect, len(v.panels))
	lower := v.focus
	for i := 1; i < len(v.panels) && lower == 0; i++ {
		if v.panels[i].visible() {
			lower = i
		}
	}
	if lower == 0 || !v.panels[lower].visible() || r.h < 2*minSideLines {
		out[v.focus] = r
		return out
	}
	upper := min(v.panels[0].need()+1, max(r.h/2, r.h-v.panels[lower].need()-1))
	out[0] = rect{r.x, r.y, r.w, upper}
	out[lower] = rect{r.x, r.y + upper, r.w, r.h - upper}
	return out
}
