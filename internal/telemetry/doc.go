// Package telemetry exports traces, metrics and logs with the OpenTelemetry SDK, over OTLP and HTTP. It uses the names of
// the semantic conventions for MCP (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md).
//
// It is off unless the configuration or OTEL_EXPORTER_OTLP_ENDPOINT names a collector. Then nothing of the SDK runs.
//
//	t := telemetry.Start(telemetry.Options{Config: cfg.Telemetry, Log: log})   // nil = off
//	log = slog.New(t.Logs(log.Handler()))
//	g, err := actors.Start(cfg, actors.Options{Telemetry: t, …})               // only if t != nil
//	defer t.Shutdown()
//
// Whether a request is sampled is decided when it arrives, before anything is allocated for it. What happens to a sampled
// request is noted in a trace.Request. When it has been answered, a record goes to a queue, and one goroutine makes spans
// of the records. No caller ever waits for that goroutine or for the collector: if a queue is full, the record is dropped.
//
// Metrics do not depend on sampling. A request adds to counters in memory (status.Durations), which are exported in
// intervals.
//
// The variables OTEL_* configure the SDK. An invalid one is named in the log and ignored.
package telemetry
