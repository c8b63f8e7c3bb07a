package operate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// ratesWindow is the time over which the status reports rates.
const ratesWindow = time.Minute

// serverRates are the rates of a server, or of the gateway, in the last minute. Durations are in seconds and accurate
// to 12 %.
type serverRates struct {
	Server         string  `json:"server"` // "" = all servers
	Calls          uint64  `json:"calls"`
	CallsPerSecond float64 `json:"callsPerSecond"`
	ErrorShare     float64 `json:"errorShare"` // from 0 to 1
	P50            float64 `json:"p50"`
	P95            float64 `json:"p95"`
	P99            float64 `json:"p99"`
}

// reported is the JSON of the command status: the status with rates in place of the series that they are computed from, and
// what has happened lately.
type reported struct {
	*status.Snapshot
	Rates []serverRates `json:"rates,omitempty"`
	lately
}

// report returns the JSON of a status.
func report(s *status.Snapshot, l lately) reported {
	copied := *s
	copied.Series = nil
	return reported{&copied, ratesOf(s), l}
}

// ratesOf returns the rates of the gateway, then those of each server, or nil if the gateway does not report series.
func ratesOf(s *status.Snapshot) (all []serverRates) {
	for i := range s.Series {
		t := s.Series[i].Over(ratesWindow, s.Now)
		all = append(all, serverRates{s.Series[i].Server, t.Calls, t.PerSecond(), t.ErrorShare(),
			t.Quantile(.5).Seconds(), t.Quantile(.95).Seconds(), t.Quantile(.99).Seconds()})
	}
	return all
}

// printRates prints the rates of the gateway and of the servers that had calls.
func printRates(b *strings.Builder, all []serverRates, p terminal.Palette) {
	var rows [][]string
	for _, r := range all {
		if r.Calls == 0 {
			continue
		}
		name := terminal.OneLine(r.Server, 30)
		if r.Server == "" {
			name = "all"
		}
		rows = append(rows, []string{name, perSecond(r.CallsPerSecond), fmt.Sprintf("%.1f%%", 100*r.ErrorShare), inShort(r.P50), inShort(r.P95), inShort(r.P99)})
	}
	if len(all) == 0 {
		return
	}
	if len(rows) == 0 {
		b.WriteString("last minute: no calls\n")
		return
	}
	b.WriteByte('\n')
	output.RenderTable(b, p, []string{"LAST MINUTE", "CALLS/S", "ERRORS", "P50", "P95", "P99"}, rows)
}

// perSecond formats a rate with at most three significant digits, or as a whole number from 100 on.
func perSecond(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// inShort formats a duration in seconds with two significant digits.
func inShort(seconds float64) string {
	d := time.Duration(seconds * 1e9)
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 100*unit {
			return d.Round(unit).String()
		}
	}
}
