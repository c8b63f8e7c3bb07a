package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters read the variables OTEL_EXPORTER_OTLP_* themselves. An endpoint of the configuration overrides them.

func newTraceExporter(ctx context.Context, s signal) (sdktrace.SpanExporter, error) {
	var options []otlptracehttp.Option
	if s.url != "" {
		options = append(options, otlptracehttp.WithEndpointURL(s.url))
	}
	return otlptrace.New(ctx, otlptracehttp.NewClient(options...))
}

func newMetricExporter(ctx context.Context, s signal) (sdkmetric.Exporter, error) {
	var options []otlpmetrichttp.Option
	if s.url != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(s.url))
	}
	return otlpmetrichttp.New(ctx, options...)
}

func newLogExporter(ctx context.Context, s signal) (sdklog.Exporter, error) {
	var options []otlploghttp.Option
	if s.url != "" {
		options = append(options, otlploghttp.WithEndpointURL(s.url))
	}
	return otlploghttp.New(ctx, options...)
}
