// Package telemetry exports traces, metrics and logs with the OpenTelemetry SDK, using OTLP over HTTP. It uses the names of
// the semantic conventions for MCP (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md).
//
// It is off unless the configuration or an environment variable such as OTEL_EXPORTER_OTLP_ENDPOINT names a collector.
// While it is off, no code of the SDK runs.
//
//	t := telemetry.Start(telemetry.Options{Config: cfg.Telemetry, Log: log})   // nil = off
//	log = slog.New(t.Logs(log.Handler()))
//	g, err := actors.Start(cfg, actors.Options{Telemetry: t, …})               // only if t != nil
//	defer t.Shutdown()
//
// The decision to sample a request is made when it arrives, before anything is allocated for tracing. A trace.Request
// records what happens to a sampled request. When its call to a server ends, and when the request has been answered, a
// record goes to a queue. One goroutine turns the records into spans. No request waits for that goroutine or for the
// collector: if a queue is full, records are dropped.
//
// Metrics do not depend on sampling. Each request is added to counters in memory (status.Operations), which are exported
// periodically.
//
// The environment variables OTEL_* configure the SDK. An invalid variable is logged by name and ignored.
package telemetry
