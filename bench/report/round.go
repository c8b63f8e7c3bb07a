package report

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
