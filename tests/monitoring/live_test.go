package monitoring

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

var (
	live = flag.Bool("prometheus", false, "query a Prometheus that scrapes a gateway under load (make dashboards)")
	draw = flag.Bool("draw", false, "draw docs/images/dashboard-*.svg from the results of the queries")
)

// configuration of the gateway under test: two healthy servers, one whose slow calls time out, and one that does not start.
const configuration = `
listen: 127.0.0.1:0
metaTools: false
audit: {file: audit.jsonl}
mcpServers:
  notes: {command: %[1]q, args: [demo, notes]}
  clock: {command: %[1]q, args: [demo, clock], replicas: 2}
  flaky: {command: %[1]q, args: [demo, clock], maxConcurrent: 4, timeout: 1s}
  broken: {command: sh, args: [-c, "echo ISSUES_TOKEN is not set >&2; exit 1"]}
policy:
  mode: report
  roles:
    user: {tools: {deny: [flaky_now]}, admin: view}
  bind:
    - {role: user, local: true}
`

// Durations of the test, and values for the variables of the dashboards.
const (
	loadTime  = 60 * time.Second
	alertTime = 60 * time.Second // maximum time after the load until the alerts fire
	window    = "15s"            // $__rate_interval
	focus     = "flaky"          // $server
)

// Every query of the dashboards returns data, and the alerts of the failing servers fire.
func TestLive(t *testing.T) {
	if !*live {
		t.Skip("needs Prometheus; run make dashboards")
	}
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; on Debian, run apt-get install prometheus", err)
		}
	}
	dir := gatetest.ShortDir(t)
	binary, err := gatetest.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "goblin.yaml", fmt.Sprintf(configuration, binary))
	cmd := exec.Command(binary, "serve", "--config", filepath.Join(dir, "goblin.yaml"), "--state-dir", dir)
	cmd.Env = gatetest.Environment(dir)
	gate := gatetest.Serve(t, cmd)
	gatetest.WaitReady(t, gate.Base)
	prom := startPrometheus(t, dir, strings.TrimPrefix(gate.Base, "http://"))
	began := time.Now()
	restart := func() {
		again := exec.Command(binary, "restart", focus)
		again.Env = cmd.Env
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("restart: %v: %s", err, out)
		}
	}
	generateLoad(t, gate.URL, loadTime, restart)
	ended := time.Now()

	t.Run("promtool", func(t *testing.T) { runPromtool(t, gate.Base) })
	t.Run("families", func(t *testing.T) { checkFamilies(t, prom) })
	for _, name := range boards {
		t.Run(name, func(t *testing.T) { checkBoard(t, prom, name, began, ended) })
	}
	t.Run("alerts", func(t *testing.T) { checkAlerts(t, prom) })
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runPromtool checks the files of contrib/prometheus, and the metrics of the gateway.
func runPromtool(t *testing.T, base string) {
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		out, err := gatetest.Try(filepath.Join(contrib, "prometheus"), "promtool", args...)
		if err != nil {
			t.Errorf("promtool %s: %v", strings.Join(args, " "), err)
		}
		t.Logf("promtool %s\n%s", strings.Join(args, " "), out)
	}
	_, page := gatetest.Get(base + "/metrics")
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(page)
	out, _ := check.CombinedOutput() // it fails because of one name, which a requirement prescribes
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "mcpResourceReadsTotal ") {
			t.Errorf("promtool check metrics: %s", line)
		}
	}
}

// checkFamilies compares what Prometheus has read with the gateway's families.
func checkFamilies(t *testing.T, prom *prometheus) {
	var metadata map[string][]struct{ Type, Help string }
	prom.get(t, "/api/v1/metadata", nil, &metadata)
	for _, f := range status.Families() {
		name, kind := f.Name, f.Type
		if kind == "counter" { // Prometheus reads OpenMetrics, where the name has no _total
			var isTotal bool
			if name, isTotal = strings.CutSuffix(f.Name, "_total"); !isTotal {
				kind = "unknown"
			}
		}
		if got := metadata[name]; len(got) != 1 || got[0].Type != kind || got[0].Help != f.Help {
			t.Errorf("Prometheus knows %s as %+v, want the type %s and the help %q", name, got, kind, f.Help)
		}
	}
}

