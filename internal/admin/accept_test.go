package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

func TestFormatOfMetrics(t *testing.T) {
	const prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	for accept, want := range map[string]string{
		prometheus:                              status.OpenMetricsText,
		"application/openmetrics-text":          status.OpenMetricsText,
		"":                                      status.PrometheusText,
		"*/*":                                   status.PrometheusText,
		"text/plain;version=0.0.4;q=0.5,*/*":    status.PrometheusText,
		"application/openmetrics-text;q=0":      status.PrometheusText,
		"application/openmetrics-text;q=nonsen": status.OpenMetricsText,
		"application/openmetrics-text; version=1.0.0; q=0.2, text/plain; q=0.8": status.PrometheusText,
		"application/openmetrics-text; version=0.0.1":                           status.PrometheusText,
		"application/vnd.google.protobuf;proto=x, ;;;, a/b/c":                   status.PrometheusText,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		if accept == "" {
			r.Header = http.Header{}
		}
		Public(fixedStatus{s: &status.Snapshot{}}, status.NewMetrics())("/metrics").ServeHTTP(w, r.WithContext(identity.In(r.Context(), identity.Local)))
		got, body := w.Header().Get("Content-Type"), w.Body.String()
		if got != want || strings.HasSuffix(body, "# EOF\n") != (got == status.OpenMetricsText) || !strings.Contains(body, "goblin_parked_calls 0\n") {
			t.Errorf("Accept %q: got %s with %.40q…, want %s", accept, got, body, want)
		}
	}
}
