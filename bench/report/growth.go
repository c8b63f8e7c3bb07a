package report

import (
	"fmt"
	"math"
)

// Growth holds the cost of a call, and of one more session, server, item or call, as their number grows.
type Growth struct {
	Behind  string      `json:"behind"`
	Clients string      `json:"clients"`
	Rows    []GrowthRow `json:"rows"`
	Faults  []string    `json:"faults,omitempty"` // costs that grow faster than linearly, and refused calls
}

// GrowthRow is the measurement of one size. A zero field was not measured.
type GrowthRow struct {
	Of    string  `json:"of"`
	N     int     `json:"n"`
	CPU   float64 `json:"cpuMicrosPerCall"` // of the gateway
	P50   float64 `json:"p50Micros"`        // of the calls
	KiB   float64 `json:"kibEach"`          // memory in use per unit added since the previous row; flight: per call in flight
	List  float64 `json:"cpuMicrosPerItem"` // items: CPU time of the gateway per listed item
	Use   float64 `json:"inUseMiB"`         // heap and stacks, after a garbage collection
	RSS   float64 `json:"rssMiB"`
	Ready float64 `json:"readyMillis"` // servers, items: from the gateway's start until it is ready

	First        float64 `json:"firstMillis,omitempty"`   // checks: from a server's first list until a client sees it
	Checked      float64 `json:"firstRatio,omitempty"`    // First divided by that of a gateway that does not check definitions
	Changed      float64 `json:"changedMillis,omitempty"` // from a server's list with one new tool until a client is notified
	CheckedAgain float64 `json:"changedRatio,omitempty"`  // Changed divided by that of a gateway that does not check definitions

	Refused int `json:"refused"` // calls refused with QUEUE_FULL or OVERLOADED, without sending anything to the server
}

// growthNoise is the exponent above which growth counts as faster than linear. At 1.3, the cost per unit doubles when
// the size grows tenfold. Smaller increases are noise on a shared machine.
const growthNoise = 1.3

// memoryNoise is the least memory in KiB that all units of the smaller size must use together for memory to be judged.
// Below it, differences are noise, because heaps grow in spans.
const memoryNoise = 1024

// growthFrom is the smallest size that a larger one is compared with. Below it, fixed costs dominate.
const growthFrom = 10

// Judge lists the costs that grow faster than linearly from one size to the next, and refused calls.
func (g *Growth) Judge() {
	for i, now := range g.Rows {
		if now.Refused > 0 {
			g.Faults = append(g.Faults, fmt.Sprintf("%s %d: %d calls were refused (QUEUE_FULL, OVERLOADED)", now.Of, now.N, now.Refused))
		}
		before := g.Rows[max(i-1, 0)]
		if i == 0 || before.Of != now.Of || before.N < growthFrom {
			continue
		}
		for _, c := range []struct {
			what          string
			before, later float64
		}{
			{"CPU per call", before.CPU, now.CPU},
			{"memory", before.KiB, now.KiB},
			{"CPU per listed item", before.List, now.List},
		} {
			if c.what == "memory" && before.KiB*float64(before.N) < memoryNoise {
				continue
			}
			if e := exponent(before.N, now.N, c.before, c.later); e > growthNoise {
				g.Faults = append(g.Faults, fmt.Sprintf("%s %d → %d: %s %.1f → %.1f, as n^%.2f", now.Of, before.N, now.N, c.what, c.before, c.later, e))
			}
		}
	}
}

// exponent returns e such that the total cost grows as n^e, given the cost per unit at both sizes, or 1 if either is
// unknown.
func exponent(few, many int, before, now float64) float64 {
	if before <= 0 || now <= 0 {
		return 1
	}
	return 1 + math.Log(now/before)/math.Log(float64(many)/float64(few))
}

func (g *Growth) tables() [][][]string {
	rows := [][]string{{"more", "n", "CPU µs/call", "p50 µs", "KiB each", "µs/item", "in use MiB", "ready ms"}}
	checks := [][]string{{"checked", "tools", "first ms", "× unchecked", "change ms", "× unchecked"}}
	for _, r := range g.Rows {
		if r.Of == "checks" {
			checks = append(checks, []string{"", fmt.Sprint(r.N), number("%.1f", r.First), number("%.2f", r.Checked),
				number("%.1f", r.Changed), number("%.2f", r.CheckedAgain)})
			continue
		}
		rows = append(rows, []string{r.Of, fmt.Sprint(r.N), number("%.1f", r.CPU), number("%.0f", r.P50), number("%.1f", r.KiB), number("%.2f", r.List),
			number("%.1f", r.Use), number("%.0f", r.Ready)})
	}
	tables := [][][]string{rows}
	if len(checks) > 1 {
		tables = append(tables, checks)
	}
	if len(rows) == 1 {
		tables = tables[1:]
	}
	if len(g.Faults) == 0 {
		return tables
	}
	faults := [][]string{{"faults"}}
	for _, f := range g.Faults {
		faults = append(faults, []string{f})
	}
	return append(tables, faults)
}
