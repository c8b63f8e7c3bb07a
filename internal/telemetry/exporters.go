package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters read the variables OTEL_EXPORTER_OTLP_* themselves. An endpoint in the configuration overrides those in the
// variables.

func newTraceExporter(ctx context.Context, s signal, c cut) (sdktrace.SpanExporter, error) {
	var options []otlptracehttp.Option
	if s.url != "" {
		options = append(options, otlptracehttp.WithEndpointURL(s.url))
	}
	e, err := otlptrace.New(ctx, otlptracehttp.NewClient(options...))
	return spanExporter{e, c}, err
}

func newMetricExporter(ctx context.Context, s signal, c cut) (sdkmetric.Exporter, error) {
	var options []otlpmetrichttp.Option
	if s.url != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(s.url))
	}
	e, err := otlpmetrichttp.New(ctx, options...)
	return metricExporter{e, c}, err
}

func newLogExporter(ctx context.Context, s signal, c cut) (sdklog.Exporter, error) {
	var options []otlploghttp.Option
	if s.url != "" {
		options = append(options, otlploghttp.WithEndpointURL(s.url))
	}
	e, err := otlploghttp.New(ctx, options...)
	return logExporter{e, c}, err
}

// cut holds a context that ends when the time for the last export is over. Without it, the SDK would let a running
// export continue until its own timeout.
type cut struct{ ended context.Context }

// limit returns a context that also ends with c. The caller must call done.
func (c cut) limit(ctx context.Context) (limited context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ended, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

type spanExporter struct {
	sdktrace.SpanExporter
	cut
}

// ExportSpans implements sdktrace.SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, done := e.limit(ctx)
	defer done()
	return e.SpanExporter.ExportSpans(ctx, spans)
}

type metricExporter struct {
	sdkmetric.Exporter
	cut
}

// Export implements sdkmetric.Exporter.
func (e metricExporter) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	ctx, done := e.limit(ctx)
	defer done()
	return e.Exporter.Export(ctx, metrics)
}

type logExporter struct {
	sdklog.Exporter
	cut
}

// Export implements sdklog.Exporter.
func (e logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	ctx, done := e.limit(ctx)
	defer done()
	return e.Exporter.Export(ctx, records)
}
