package limits

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/bench/report"
)

func TestBottleneck(t *testing.T) {
	idle := report.CPU{Cores: 4, Load: .2, Gateway: .3, Servers: .1}
	for _, c := range []struct {
		name   string
		server Server
		series report.LimitSeries
		limit  time.Duration
		edit   func(steps []report.LimitStep)
		want   string // bottleneck
		why    string
		change string
	}{
		{name: "slots", server: Server{Name: "files", MaxConcurrent: 2}, edit: func(s []report.LimitStep) {
			for i := 2; i < len(s); i++ {
				s[i].Waited, s[i].Queued = s[i].P50-900, s[i].Clients-2
			}
		}, want: "maxConcurrent", why: "allows 2 concurrent calls to files", change: "raise mcpServers.files.maxConcurrent"},
		{name: "slots, on a busy machine", server: Server{Name: "files", MaxConcurrent: 2}, edit: func(s []report.LimitStep) {
			for i := range s {
				s[i].CPU = report.CPU{Cores: 2, Load: .5, Gateway: 1, Servers: .4}
				s[i].Waited = .5 * s[i].P50
			}
		}, want: "maxConcurrent", why: "processors are nearly exhausted as well"},
		{name: "slots that were not all used when the processors were exhausted", server: Server{Name: "files", MaxConcurrent: 8}, edit: func(s []report.LimitStep) {
			for i := range s {
				s[i].CPU = report.CPU{Cores: 2, Load: .3, Gateway: 1.1, Servers: .5}
			}
			s[len(s)-1].Waited = .5 * s[len(s)-1].P50
		}, want: "gateway CPU", change: "add cores"},
		{name: "slots, and later a full queue", server: Server{Name: "files", MaxConcurrent: 4}, edit: func(s []report.LimitStep) {
			s[3].Waited, s[4].Waited = .5*s[3].P50, .7*s[4].P50
			failing(s, 5, 30)
		}, want: "maxConcurrent", why: "with 16 clients"},
		{name: "leased connections", server: Server{Name: "db", MaxConcurrent: 64, Leased: 1}, edit: func(s []report.LimitStep) {
			s[len(s)-1].Waited = .9 * s[len(s)-1].P50
		}, want: "maxBackends", change: "mcpServers.db.maxBackends"},
		{name: "load generator", edit: func(s []report.LimitStep) { s[3].CPU = report.CPU{Cores: 2, Load: 1.2, Gateway: .6} }, want: "load generator CPU", change: "another machine"},
		{name: "others", edit: func(s []report.LimitStep) { s[3].CPU = report.CPU{Cores: 2, Load: .2, Gateway: .5, Other: 1.2} }, want: "other programs", change: "less busy"},
		{name: "others, but the load needs almost no processor time", edit: func(s []report.LimitStep) { s[3].CPU = report.CPU{Cores: 2, Load: .01, Gateway: .02, Other: 1.9} }, want: "server", why: "slow it down"},
		{name: "one core of a server", server: Server{Name: "node", Replicas: 1}, series: report.LimitSeries{Transport: "stdio"}, edit: func(s []report.LimitStep) {
			s[3].CPU = report.CPU{Cores: 4, Load: .4, Gateway: .6, Servers: .98, Busiest: .97}
		}, want: "server CPU", why: "single-threaded", change: "mcpServers.node.replicas: 2"},
		{name: "a server that sleeps", server: Server{Name: "slow"}, edit: func(s []report.LimitStep) {
			for i := range s {
				s[i].CPU = idle
			}
		}, want: "server", why: "with one", change: "second address"},
		{name: "a server that is not faster directly", server: Server{Name: "slow"}, series: report.LimitSeries{Direct: []report.LimitStep{{Clients: 4, PerSecond: 410}}},
			want: "server", why: "Called directly by 4 clients, slow is not faster"},
		{name: "unknown processor time", edit: func(s []report.LimitStep) {
			for i := range s {
				s[i].P50 = 1000
			}
		}, want: "not reached", why: "unknown on this system"},
		{name: "queue of a gateway with an unknown configuration", edit: func(s []report.LimitStep) { s[3].Queued, s[3].InFlight = 5, 3 }, want: "queue", why: "5 calls waited in the gateway while 3"},
		{name: "queue full", server: Server{Name: "files"}, edit: func(s []report.LimitStep) { failing(s, 3, 20) }, want: "errors", why: "QUEUE_FULL", change: "mcpServers.files.queue.size"},
		{name: "sessions", edit: func(s []report.LimitStep) {
			for i := 3; i < len(s); i++ {
				s[i].Calls, s[i].Refused = 0, map[string]int{"HTTP 503": 1}
			}
		}, want: "errors", change: "limits.maxSessions"},
		{name: "p99", limit: 12 * time.Millisecond, want: "not reached", why: "With more clients, the p99 latency exceeds --p99 12ms"},
	} {
		steps := ladder(100, 200, 400, 405, 400, 398)
		if c.limit > 0 {
			steps = ladder(200, 400, 600, 700)
		}
		if c.edit != nil {
			c.edit(steps)
		}
		s := c.series
		s.Raise = "clients"
		s.Steps = steps
		k := findKnee(steps, c.limit)
		s.Knee, s.Ended = &steps[k.at], k.ended
		explain(&s, c.server, c.limit)
		if s.Bottleneck != c.want || !strings.Contains(s.Why, c.why) || !strings.Contains(s.Change, c.change) {
			t.Errorf("%s: %s; %s; %s\nwant %s; %s; %s", c.name, s.Bottleneck, s.Why, s.Change, c.want, c.why, c.change)
		}
	}
}

// The limit that an error names determines what to change.
func TestRemedy(t *testing.T) {
	for name, want := range map[string]string{
		"QUEUE_FULL (queue.size)":                  "raise mcpServers.files.queue.size",
		"QUEUE_FULL (maxConcurrent)":               "set mcpServers.files.maxConcurrent",
		"OVERLOADED (limits.maxInFlightPerClient)": "raise limits.maxInFlightPerClient, if",
		"OVERLOADED (limits.maxBufferedBytes)":     "raise limits.maxBufferedBytes",
		"OVERLOADED":                               "no configuration setting",
		"error -7":                                 "",
	} {
		if got := remedy(name, Server{Name: "files"}); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
