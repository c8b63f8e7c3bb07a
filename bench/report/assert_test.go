package report

import (
	"math"
	"strings"
	"testing"
)

func sampleReport() *Report {
	return &Report{Kind: "calls", Command: "goblin-actor bench calls --self --out x", Commit: "abc", Base: Direct, Rows: []Row{
		{Target: Direct, Concurrency: 64, PerSecond: 50000, P50: 100, P99: 900, ToBase: 1, ToProxy: 5},
		{Target: "gateway, http", Concurrency: 64, PerSecond: 17000, P50: 300, P99: 2500, ToBase: .34, ToProxy: 1.7, CPU: 44, Mallocs: 36, RSS: 40},
		{Target: "gateway, stdio", Concurrency: 64, PerSecond: 20000, P50: 250, P99: 2000, ToBase: .4, ToProxy: 2, CPU: 32, Mallocs: 33, RSS: 40},
		{Target: "gateway, http", Concurrency: 1, PerSecond: 9000, P50: 100, P99: 300, ToBase: .2, ToProxy: 1.1, CPU: 90, Mallocs: 35, RSS: 39},
		{Target: ReverseProxy, Concurrency: 64, PerSecond: 10000, P50: 500, P99: 5000, ToBase: .2, ToProxy: 1, CPU: 61, RSS: 30},
	}}
}

func TestAssertions(t *testing.T) {
	idle := &Report{Kind: "idle", Idle: &Idle{Sessions: 9, PerSession: 12.8, Phases: []IdlePhase{{Name: "before", RSS: 30}, {Name: "first wave", RSS: 55, Known: 9}, {Name: "after the first wave", RSS: 50}}}}
	cold := &Report{Kind: "cold", Cold: &Cold{Rows: []ColdRow{{Servers: 10, Tools: 20, Median: 20}, {Servers: 100, Tools: 10, Median: 69}}}}
	fanout := &Report{Kind: "fanout", Fanout: &Fanout{Rows: []FanoutRow{{Change: "updated", Clients: "legacy", Behind: "http", Subscribers: 1000, P99: 12, ToDirect: 1.3}}}}
	knee := LimitStep{Clients: 32, PerSecond: 9000, P99: 4000}
	limits := &Report{Kind: "limits", Limits: &Limits{Series: []LimitSeries{{Server: "files", Era: "legacy", MaxConcurrent: 64, Knee: &knee, Steps: []LimitStep{{Clients: 1, PerSecond: 1000, P99: 500}, knee}}, {Server: "slow", Era: "modern", Steps: []LimitStep{{Clients: 1, PerSecond: 3, Lost: 1}}}}}}
	growth := &Report{Kind: "growth", Growth: &Growth{Rows: []GrowthRow{{Of: "sessions", N: 1, CPU: 40}, {Of: "sessions", N: 10000, CPU: 60}, {Of: "servers", N: 100, CPU: 50}}}}
	if svg := string(growth.pictures()[0].svg); strings.Count(svg, "<polyline") != 2 {
		t.Error(svg)
	}
	faults := &Report{Kind: "faults", Faults: &Faults{Rows: []FaultRow{{Fault: "kill", Behind: "stdio", Clients: "legacy", Back: 30, During: 2, Error: -1}, {Fault: "hang", Behind: "http", Clients: "modern", Back: 1200}}}}
	cold.Cold.Complete = []CompleteRow{{What: "from the state file", All: 12}}
	for _, c := range []struct {
		report    *Report
		assertion string
		holds     bool
		measured  string
	}{
		{sampleReport(), "ratio(calls,c=64) >= 1.6", true, "1.70 × proxy (gateway, http, 64 clients)"},
		{sampleReport(), "ratio(calls) >= 1.6", false, "1.10 × proxy (gateway, http, 1 client)"},
		{sampleReport(), "ratio(calls, stdio, to=direct) > 0.4", false, "0.400 × base"},
		{sampleReport(), "ratio(http,c=64,to=base)>.3", true, "0.340 × base"},
		{sampleReport(), "ratio(http,to=nginx)>1", false, "not measured"},
		{sampleReport(), "p50(http,c=64,to=direct) <= 3", true, "3.00 × direct, p50 µs (gateway, http, 64 clients)"},
		{sampleReport(), "cpu(http,c=64,to=reverse-proxy) <= .7", false, "0.721 × reverse-proxy, CPU"},
		{sampleReport(), "ratio(stdio,to=gateway) > 1", false, "not measured"},
		{sampleReport(), "p99(calls,c=64) <= 2.5ms", true, "2500 p99 µs (gateway, http"},
		{sampleReport(), "p99(calls,c=64) < 2500", false, "2500 p99 µs"},
		{sampleReport(), "p50(direct) <= 100us", true, "100.0 p50 µs (direct"},
		{sampleReport(), "rate(c=64) >= 17000", true, "17000 calls/s"},
		{sampleReport(), "allocs() <= 36", true, "36.00 allocs/call"},
		{sampleReport(), "cpu(calls, stdio) < 33", true, "32.00 CPU"},
		{sampleReport(), "rss(calls) < 0.1 GiB", true, "40.00 RSS MiB"},
		{sampleReport(), "rss(proxy) < 31 MiB", true, "30.00 RSS"},
		{sampleReport(), "rss(prox) < 31 MiB", false, "not measured"}, // part of a word
		{sampleReport(), "rss(reverse-proxy) < 31 MiB", true, "30.00 RSS"},
		{sampleReport(), "rate(c=8) > 1", false, `"gateway, http"`},
		{sampleReport(), "rate(idle) > 1", false, "not measured"},
		{idle, "session(idle) <= 13 KiB", true, "12.80 KiB/session (first wave)"},
		{idle, "rss(idle, first wave) <= 55", true, "55.00 RSS MiB (first wave)"},
		{idle, "rss(idle) < 55", false, "55.00 RSS MiB (first wave)"},
		{fanout, "ratio(fanout, c=1000) <= 1.2", false, "1.30 × time"},
		{fanout, "ratio(fanout, to=direct) <= 1.3", true, "1.30 × time"},
		{fanout, "failed(fanout) <= 0", true, "0 failed"},
		{limits, "knee(limits, files) >= 32", true, "32.00 knee clients (files, legacy clients, maxConcurrent 64)"},
		{limits, "rate(limits, files, at the knee) >= 9000", true, "9000 calls/s"},
		{limits, "p99(limits, files, c=32) <= 1ms", false, "4000 p99 µs"},
		{limits, "failed(limits) <= 0", false, "1.00 failed (slow, modern clients, 1 client)"},
		{limits, "knee(limits, slow) >= 1", false, "not measured"},
		{growth, "cpu(growth, 10000 sessions) <= 55", false, "60.00 CPU µs/call (10000 sessions)"},
		{growth, "failed(growth) <= 0", true, "0 failed"},
		{faults, "back(faults, kill, stdio) <= 30ms", true, "30.00 back ms (kill, stdio, legacy clients)"},
		{faults, "back(faults) <= 1 s", false, "1200 back ms (hang"},
		{faults, "error(faults, kill) < 1ms", false, "not measured"},
		{faults, "p99(faults, kill) <= 2ms", true, "2000 p99 µs"},
		{cold, "complete(cold) <= 15ms", true, "12.00 complete ms (from the state file)"},
		{cold, "p50(cold) <= 50ms", false, "69000 p50 µs (100 servers of 10 tools)"},
		{cold, "p50(cold, 10 servers of 20 tools) <= 50ms", true, "20000 p50 µs"},
	} {
		a, err := ParseAssertion(c.assertion)
		if err != nil {
			t.Error(err)
			continue
		}
		v := c.report.Check([]Assertion{a})[0]
		if v.Holds != c.holds || !strings.Contains(v.Measured, c.measured) || a.String() != c.assertion {
			t.Errorf("%s: got %s, want %v with %q", c.assertion, v, c.holds, c.measured)
		}
	}
}

