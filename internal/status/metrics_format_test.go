package status

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"goblin-actor/protocol"
)

var update = flag.Bool("update", false, "rewrite the table of families in docs/metrics.md")

// busyMetrics returns metrics and a snapshot with at least one sample of each family.
func busyMetrics() (*Metrics, *Snapshot) {
	m := NewMetrics()
	files := m.Server("files")
	files.Read("text/plain", true)
	files.Call(protocol.MethodToolsCall, OutcomeOK, .002)
	files.QueueWait(.1)
	files.Denied(protocol.MethodToolsCall, true)
	m.Notification(protocol.NotificationProgress, Coalesced)
	m.Answered(&Answer{Method: protocol.MethodToolsCall, Error: "-32602", Version: "2025-11-25", Transport: "http"})
	files.Ended(Ended{Method: protocol.MethodToolsCall, Outcome: OutcomeError, Code: -32602, Sent: time.Unix(1, 0), Began: time.Unix(1, 0)})
	m.SessionEnded("http", "2025-11-25", time.Unix(1, 0))
	files.SessionEnded("http", "", time.Unix(1, 0))
	m.Cluster().On.Store(true)
	s := sampleSnapshot()
	s.Servers[0].Lease = LeaseHere
	s.Audit = &Audit{Sequence: 12}
	return m, s
}

// S0.10.3: Prometheus' own parser accepts the page. Each family has a type and a description, and no labels that
// Families does not list.
func TestFamiliesAreDescribed(t *testing.T) {
	m, s := busyMetrics()
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := WriteSnapshot(&b, s); err != nil {
		t.Fatal(err)
	}
	var parser expfmt.TextParser
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Families() {
		got := parsed[f.Name]
		if kind := strings.ToLower(got.GetType().String()); got == nil || kind != f.Type || got.GetHelp() != f.Help {
			t.Errorf("%s: type %s and help %q, want %s and %q", f.Name, kind, got.GetHelp(), f.Type, f.Help)
			continue
		}
		if f.Help == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: help %q, want a sentence", f.Name, f.Help)
		}
		for _, sample := range got.GetMetric() {
			for _, l := range sample.GetLabel() {
				if !slices.Contains(f.Labels, l.GetName()) {
					t.Errorf("%s has the label %s, want one of %v", f.Name, l.GetName(), f.Labels)
				}
			}
		}
		delete(parsed, f.Name)
	}
	for name, f := range parsed {
		if source, _, _ := strings.Cut(name, "_"); source != "go" && source != "process" {
			t.Errorf("%s is not one of Families", name)
		}
		if help := f.GetHelp(); help == "" || strings.Count(b.String(), "# TYPE "+name+" ") != 1 {
			t.Errorf("%s: help %q, want help and one type", name, help)
		}
	}
}

// labelLimits is the maximum number of values of each label, whatever clients and servers send. Labels that are not listed here come
// from the configuration or from constants, and have at most 20 values.
var labelLimits = map[string]int{"server": maxServers + 1, "serverId": maxServers + 1, "method": maxMethods, "kind": maxMethods, "mime_type": maxMIMETypes + 2, "mimeType": maxMIMETypes + 2}

// S0.10.4: no family grows without a limit.
func TestSeriesAreLimited(t *testing.T) {
	m := NewMetrics()
	for i := range maxServers + 100 {
		s := m.Server(fmt.Sprint("server-", i))
		for j := range 300 {
			if i < 3 || j == 0 {
				s.Read(fmt.Sprintf("text/x%d", j), j%2 == 0)
				s.Ended(Ended{Method: protocol.Method(j), Outcome: Outcome(j % outcomes), Item: fmt.Sprint("tool", j), Client: fmt.Sprint("client", j), Began: time.Unix(0, 0), Took: time.Second})
				s.Denied(protocol.Method(j), j%2 == 0)
				m.Notification(protocol.Method(j), Delivered)
			}
		}
	}
	var parser expfmt.TextParser
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(written(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range parsed {
		if source, _, _ := strings.Cut(name, "_"); source == "go" || source == "process" {
			continue // constant
		}
		values := map[string]map[string]bool{}
		for _, sample := range f.GetMetric() {
			for _, l := range sample.GetLabel() {
				if values[l.GetName()] == nil {
					values[l.GetName()] = map[string]bool{}
				}
				values[l.GetName()][l.GetValue()] = true
			}
		}
		for label, set := range values {
			limit, ok := labelLimits[label]
			if !ok {
				limit = 20
			}
			if len(set) > limit {
				t.Errorf("%s: %d values of the label %s, want at most %d", name, len(set), label, limit)
			}
		}
	}
}

// TestPageOfMetrics compares the table in docs/metrics.md with the code.
func TestPageOfMetrics(t *testing.T) {
	const begin, end = "<!-- families: generated from internal/status/metrics_help.go -->\n", "<!-- end of families -->\n"
	path := filepath.Join("..", "..", "docs", "metrics.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the table of families", path)
	}
	var table strings.Builder
	table.WriteString("| family | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range Families() {
		list := "–"
		if len(f.Labels) > 0 {
			list = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, list, strings.TrimSuffix(f.Help, "."))
	}
	want := head + begin + table.String() + end + tail
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	} else if want != string(page) {
		err = fmt.Errorf("the table in %s is outdated; run make docs", path)
	}
	if err != nil {
		t.Error(err)
	}
}
