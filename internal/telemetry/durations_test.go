package telemetry_test

import (
	"net/http"
	"testing"

	metricdata "go.opentelemetry.io/proto/otlp/metrics/v1"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/telemetry/otlptest"
)

// The duration of a client's session is counted when it ends, and that of a connection to a server when it is lost.
func TestSessionDurations(t *testing.T) {
	r, fake := otlptest.New(t, nil), legacyServer()
	g := start(t, r.URL, fake.Open, nil)
	session := g.begin()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, g.at, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Mcp-Session-Id", session[1])
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	point := r.Points(t, "mcp.server.session.duration", 1)[0]
	check(t, "a client's session", otlptest.Attributes(point.Attributes), map[string]string{"mcp.protocol.version": "2025-11-25", "network.transport": "tcp", "goblin.server.name": ""})
	if point.Count != 1 || point.GetSum() <= 0 {
		t.Errorf("%v", point)
	}
	fake.Last().Close(nil)
	point = r.Points(t, "mcp.client.session.duration", 1)[0]
	check(t, "a connection", otlptest.Attributes(point.Attributes), map[string]string{"network.transport": "pipe", "goblin.server.name": "one"})
	if point.Count != 1 || point.GetSum() <= 0 {
		t.Errorf("%v", point)
	}
}

// With delta temporality, an export has only what was added since the previous export; with cumulative temporality, it has
// everything since the start.
func TestTemporality(t *testing.T) {
	for _, preference := range []string{"delta", "cumulative"} {
		t.Run(preference, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", preference)
			r := otlptest.New(t, nil)
			g := start(t, r.URL, legacyServer().Open, nil)
			session := g.begin()
			var first, second *metricdata.HistogramDataPoint
			g.post(plainCall, session...)
			first = callsIn(r.Points(t, "mcp.client.operation.duration", 1))
			g.post(plainCall, session...)
			gatetest.WaitFor(t, "the second call", func() (bool, string) {
				second = callsIn(r.Points(t, "mcp.client.operation.duration", 1))
				return second != nil && (second.Count != 1 || second.StartTimeUnixNano > first.StartTimeUnixNano), second.String()
			})
			if preference == "delta" && (second.Count != 1 || second.StartTimeUnixNano < first.TimeUnixNano) {
				t.Errorf("first %v\nsecond %v", first, second)
			}
			if preference == "cumulative" && (second.Count != 2 || second.StartTimeUnixNano != first.StartTimeUnixNano) {
				t.Errorf("first %v\nsecond %v", first, second)
			}
		})
	}
}

// callsIn returns the point of tools/call, or nil.
func callsIn(points []*metricdata.HistogramDataPoint) *metricdata.HistogramDataPoint {
	for _, p := range points {
		if otlptest.Attributes(p.Attributes)["mcp.method.name"] == "tools/call" {
			return p
		}
	}
	return nil
}
