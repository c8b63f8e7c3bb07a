// Package telemetry exports traces, metrics and logs with the OpenTelemetry SDK, over OTLP and HTTP. It uses the names of
// the semantic conventions for MCP (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md).
//
// It is off unless the configuration or a variable such as OTEL_EXPORTER_OTLP_ENDPOINT names a collector. While it is
// off, no code of the SDK runs.
//
//	t := telemetry.Start(telemetry.Options{Config: cfg.Telemetry, Log: log})   // nil = off
//	log = slog.New(t.Logs(log.Handler()))
//	g, err := actors.Start(cfg, actors.Options{Telemetry: t, …})               // only if t != nil
//	defer t.Shutdown()
//
// The decision to sample a request is made when it arrives, before anything is allocated for it. A trace.Request
// records what happens to a sampled request. When the request has been answered, a record goes to a queue, and one
// goroutine turns the records into spans. No caller ever waits for that goroutine or for the collector: if a queue is
// full, a record is dropped.
//
// Metrics do not depend on sampling. Each request is added to counters in memory (status.Operations), which are exported
// periodically.
//
// The variables OTEL_* configure the SDK. An invalid variable is logged by name and ignored.
package telemetry
