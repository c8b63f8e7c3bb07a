package telemetry_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/telemetry"
	"goblin-actor/internal/telemetry/otlptest"
)

const plainCall = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one_echo","arguments":{"a":"boom"}}}`

// Calls are answered whatever the collector does, the last export has a time limit, and no goroutine is left.
func TestBadCollectors(t *testing.T) {
	hang := otlptest.New(t, func(http.ResponseWriter, *http.Request) { <-t.Context().Done() })
	busy := otlptest.New(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	denied := otlptest.New(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	unknown := httptest.NewTLSServer(denied) // its certificate is not trusted
	unknown.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(unknown.Close)
	good := otlptest.New(t, nil)
	for name, endpoint := range map[string]string{"good": good.URL, "hangs": hang.URL, "429": busy.URL, "refuses": denied.URL, "certificate": unknown.URL, "absent": "http://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			g := start(t, endpoint, legacyServer().Open, nil)
			session := g.begin()
			for range 200 {
				if answer, _ := g.post(plainCall, session...); !strings.Contains(answer, "isError") {
					t.Fatal(answer)
				}
			}
			began := time.Now()
			g.telemetry.Shutdown()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("Shutdown took %v", took)
			}
			noneIsLeft(t)
		})
	}
}

// Metrics count every request, even if none is sampled, and count a failed tool as tool_error. Requests that are not
// sampled have no spans.
func TestMetricsWithoutTraces(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	r, fake := otlptest.New(t, nil), legacyServer()
	g := start(t, r.URL, fake.Open, nil)
	session := g.begin()
	g.post(plainCall, session...)
	for _, test := range []struct {
		metric, tool string
		points       int // the server metric also counts initialize
	}{{"mcp.server.operation.duration", "one_echo", 2}, {"mcp.client.operation.duration", "echo", 1}} {
		found := false
		for _, p := range r.Points(t, test.metric, test.points) {
			got := otlptest.Attributes(p.Attributes)
			found = found || got["mcp.method.name"] == "tools/call" && got["gen_ai.tool.name"] == test.tool && got["error.type"] == "tool_error" && p.Count == 1 && len(p.ExplicitBounds) == 14
		}
		if !found {
			t.Errorf("%s does not count the call", test.metric)
		}
	}
	if raw := string(fake.Received("tools/call")[0].Raw); strings.Contains(raw, "traceparent") {
		t.Errorf("the server got a trace context: %s", raw)
	}
}

// Arguments and results are recorded only if telemetry.payloads is set, and without known secrets.
func TestPayloads(t *testing.T) {
	var known secret.Redactor
	known.Replace("test", "hunter2hunter2")
	r := otlptest.New(t, nil)
	g := start(t, r.URL, legacyServer().Open, &known, func(c *config.Config) { c.Telemetry.Payloads = true })
	session := g.begin()
	g.post(strings.Replace(plainCall, "boom", "hunter2hunter2", 1), session...)
	spans := r.Spans(t, 3)
	got := otlptest.Attributes(spans[len(spans)-1].Attributes)
	if args := got["gen_ai.tool.call.arguments"]; !strings.Contains(args, secret.Hidden) || strings.Contains(args, "hunter2") {
		t.Errorf("arguments: %s", args)
	}
	if !strings.Contains(got["gen_ai.tool.call.result"], "result text") {
		t.Errorf("result: %s", got["gen_ai.tool.call.result"])
	}
}

// A log line that has the ids of a trace and a span as attributes is exported with these ids.
func TestLogsHaveTheirTrace(t *testing.T) {
	r := otlptest.New(t, nil)
	g := start(t, r.URL, legacyServer().Open, nil)
	g.log.With("server", "one").Warn("a line", "trace_id", clientTrace, "span_id", clientSpan)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, line := range r.Logs(t, 1) {
			if line.Body.GetStringValue() == "a line" {
				if len(line.TraceId) != 16 || len(line.SpanId) != 8 || otlptest.Attributes(line.Attributes)["server"] != "one" {
					t.Errorf("%v", line)
				}
				return
			}
		}
	}
	t.Error("the line was not exported")
}

// An invalid variable is named in the log, without its value.
func TestInvalidVariables(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "::bad::", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "bad-value", "OTEL_EXPORTER_OTLP_TIMEOUT": "bad-value",
		"OTEL_TRACES_SAMPLER": "bad-value", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/bad-value", "OTEL_BSP_MAX_QUEUE_SIZE": "-1", "OTEL_TRACES_EXPORTER": "zipkin", "OTEL_SDK_DISABLED": "bad-value",
		"OTEL_RESOURCE_ATTRIBUTES": "bad-value", "OTEL_EXPORTER_OTLP_COMPRESSION": "bad-value", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "bad-value",
		"OTEL_METRIC_EXPORT_INTERVAL": "1m", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector:4318", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/no/bad-value", "OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE": os.Args[0],
		"OTEL_TRACES_SAMPLER_ARG": "1.5",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
			t.Setenv(variable, value)
			var log bytes.Buffer
			telemetry.Start(telemetry.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).Shutdown()
			if text := log.String(); !strings.Contains(text, "variable="+variable) || strings.Contains(text, "bad-value") {
				t.Errorf("log: %s", text)
			}
		})
	}
}

// A collector's self-signed certificate is trusted if OTEL_EXPORTER_OTLP_CERTIFICATE names its file. Otherwise the log says
// why nothing is exported.
func TestCertificateOfTheCollector(t *testing.T) {
	r := otlptest.New(t, nil)
	secure := httptest.NewTLSServer(r)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(secure.Close)
	for _, trusted := range []bool{false, true} {
		if trusted {
			file := filepath.Join(t.TempDir(), "collector.pem")
			if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
		}
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		o := telemetry.Start(telemetry.Options{Config: config.Telemetry{Endpoint: secure.URL}, Log: log})
		slog.New(o.Logs(slog.NewTextHandler(io.Discard, nil))).Warn("a line")
		o.Shutdown()
		if refused := strings.Contains(text.String(), "certificate signed by unknown authority"); refused == trusted {
			t.Errorf("trusted %t: %s", trusted, &text)
		}
	}
	r.Logs(t, 1)
}
