// Package otlptest receives OTLP over HTTP in tests. It decodes exports with the official protobuf types. A test can
// pass its own handler, for example one that fails.
package otlptest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logdata "go.opentelemetry.io/proto/otlp/logs/v1"
	metricdata "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracedata "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver is a collector that stores what it receives.
type Receiver struct {
	*httptest.Server
	Handle http.HandlerFunc // answers instead of the receiver; nil = the receiver answers and stores the content. Set before use

	mu       sync.Mutex
	requests int
	headers  http.Header // of the last request
	spans    []*tracedata.Span
	points   map[string][]*metricdata.HistogramDataPoint // by metric, of the last export
	logs     []*logdata.LogRecord
	resource map[string]string
	failure  error
}

// New starts a receiver on loopback. The receiver is closed when the test ends. A handler that is not nil answers all
// requests.
func New(t testing.TB, handle http.HandlerFunc) *Receiver {
	r := &Receiver{Handle: handle, points: map[string][]*metricdata.HistogramDataPoint{}, resource: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections() // unblocks handlers that hang
		r.Close()
	})
	return r
}

// ServeHTTP receives one export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.requests++
	r.headers = q.Header.Clone()
	r.mu.Unlock()
	if r.Handle != nil {
		r.Handle(w, q)
		return
	}
	body := q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(q.Body)
	}
	raw, err := io.ReadAll(body)
	if err == nil {
		err = r.take(q.URL.Path, raw)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failure = err
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *Receiver) take(path string, raw []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch path {
	case "/v1/traces":
		var m traces.ExportTraceServiceRequest
		if err := proto.Unmarshal(raw, &m); err != nil {
			return err
		}
		for _, resource := range m.ResourceSpans {
			r.describe(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var m metrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(raw, &m); err != nil {
			return err
		}
		for _, resource := range m.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, metric := range scope.Metrics {
					r.points[metric.Name] = metric.GetHistogram().GetDataPoints()
				}
			}
		}
	case "/v1/logs":
		var m logs.ExportLogsServiceRequest
		if err := proto.Unmarshal(raw, &m); err != nil {
			return err
		}
		for _, resource := range m.ResourceLogs {
			for _, scope := range resource.ScopeLogs {
				r.logs = append(r.logs, scope.LogRecords...)
			}
		}
	}
	return nil
}

func (r *Receiver) describe(attrs []*common.KeyValue) {
	for _, a := range attrs {
		r.resource[a.Key] = a.Value.GetStringValue()
	}
}

// Spans waits until there are at least n spans and returns them.
func (r *Receiver) Spans(t testing.TB, n int) []*tracedata.Span {
	t.Helper()
	return await(t, r, n, func() []*tracedata.Span { return r.spans })
}

// Points waits until the metric has been exported with at least n points and returns those of the last export.
func (r *Receiver) Points(t testing.TB, metric string, n int) []*metricdata.HistogramDataPoint {
	t.Helper()
	return await(t, r, n, func() []*metricdata.HistogramDataPoint { return r.points[metric] })
}

// Logs waits until there are at least n log lines and returns them.
func (r *Receiver) Logs(t testing.TB, n int) []*logdata.LogRecord {
	t.Helper()
	return await(t, r, n, func() []*logdata.LogRecord { return r.logs })
}

func await[T any](t testing.TB, r *Receiver, n int, get func() []T) []T {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r.mu.Lock()
		got, failure := get(), r.failure
		got = got[:len(got):len(got)]
		r.mu.Unlock()
		if failure != nil {
			t.Fatalf("an export cannot be decoded: %v", failure)
		}
		if len(got) >= n {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("received %d, want %d: %v", len(got), n, got)
		}
	}
}

// Requests returns the number of requests and the headers of the last one.
func (r *Receiver) Requests() (int, http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests, r.headers
}

// Resource returns an attribute of the spans' resource.
func (r *Receiver) Resource(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resource[name]
}

// Attributes returns attributes as text, by key.
func Attributes(attrs []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attrs {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		default:
			all[a.Key] = a.Value.String()
		}
	}
	return all
}
