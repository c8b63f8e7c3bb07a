package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"goblin-actor/bench/stats"
)

// measuredReport returns a report with rounds of one target at the given rates.
func measuredReport(commit string, rates ...float64) *Report {
	row := Row{Target: "gateway, http", Concurrency: 64, PerSecond: stats.Median(rates), P50: 300, Mallocs: 36}
	for _, rate := range rates {
		row.Each = append(row.Each, RoundRow{PerSecond: rate, P50: 300, Mallocs: 36})
	}
	return &Report{Kind: "calls", Command: "goblin-actor bench calls --self --out " + commit, Commit: commit, Machine: Machine{OS: "linux", Arch: "amd64", Cores: 2}, Rows: []Row{row}}
}

func compared(t *testing.T, a, b []*Report) string {
	t.Helper()
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > tableWidth && !strings.HasPrefix(line, "note") && !strings.HasPrefix(line, "  A:") && !strings.HasPrefix(line, "  B:") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	return out.String()
}

// lineOf returns the first line that contains what.
func lineOf(text, what string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}

func TestCompareFindsSignificantDifferences(t *testing.T) {
	old := measuredReport("old", 100, 102, 98, 101, 99, 100.5)
	faster := compared(t, []*Report{old}, []*Report{measuredReport("new", 110, 112, 108, 111, 109, 110.5)})
	if line := lineOf(faster, "calls/s"); !strings.Contains(line, "+10.0%") || !strings.Contains(line, "better") || !strings.Contains(line, "p=0.002 n=6") {
		t.Errorf("faster:\n%s", faster)
	}
	if line := lineOf(faster, "p50"); !strings.Contains(line, "~") {
		t.Errorf("equal values differ:\n%s", faster)
	}
	slower := compared(t, []*Report{old}, []*Report{measuredReport("new", 90, 92, 88, 91, 89, 90.5)})
	if line := lineOf(slower, "calls/s"); !strings.Contains(line, "-10.0%") || !strings.Contains(line, "worse") {
		t.Errorf("slower:\n%s", slower)
	}
	noisy := compared(t, []*Report{old}, []*Report{measuredReport("new", 103, 97, 100, 99.5, 102.5, 98.5)})
	if line := lineOf(noisy, "calls/s"); !strings.Contains(line, "~") || strings.Contains(line, "worse") || strings.Contains(line, "better") {
		t.Errorf("noise:\n%s", noisy)
	}
	if strings.Contains(faster, "note:") {
		t.Errorf("notes about equal reports:\n%s", faster)
	}
	few := compared(t, []*Report{measuredReport("old", 100)}, []*Report{measuredReport("new", 200)})
	if !strings.Contains(few, "fewer than 4 rounds") || !strings.Contains(lineOf(few, "calls/s"), "~") {
		t.Errorf("one round each:\n%s", few)
	}
	two, three := measuredReport("old", 100, 102, 98, 101, 99, 100.5), measuredReport("new", 90, 92, 88, 91, 89, 90.5)
	for _, r := range []*Report{two, three} {
		r.Rows[0].Target = Direct
		r.Rows[0].ToBase = 1
	}
	moved := compared(t, []*Report{two}, []*Report{three})
	if !strings.Contains(moved, "direct, 64 clients differs") || strings.Contains(moved, "× base") {
		t.Errorf("another machine:\n%s", moved)
	}
	pooled := compared(t, []*Report{old, old}, []*Report{measuredReport("new", 110, 112, 108, 111, 109, 110.5)})
	if !strings.Contains(pooled, "n=12+6") || !strings.Contains(pooled, "2 reports") {
		t.Errorf("two reports on one side:\n%s", pooled)
	}
}

func TestCompareReportsOtherDifferences(t *testing.T) {
	a, b := measuredReport("old", 1, 2, 3, 4, 5, 6), measuredReport("new", 1, 2, 3, 4, 5, 6)
	b.Machine.Cores, b.Command = 64, "goblin-actor bench calls --self --backends http:9 --assert 'p99(x) < 5 s' --out=y --gateway z\x1b[2J"
	b.Rows = append(b.Rows, Row{Target: "reverse-proxy", Concurrency: 64, PerSecond: 5})
	text := compared(t, []*Report{a}, []*Report{b})
	for _, want := range []string{"machine differs:\n  A: linux/amd64, 2 cores", "B: linux/amd64, 64 cores", "command differs:\n  A: goblin-actor bench calls --self\n  B: goblin-actor bench calls --self --backends http:9\n", "only B has the calls/s of reverse-proxy, 64 clients"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("control characters in a table: %q", text)
	}
	b.Kind = "idle"
	if _, err := Compare([]*Report{a}, []*Report{b}); err == nil || !strings.Contains(err.Error(), "bench calls with bench idle") {
		t.Errorf("reports of other kinds: %v", err)
	}
	if _, err := Compare([]*Report{a}, []*Report{{Kind: "calls"}}); err == nil {
		t.Error("nothing in common: no error")
	}
}

func TestLoadReports(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old-1", "old-2"} {
		if err := measuredReport(name, 1, 2).Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if reports, err := Load(dir); err != nil || len(reports) != 2 || reports[1].Commit != "old-2" || len(reports[0].Rows[0].Each) != 2 {
		t.Errorf("directory: %v %+v", err, reports)
	}
	if reports, err := Load(filepath.Join(dir, "old-1", "report.json")); err != nil || len(reports) != 1 {
		t.Errorf("file: %v %+v", err, reports)
	}
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"name": "package"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

// Reports may come from an untrusted source. Comparing them must not panic.
func FuzzCompare(f *testing.F) {
	for _, r := range []*Report{sampleReport(), measuredReport("x", 1, 2, 3), {Kind: "idle", Idle: &Idle{PerSession: 1}}, {Kind: "cold", Cold: &Cold{Rows: []ColdRow{{Median: 1, Lists: []float64{1, -2}}}}}} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseReport(text)
		if err != nil {
			return
		}
		c, err := Compare([]*Report{r}, []*Report{r, r})
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := c.WriteTable(&out); err != nil || strings.ContainsAny(out.String(), "\x1b\x00\r") {
			t.Errorf("%v %q", err, out.String())
		}
		r.pictures()
	})
}
