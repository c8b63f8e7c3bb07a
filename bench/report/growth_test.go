package report

import (
	"strings"
	"testing"
)

// A constant cost per unit is not a fault. A cost per unit that more than doubles at ten times the size is. Memory is
// not judged if the smaller size uses too little of it.
func TestGrowthIsJudged(t *testing.T) {
	g := &Growth{Rows: []GrowthRow{
		{Of: "sessions", N: 1, CPU: 10}, {Of: "sessions", N: 10, CPU: 50, KiB: 10}, {Of: "sessions", N: 100, CPU: 60, KiB: 30},
		{Of: "sessions", N: 1000, CPU: 60, KiB: 90},
		{Of: "items", N: 100_000, CPU: 1000, List: 100}, {Of: "flight", N: 1000, CPU: 10, Refused: 3},
	}}
	g.Judge()
	if got := strings.Join(g.Faults, "; "); got != "sessions 100 → 1000: memory 30.0 → 90.0, as n^1.48; flight 1000: 3 calls were refused (QUEUE_FULL, OVERLOADED)" {
		t.Error(got)
	}
	checkWidth(t, &Report{Growth: g})
}
