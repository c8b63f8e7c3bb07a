package report

// RoundRow is the result of one round of a Row. A zero field was not measured. Comparisons of reports use the variation
// between rounds to decide which differences are significant.
type RoundRow struct {
	PerSecond float64 `json:"callsPerSecond"`
	P50       float64 `json:"p50Micros"`
	P99       float64 `json:"p99Micros"`
	ToBase    float64 `json:"toBase,omitempty"` // ratio to the same round of the base
	ToProxy   float64 `json:"toReverseProxy,omitempty"`
	CPU       float64 `json:"cpuMicrosPerCall,omitempty"`
	Mallocs   float64 `json:"allocsPerCall,omitempty"`
	RSS       float64 `json:"rssMiB,omitempty"`
}
