package bench

import (
	"slices"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/report"
	"goblin-actor/bench/stats"
)

// rowsOf returns a row for the rounds of each target. The first target is the base of the ratios.
func rowsOf(targets []*load.Target, clients int) []report.Row {
	var rows []report.Row
	base := targets[0].Rounds
	var proxy []load.Round
	for _, t := range targets {
		if t.Name == report.ReverseProxy {
			proxy = t.Rounds
		}
	}
	for _, t := range targets {
		row := report.Row{Target: t.Name, Concurrency: clients, ToBase: ratio(t.Rounds, base), ToProxy: ratio(t.Rounds, proxy),
			Each: roundRows(t.Rounds, base, proxy)}
		var tenths []uint32
		var rates []float64
		var cpu time.Duration
		var mallocs float64
		for _, r := range t.Rounds {
			tenths = append(tenths, r.Latencies...)
			rates = append(rates, r.Rate())
			cpu += r.CPU
			mallocs += r.Mallocs
			row.Calls += r.Calls
			row.Broken += r.Broken
			row.RSS = max(row.RSS, float64(r.RSS)/(1<<20))
		}
		slices.Sort(tenths)
		row.PerSecond, row.P50, row.P99 = stats.Median(rates), stats.QuantileMicros(tenths, .5), stats.QuantileMicros(tenths, .99)
		if row.Calls > 0 {
			row.CPU = float64(cpu.Microseconds()) / float64(row.Calls)
			row.Mallocs = mallocs / float64(row.Calls)
		}
		rows = append(rows, row)
	}
	return rows
}

// ratio returns the median of the ratios of adjacent rounds, or 0 if there are none. It omits rounds in which the base
// completed no call.
func ratio(rounds, base []load.Round) float64 {
	var ratios []float64
	for i := range min(len(rounds), len(base)) {
		if base[i].Calls > 0 {
			ratios = append(ratios, rounds[i].Rate()/base[i].Rate())
		}
	}
	return stats.Median(ratios)
}

// roundRows returns the rounds of a target with their ratios to the base and to the reverse proxy, which may have no
// rounds. It omits rounds without calls.
func roundRows(rounds, base, proxy []load.Round) []report.RoundRow {
	var rows []report.RoundRow
	for i, r := range rounds {
		if r.Calls == 0 {
			continue
		}
		tenths := slices.Sorted(slices.Values(r.Latencies))
		calls := float64(r.Calls)
		row := report.RoundRow{PerSecond: r.Rate(), P50: stats.QuantileMicros(tenths, .5), P99: stats.QuantileMicros(tenths, .99),
			CPU: float64(r.CPU.Microseconds()) / calls, Mallocs: r.Mallocs / calls, RSS: float64(r.RSS) / (1 << 20)}
		if i < len(base) && base[i].Calls > 0 {
			row.ToBase = r.Rate() / base[i].Rate()
		}
		if i < len(proxy) && proxy[i].Calls > 0 {
			row.ToProxy = r.Rate() / proxy[i].Rate()
		}
		rows = append(rows, row)
	}
	return rows
}