func TestInvalidAssertions(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "expected a metric with parentheses",
		"speed(calls) > 1":                "expected one of rate, ratio, p50",
		"ratio(calls > 1":                 "missing closing parenthesis",
		"ratio(calls) 1":                  "expected <, <=, > or >=",
		"ratio(calls) == 1":               "expected <, <=, > or >=",
		"ratio(calls) >= x":               "expected a number",
		"ratio(calls) >= 1e3":             `unit: got "e3"`,
		"ratio(calls) >= -1":              "expected a number",
		"ratio(calls) >= 1 ms":            "none: ratio is a plain number",
		"p99(calls) >= 1 KiB":             "none or one of ms, ns, s, us, µs",
		"p99(calls,) >= 1":                "empty part between commas",
		"p99(c=0) >= 1":                   "expected one number of clients",
		"p99(c=1,c=2) >= 1":               "expected one number of clients",
		"p99(to=a,to=b) >= 1":             "expected one target",
		"p99(to=direct) >= 1 ms":          "with to= the value is a ratio",
		"p99(clients=3) >= 1":             "expected c=CLIENTS",
		strings.Repeat("p99(", 500) + ")": "longer than 1000 bytes",
	} {
		if _, err := ParseAssertion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
}

// An assertion that the run cannot decide is rejected before the run.
func TestAssertionsFitTheRun(t *testing.T) {
	for text, fits := range map[string]bool{"p99(calls,c=64) < 1": true, "p99() < 1": true, "p99(big) < 1": false, "p99(limits) < 1": false, "p99(c=8) < 1": false} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Fits("calls", []int{1, 64}); (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseAssertion(f *testing.F) {
	for _, seed := range []string{"ratio(calls,c=64) >= 1.6", "p99(http, to=direct)<5ms", "rss()>1GiB", "p50(µ,c=1)<=1µs", "ratio(((", ")=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAssertion(text)
		if err != nil {
			return
		}
		again, err := ParseAssertion(a.String())
		if err != nil || again.limit != a.limit || len(again.words) != len(a.words) || math.IsNaN(a.limit) || a.limit < 0 {
			t.Errorf("%q: %+v, then %+v, %v", text, a, again, err)
		}
		if v := sampleReport().Check([]Assertion{a})[0]; v.Measured == "" {
			t.Errorf("%q: %+v", text, v)
		}
	})
}
