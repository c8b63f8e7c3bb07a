package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// prometheus is a running Prometheus.
type prometheus struct{ base string }

// startPrometheus starts a Prometheus that scrapes target each second, with the alert rules of contrib/prometheus. Alerts wait for 2 s
// instead of minutes before they fire. alerts_test.yml tests the real waiting times.
func startPrometheus(t *testing.T, dir, target string) *prometheus {
	t.Helper()
	rules := regexp.MustCompile(`(?m)^( +for:) \d+m$`).ReplaceAllString(readPrometheusFile(t, "alerts.yml"), "$1 2s")
	config := readPrometheusFile(t, "prometheus.yml")
	for old, now := range map[string]string{"127.0.0.1:8730": target, "interval: 15s": "interval: 1s"} {
		if !strings.Contains(config, old) {
			t.Fatalf("prometheus.yml has no %q", old)
		}
		config = strings.ReplaceAll(config, old, now)
	}
	write(t, dir, "alerts.yml", rules)
	write(t, dir, "prometheus.yml", config)
	at := "127.0.0.1:" + gatetest.FreePort(t)
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+at)
	log := &gatetest.Output{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus wrote:\n%s", log)
		}
	})
	p := &prometheus{"http://" + at}
	gatetest.WaitFor(t, "the first scrape", func() (bool, string) {
		_, page := gatetest.Get(p.base + "/api/v1/targets")
		return strings.Contains(page, `"health":"up"`), page
	})
	return p
}

// get fetches the data of an API request.
func (p *prometheus) get(t *testing.T, path string, params url.Values, data any) {
	t.Helper()
	resp, err := http.Get(p.base + path + "?" + params.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := struct {
		Status string
		Error  string
		Data   any
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s %v: %v, %s", path, params, err, body)
	}
}

// query returns the series of expr: at the time ended if instant is set, otherwise from began to ended in steps of one second. It leaves out
// values that are infinite or not numbers.
func (p *prometheus) query(t *testing.T, expr string, instant bool, began, ended time.Time) (r result) {
	t.Helper()
	stamp := func(at time.Time) string { return fmt.Sprintf("%.3f", float64(at.UnixMilli())/1000) }
	path, params := "/api/v1/query_range", url.Values{"query": {expr}, "start": {stamp(began)}, "end": {stamp(ended)}, "step": {"1"}}
	if instant {
		path, params = "/api/v1/query", url.Values{"query": {expr}, "time": {stamp(ended)}}
	}
	var found struct {
		Result []struct {
			Metric map[string]string
			Value  *point
			Values []point
		}
	}
	p.get(t, path, params, &found)
	for _, s := range found.Result {
		if s.Value != nil {
			s.Values = []point{*s.Value}
		}
		s.Values = slices.DeleteFunc(s.Values, func(p point) bool { return !p.isNumber() })
		r.series = append(r.series, series{s.Metric, s.Values})
	}
	slices.SortFunc(r.series, func(a, b series) int { return strings.Compare(fmt.Sprint(a.labels), fmt.Sprint(b.labels)) })
	return r
}

// labelValues evaluates the query of a variable: label_values(selector, label).
func (p *prometheus) labelValues(t *testing.T, definition string) (values []string) {
	t.Helper()
	parts := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(definition)
	if parts == nil {
		t.Fatalf("%s is not of the form label_values(selector, label)", definition)
	}
	p.get(t, "/api/v1/label/"+parts[2]+"/values", url.Values{"match[]": {parts[1]}}, &values)
	return values
}
