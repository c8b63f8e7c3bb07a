package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// reportBytes is the maximum size of a report file. Real ones have up to 200 KiB.
const reportBytes = 64 << 20

// Load returns the reports at path: one report.json, or all in a directory and its immediate subdirectories, sorted by
// name.
func Load(path string) ([]*Report, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		files = nil
		for _, pattern := range []string{"report.json", "*/report.json"} {
			found, err := filepath.Glob(filepath.Join(globSafe(path), pattern))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: neither this directory nor its subdirectories contain a report.json", path)
		}
	}
	var reports []*Report
	for _, file := range files {
		r, err := loadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// globSafe escapes the special characters of glob patterns.
func globSafe(path string) string {
	if filepath.Separator == '\\' { // Windows has no escape character; such names are not found
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func loadFile(file string) (*Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, reportBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > reportBytes {
		return nil, fmt.Errorf("larger than %d MiB; this is not a bench report", reportBytes>>20)
	}
	return parseReport(text)
}

func parseReport(text []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.Kind == "" {
		return nil, errors.New("not a bench report: the field kind is missing")
	}
	return &r, nil
}

// Comparison compares two groups of reports by benchstat's method: medians with their 95 % confidence intervals, and a
// Mann-Whitney U test of whether the rounds differ.
type Comparison struct {
	a, b  []*Report
	pairs []pair
	notes []string // reasons why the comparison may be invalid
}

// pair is one series of both groups.
type pair struct {
	series
	a, b       benchmath.Summary
	comparison benchmath.Comparison
}

// Compare compares two groups of reports of the same kind. Within a group, the rounds of all reports are pooled.
func Compare(a, b []*Report) (*Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, errors.New("compare: no reports")
	}
	for _, r := range slices.Concat(a, b) {
		if r.Kind != a[0].Kind {
			return nil, fmt.Errorf("compare: cannot compare bench %s with bench %s", a[0].Kind, r.Kind)
		}
	}
	c := &Comparison{a: a, b: b, notes: differences(a, b)}
	left, right := pooled(a), pooled(b)
	thresholds := benchmath.DefaultThresholds
	for _, s := range left {
		i := slices.IndexFunc(right, s.same)
		if i < 0 {
			c.note("only A has the %s of %s", s.metric.title, s.name())
			continue
		}
		x, y := benchmath.NewSample(s.values, &thresholds), benchmath.NewSample(right[i].values, &thresholds)
		p := pair{s, benchmath.AssumeNothing.Summary(x, .95), benchmath.AssumeNothing.Summary(y, .95), benchmath.AssumeNothing.Compare(x, y)}
		if !p.idle() {
			c.pairs = append(c.pairs, p)
		}
	}
	for _, s := range right {
		if !slices.ContainsFunc(left, s.same) {
			c.note("only B has the %s of %s", s.metric.title, s.name())
		}
	}
	c.warn()
	if len(c.pairs) == 0 {
		return nil, errors.New("compare: the reports have no target and number of clients in common")
	}
	return c, nil
}

// idle reports whether the pair is the base divided by itself, which carries no information.
func (p pair) idle() bool {
	return p.metric.name == "ratio" && !p.own && p.a.Center == 1 && p.b.Center == 1 && !p.differs()
}

func (s series) same(other series) bool {
	return s.metric.title == other.metric.title && s.target == other.target && s.clients == other.clients
}

// pooled returns the series of all reports, with the values of equal series merged.
func pooled(reports []*Report) []series {
	var all []series
	for _, r := range reports {
		for _, s := range r.series() {
			if i := slices.IndexFunc(all, s.same); i >= 0 {
				all[i].values = append(all[i].values, s.values...)
			} else {
				all = append(all, s)
			}
		}
	}
	return all
}

func (c *Comparison) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// warn adds notes about too few rounds, and about rates that differ for targets other than the gateway.
func (c *Comparison) warn() {
	most, unsure := 0, false
	for _, p := range c.pairs {
		most = max(most, min(p.comparison.N1, p.comparison.N2))
		unsure = unsure || min(p.comparison.N1, p.comparison.N2) > 1 && (math.IsInf(p.a.Lo, 0) || math.IsInf(p.b.Lo, 0))
		if p.differs() && !p.own && p.metric.name == "rate" {
			c.note("%s differs although it is not the gateway: rely on ratios, not on rates", p.name())
		}
	}
	switch {
	case len(c.pairs) > 0 && most < 4:
		c.note("fewer than 4 rounds on a side cannot show a significant difference; increase --rounds")
	case unsure:
		c.note("± ∞: a confidence interval needs at least 6 rounds")
	}
}

func (p pair) differs() bool { return p.comparison.P <= p.comparison.Alpha }

// differences lists what differs between the groups and may invalidate the comparison: machine, command and base.
func differences(a, b []*Report) []string {
	var notes []string
	compare := func(what string, of func(*Report) string) {
		if x, y := distinct(a, of), distinct(b, of); x != y {
			notes = append(notes, fmt.Sprintf("%s differs:\n  A: %s\n  B: %s", what, x, y))
		}
	}
	compare("machine", func(r *Report) string {
		m := r.Machine
		return fmt.Sprintf("%s/%s, %d cores, %s, %s", m.OS, m.Arch, m.Cores, cmp.Or(m.CPU, "unknown CPU"), m.Go)
	})
	compare("command", func(r *Report) string { return withoutIrrelevant(r.Command) })
	compare("base of the ratios", func(r *Report) string { return cmp.Or(r.Base, Direct) })
	return notes
}

// irrelevant matches the command-line options that do not change what is measured.
var irrelevant = regexp.MustCompile(` --(out|gateway|assert)[= ]('[^']*'|"[^"]*"|[^ ]+)`)

// withoutIrrelevant returns a command without those options.
func withoutIrrelevant(command string) string { return irrelevant.ReplaceAllString(command, "") }

// distinct joins the distinct values, at most the first three.
func distinct(reports []*Report, of func(*Report) string) string {
	var all []string
	for _, r := range reports {
		if text := printable(of(r)); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) > 3 {
		all = append(all[:3], "…")
	}
	return strings.Join(all, "; ")
}

// printable removes control characters, because a report may come from an untrusted source.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F && r < 0xA0 {
			return -1
		}
		return r
	}, text)
}

