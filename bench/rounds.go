package bench

import "slices"

// RoundRow is what one round of a Row measured; what was not measured is zero. Comparisons of reports need them: how far rounds
// are apart says which differences mean something.
type RoundRow struct {
	PerSecond float64 `json:"callsPerSecond"`
	P50       float64 `json:"p50Micros"`
	P99       float64 `json:"p99Micros"`
	ToBase    float64 `json:"toBase,omitempty"` // of the round of the base in the same turn
	ToProxy   float64 `json:"toReverseProxy,omitempty"`
	CPU       float64 `json:"cpuMicrosPerCall,omitempty"`
	Mallocs   float64 `json:"allocsPerCall,omitempty"`
	RSS       float64 `json:"rssMiB,omitempty"`
}

// roundRows are the rounds of a target beside those of the base and of the reverse proxy, of which there may be none.
// A round without a call says nothing and is left out.
func roundRows(rounds, base, proxy []round) []RoundRow {
	var rows []RoundRow
	for i, r := range rounds {
		if r.calls == 0 {
			continue
		}
		tenths := slices.Sorted(slices.Values(r.tenths))
		calls := float64(r.calls)
		row := RoundRow{PerSecond: r.rate(), P50: quantile(tenths, .5), P99: quantile(tenths, .99),
			CPU: float64(r.cpu.Microseconds()) / calls, Mallocs: r.mallocs / calls, RSS: float64(r.rss) / (1 << 20)}
		if i < len(base) && base[i].calls > 0 {
			row.ToBase = r.rate() / base[i].rate()
		}
		if i < len(proxy) && proxy[i].calls > 0 {
			row.ToProxy = r.rate() / proxy[i].rate()
		}
		rows = append(rows, row)
	}
	return rows
}
