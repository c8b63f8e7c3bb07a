package report

import (
	"bytes"
	"os"
	"runtime"
	"time"
)

// Report is the result of a run. Its JSON form is report.json.
type Report struct {
	Kind    string    `json:"kind"`
	Command string    `json:"command"`
	Commit  string    `json:"commit"`
	Gateway string    `json:"gateway,omitempty"` // version of the measured gateway, if it is another build
	When    time.Time `json:"when"`
	Machine Machine   `json:"machine"`
	Rounds  int       `json:"rounds,omitempty"`
	Seconds float64   `json:"seconds,omitempty"` // measured time per target and concurrency
	Bytes   int       `json:"bytes,omitempty"`   // size of one response
	Base    string    `json:"base,omitempty"`    // the target that ratios are relative to
	Rows    []Row     `json:"rows,omitempty"`
	Claims  []Verdict `json:"assertions,omitempty"` // results of the assertions
	Idle    *Idle     `json:"idle,omitempty"`
	Cold    *Cold     `json:"cold,omitempty"`
	Fanout  *Fanout   `json:"fanout,omitempty"`
	Faults  *Faults   `json:"faults,omitempty"`
	Limits  *Limits   `json:"limits,omitempty"`
	Growth  *Growth   `json:"growth,omitempty"`
	Cluster *Cluster  `json:"cluster,omitempty"`
}

// Machine describes the machine of the run.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// Row is the measurement of one target at one concurrency. A zero field was not measured.
type Row struct {
	Target      string  `json:"target"`
	Concurrency int     `json:"concurrency"`
	Calls       int     `json:"calls"`
	Broken      int     `json:"broken,omitempty"` // truncated responses (reverse-proxy only: with other targets, one fails the run)
	PerSecond   float64 `json:"callsPerSecond"`   // median of the rounds
	P50         float64 `json:"p50Micros"`
	P99         float64 `json:"p99Micros"`
	ToBase      float64 `json:"toBase"`                   // median of the rounds' ratios to the base
	ToProxy     float64 `json:"toReverseProxy,omitempty"` // median of the rounds' ratios to the reverse proxy
	CPU         float64 `json:"cpuMicrosPerCall,omitempty"`
	Mallocs     float64 `json:"allocsPerCall,omitempty"`
	RSS         float64 `json:"rssMiB,omitempty"`

	Each []RoundRow `json:"rounds,omitempty"` // in the order in which they ran
}

// New returns a report of a kind with the circumstances of the run and no measurements.
func New(kind, command, commit string) *Report {
	return &Report{Kind: kind, Command: command, Commit: commit, When: time.Now().UTC().Truncate(time.Second),
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU(), Go: runtime.Version()}}
}

// cpuModel returns the processor's name if /proc/cpuinfo contains it, else "".
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(text) {
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.HasPrefix(name, []byte("model name")) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