// tableWidth is the usual width of a terminal, in characters.
const tableWidth = 80

// WriteTable writes the comparison with at most 80 characters per line, except for notes and version names.
func (c *Comparison) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "bench %s\n", printable(c.a[0].Kind))
	for _, side := range []struct {
		name    string
		reports []*Report
	}{{"A", c.a}, {"B", c.b}} {
		fmt.Fprintf(&b, "  %s: %s, %s, %d report", side.name, distinct(side.reports, (*Report).measured), side.reports[0].When.Format("2006-01-02 15:04"), len(side.reports))
		if len(side.reports) > 1 {
			b.WriteByte('s')
		}
		b.WriteByte('\n')
	}
	for _, note := range c.notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	at := ""
	for _, p := range c.pairs {
		if name := p.name(); name != at {
			at = name
			fmt.Fprintf(&b, "\n%s\n", cut(printable(name), tableWidth))
		}
		b.WriteString(p.line() + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// measured names the build that a report is about.
func (r *Report) measured() string {
	if r.Gateway != "" {
		return r.Gateway
	}
	return "commit " + cmp.Or(r.Commit, "unknown")
}

// line returns a row of the table: metric, A, B, change, p value and numbers of rounds.
func (p pair) line() string {
	change := p.comparison.FormatDelta(p.a.Center, p.b.Center)
	word := ""
	if change != "~" && p.a.Center != p.b.Center {
		if word = "worse"; (p.b.Center > p.a.Center) == p.metric.more {
			word = "better"
		}
	}
	return strings.TrimRight(fmt.Sprintf("  %-12s%s%s%9s %-6s %s", p.metric.title, summary(p.a), summary(p.b), percent(change), word, p.comparison), " ")
}

// percent rounds a change to one decimal place; further digits are below the noise.
func percent(change string) string {
	var v float64
	if _, err := fmt.Sscanf(change, "%g%%", &v); err != nil {
		return change
	}
	return fmt.Sprintf("%+.1f%%", v)
}

func summary(s benchmath.Summary) string {
	return fmt.Sprintf("%9s ±%4s", figure(s.Center), s.PctRangeString())
}

// figure formats a number with about four significant digits.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 1e7:
		return fmt.Sprintf("%.3g", v)
	case a >= 1000:
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// cut shortens text to at most n characters.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