// checkBoard runs the queries of a dashboard over the time of the load. Each must return data with the labels that its
// legend names, except mime_type and mcp_…, which may be empty. With -draw, it also draws the dashboard.
func checkBoard(t *testing.T, prom *prometheus, name string, began, ended time.Time) {
	b := readBoard(t, name)
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		if values := prom.labelValues(t, substituted(v.Definition)); len(values) == 0 || v.Name == "server" && !slices.Contains(values, focus) {
			t.Errorf("variable %s has the values %v", v.Name, values)
		}
	}
	results := map[int][]result{}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			r := prom.query(t, substituted(q.Expr), q.Instant, began, ended)
			r.legend = q.LegendFormat
			points := 0
			for _, s := range r.series {
				points += len(s.points)
				for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(q.LegendFormat, -1) {
					if s.labels[label[1]] == "" && label[1] != "mime_type" && !strings.HasPrefix(label[1], "mcp_") {
						t.Errorf("panel %s: the series %v have no label %s", p.Title, s.labels, label[1])
					}
				}
			}
			if points == 0 {
				t.Errorf("panel %s has no data for %s", p.Title, q.Expr)
			}
			t.Logf("%-34s %s: %d series, %d points", p.Title, q.RefID, len(r.series), points)
			results[p.ID] = append(results[p.ID], r)
		}
	}
	if *draw {
		if err := os.WriteFile(filepath.Join("..", "..", "docs", "images", "dashboard-"+name+".svg"), drawBoard(b, results), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// substituted returns a query with values for the variables of the dashboards.
func substituted(query string) string {
	return strings.NewReplacer("$__rate_interval", window, "$job", ".*", "$instance", ".*", "$server", focus).Replace(query)
}

// checkAlerts waits for the alerts of the failing servers. Other servers must have none.
func checkAlerts(t *testing.T, prom *prometheus) {
	want := map[string]bool{"GoblinServerDown broken": true, "GoblinCallsFail " + focus: true}
	for end := time.Now().Add(alertTime); ; time.Sleep(time.Second) {
		var found struct {
			Alerts []struct {
				Labels map[string]string
				State  string
				Value  string
			}
		}
		prom.get(t, "/api/v1/alerts", nil, &found)
		firing, all := 0, ""
		for _, a := range found.Alerts {
			server := a.Labels["server"]
			all += fmt.Sprintf("%s %s: %s, value %s\n", a.Labels["alertname"], server, a.State, a.Value)
			if server != focus && server != "broken" {
				t.Errorf("unexpected alert %v", a.Labels)
			}
			if a.State == "firing" && want[a.Labels["alertname"]+" "+server] {
				firing++
			}
		}
		switch {
		case firing == len(want):
			t.Log("\n" + all)
			return
		case time.Now().After(end):
			t.Fatalf("not all of %v fire:\n%s", want, all)
		}
	}
}

// result is the answer to a query.
type result struct {
	legend string
	series []series
}

type series struct {
	labels map[string]string
	points []point
}

type point struct {
	at, value float64 // at is in seconds since 1970
}

// name returns the name of a series in the legend.
func (r *result) name(s *series) string {
	text := r.legend
	for label, value := range s.labels {
		text = strings.ReplaceAll(text, "{{"+label+"}}", value)
	}
	return strings.TrimSpace(regexp.MustCompile(`{{\w+}}`).ReplaceAllString(text, ""))
}

// UnmarshalJSON reads a pair of a time and a number in quotes.
func (p *point) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &[]any{&p.at, &text}); err != nil {
		return err
	}
	_, err := fmt.Sscan(text, &p.value)
	return err
}

// isNumber reports whether the value is neither NaN nor infinite.
func (p point) isNumber() bool { return !math.IsNaN(p.value) && !math.IsInf(p.value, 0) }
