package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
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

// rowsOf makes the rows of the targets' rounds; the first target is what the others are divided by.
func rowsOf(targets []*target, clients int) []Row {
	var rows []Row
	base := targets[0].rounds
	var proxy []round
	for _, t := range targets {
		if t.name == ReverseProxy {
			proxy = t.rounds
		}
	}
	for _, t := range targets {
		row := Row{Target: t.name, Concurrency: clients, ToBase: ratio(t.rounds, base), ToProxy: ratio(t.rounds, proxy),
			Each: roundRows(t.rounds, base, proxy)}
		var tenths []uint32
		var rates []float64
		var cpu time.Duration
		var mallocs float64
		for _, r := range t.rounds {
			tenths = append(tenths, r.tenths...)
			rates = append(rates, r.rate())
			cpu += r.cpu
			mallocs += r.mallocs
			row.Calls += r.calls
			row.Broken += r.broken
			row.RSS = max(row.RSS, float64(r.rss)/(1<<20))
		}
		slices.Sort(tenths)
		row.PerSecond, row.P50, row.P99 = median(rates), quantile(tenths, .5), quantile(tenths, .99)
		if row.Calls > 0 {
			row.CPU = float64(cpu.Microseconds()) / float64(row.Calls)
			row.Mallocs = mallocs / float64(row.Calls)
		}
		rows = append(rows, row)
	}
	return rows
}

// ratio is the median of the ratios of rounds that ran next to each other; 0 when there is nothing to divide by: a round
// of the base in which no call came to its end tells nothing.
func ratio(rounds, base []round) float64 {
	var ratios []float64
	for i := range min(len(rounds), len(base)) {
		if base[i].calls > 0 {
			ratios = append(ratios, rounds[i].rate()/base[i].rate())
		}
	}
	return median(ratios)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// quantile returns the q-quantile of sorted tenths of microseconds, in microseconds.
func quantile(sorted []uint32, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]) / 10
}

// newReport describes the circumstances.
func newReport(o Options) *Report {
	return &Report{Kind: o.Kind, Command: o.Command, Commit: o.Commit, When: time.Now().UTC().Truncate(time.Second),
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

// columns are the titles; base is what the targets are divided by.
func columns(base string) []string {
	return []string{"target", "clients", "calls/s", "p50 µs", "p99 µs", "× " + cmp.Or(base, Direct), "× proxy", "CPU µs/call", "allocs/call", "RSS MiB", "broken"}
}

func (r Row) cells() []string {
	return []string{r.Target, fmt.Sprint(r.Concurrency), fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.1f", r.P50), fmt.Sprintf("%.1f", r.P99),
		number("%.2f", r.ToBase), number("%.2f", r.ToProxy), number("%.1f", r.CPU), number("%.1f", r.Mallocs), number("%.1f", r.RSS), number("%.0f", float64(r.Broken))}
}

// number formats v; "–" where nothing was measured.
func number(format string, v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// table returns title line and rows of what was measured.
func (r *Report) table() [][]string {
	if r.Idle != nil {
		return r.Idle.table()
	}
	if r.Fanout != nil {
		return r.Fanout.table()
	}
	if r.Faults != nil {
		return r.Faults.table()
	}
	if r.Limits != nil {
		return r.Limits.table()
	}
	rows := [][]string{columns(r.Base)}
	for _, row := range r.Rows {
		rows = append(rows, row.cells())
	}
	return rows
}

// tables are all that was measured.
func (r *Report) tables() [][][]string {
	if r.Cold != nil {
		return r.Cold.tables()
	}
	if r.Growth != nil {
		return r.Growth.tables()
	}
	return [][][]string{r.table()}
}

// WriteTable writes the rows for a terminal.
func (r *Report) WriteTable(w io.Writer) error {
	if r.Limits != nil {
		var text bytes.Buffer
		r.Limits.write(&text)
		_, err := text.WriteTo(w)
		return err
	}
	for i, table := range r.tables() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range table {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// markdown is report.md, which shows the pictures beside it.
func (r *Report) markdown(pictures []picture) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# bench %s\n\n", r.Kind)
	fmt.Fprintf(&b, "- command: `%s`\n- commit: %s\n- when: %s\n- machine: %s/%s, %d cores, %s, %s\n", r.Command, r.Commit,
		r.When.Format(time.RFC3339), r.Machine.OS, r.Machine.Arch, r.Machine.Cores, r.Machine.CPU, r.Machine.Go)
	if r.Rounds > 0 {
		fmt.Fprintf(&b, "- each target at each concurrency: %g s in %d interleaved rounds; answers of %d bytes, each compared byte for byte\n",
			r.Seconds, r.Rounds, r.Bytes)
	}
	if r.Limits != nil {
		b.WriteString("\n" + limitLegend + "\n\n")
	} else {
		b.WriteString("\nRates and ratios are medians of rounds. CPU, allocations and RSS are those of the target's own process.\n\n")
	}
	for n, table := range r.tables() {
		if n > 0 {
			b.WriteByte('\n')
		}
		for i, row := range table {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
	}
	for i, v := range r.Claims {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", v)
	}
	if r.Limits != nil {
		r.Limits.markdown(&b)
	}
	for _, p := range pictures {
		fmt.Fprintf(&b, "\n![%s](%s)\n", p.title, p.file)
	}
	return b.Bytes()
}

// Save writes report.json, report.md and its plots into dir, which is made.
func (r *Report) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	pictures := r.pictures()
	for _, p := range pictures {
		if err := os.WriteFile(filepath.Join(dir, p.file), p.svg, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "report.md"), r.markdown(pictures), 0o644)
}
