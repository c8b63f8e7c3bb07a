package report

import (
	"bytes"
	"os"
	"runtime"
	"time"
)

// Report is what a Run found. The JSON of report.json.
type Report struct {
	Kind    string    `json:"kind"`
	Command string    `json:"command"`
	Commit  string    `json:"commit"`
	Gateway string    `json:"gateway,omitempty"` // what the measured gateway says its version is, if another build is
	When    time.Time `json:"when"`
	Machine Machine   `json:"machine"`
	Rounds  int       `json:"rounds,omitempty"`
	Seconds float64   `json:"seconds,omitempty"` // measured time of each target at each concurrency
	Bytes   int       `json:"bytes,omitempty"`   // of one answer
	Base    string    `json:"base,omitempty"`    // what the targets are divided by
	Rows    []Row     `json:"rows,omitempty"`
	Claims  []Verdict `json:"assertions,omitempty"` // what became of them
	Idle    *Idle     `json:"idle,omitempty"`
	Cold    *Cold     `json:"cold,omitempty"`
	Fanout  *Fanout   `json:"fanout,omitempty"`
	Faults  *Faults   `json:"faults,omitempty"`
	Limits  *Limits   `json:"limits,omitempty"`
	Growth  *Growth   `json:"growth,omitempty"`
}

// Machine is where it ran.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// Row is one target at one concurrency. Zero where it does not apply.
type Row struct {
	Target      string  `json:"target"`
	Concurrency int     `json:"concurrency"`
	Calls       int     `json:"calls"`
	Broken      int     `json:"broken,omitempty"` // answers cut short (reverse-proxy only: elsewhere one ends the run)
	PerSecond   float64 `json:"callsPerSecond"`   // median of the rounds
	P50         float64 `json:"p50Micros"`
	P99         float64 `json:"p99Micros"`
	ToBase      float64 `json:"toBase"`                   // median of the rounds' ratios to the base of the report
	ToProxy     float64 `json:"toReverseProxy,omitempty"` // likewise
	CPU         float64 `json:"cpuMicrosPerCall,omitempty"`
	Mallocs     float64 `json:"allocsPerCall,omitempty"`
	RSS         float64 `json:"rssMiB,omitempty"`

	Each []RoundRow `json:"rounds,omitempty"` // in the order they ran
}

// New returns a report of a kind with the circumstances of the run and no measurements.
func New(kind, command, commit string) *Report {
	return &Report{Kind: kind, Command: command, Commit: commit, When: time.Now().UTC().Truncate(time.Second),
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU(), Go: runtime.Version()}}
}

// cpuModel is what Linux calls the processor; "" elsewhere.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(text) {
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.HasPrefix(name, []byte("model name")) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
