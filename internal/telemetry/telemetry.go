package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
)

// scope is the name under which the gateway exports telemetry.
const scope = "goblin-actor"

// shutdownTime is the maximum time for the last export.
const shutdownTime = 3 * time.Second

// Options configure the telemetry.
type Options struct {
	Config  config.Telemetry
	Version string           // of the program
	Log     *slog.Logger     // receives messages about telemetry itself, which are not exported
	Secrets *secret.Redactor // hides secrets in exported log lines, error messages, URIs and payloads; nil = none are known
}

// Telemetry exports what the gateway reports. All methods are safe for concurrent use and, except for Shutdown, never
// block. Logs, Operations and Shutdown accept a nil *Telemetry, which exports nothing.
type Telemetry struct {
	secrets  *secret.Redactor
	payloads bool
	sampler  sampler
	spans    *spanMaker // nil = no traces
	metrics  *producer  // nil = no metrics
	logs     *sdklog.LoggerProvider
	cut      cut                           // ends exports that still run after shutdownTime
	cutNow   context.CancelFunc            // ends cut
	end      []func(context.Context) error // for each signal: exports what is left
	ended    sync.Once
	log      *slog.Logger
}

// Start starts the telemetry. It returns nil if telemetry is off.
func Start(o Options) *Telemetry {
	set := settingsOf(o.Config)
	for _, p := range set.problems {
		o.Log.Warn("telemetry: environment variable ignored", "variable", p.variable, "reason", p.reason)
		_ = os.Unsetenv(p.variable) // the SDK would repeat its value in errors, or panic (a negative size of a queue)
	}
	if !set.on() {
		return nil
	}
	otel.SetLogger(logr.Discard()) // the SDK would write its own lines to stderr
	otel.SetErrorHandler(newErrorLog(o.Log, o.Secrets))
	t := &Telemetry{secrets: o.Secrets, payloads: o.Config.Payloads, sampler: set.sampler, log: o.Log}
	ctx := context.Background()
	t.cut.ended, t.cutNow = context.WithCancel(ctx)
	about := describe(ctx, o.Version)
	err := errors.Join(t.startTraces(ctx, set, about), t.startMetrics(ctx, set, about), t.startLogs(ctx, set, about))
	if err != nil {
		o.Log.Warn("telemetry: some signals cannot be exported", "err", o.Secrets.Hush(err))
	}
	o.Log.Info("telemetry is exported", "to", set.destination(), "traces", t.spans != nil, "metrics", t.metrics != nil, "logs", t.logs != nil)
	return t
}

// describe returns the resource: this process of the gateway.
func describe(ctx context.Context, version string) *resource.Resource {
	own := resource.NewSchemaless(attribute.String("service.name", scope), attribute.String("service.version", version), attribute.String("service.instance.id", rand.Text()))
	configured, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		otel.Handle(err)
	}
	about, err := resource.Merge(own, configured)
	if err != nil {
		return own
	}
	return about
}

func (t *Telemetry) startTraces(ctx context.Context, set settings, about *resource.Resource) error {
	if !set.traces.on {
		return nil
	}
	exporter, err := newTraceExporter(ctx, set.traces, t.cut)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(ids{})) // only sampled requests get there
	t.spans = newSpanMaker(provider.Tracer(scope), t.log)
	t.end = append(t.end, func(ctx context.Context) error { return errors.Join(t.spans.stop(ctx), provider.Shutdown(ctx)) })
	return nil
}

func (t *Telemetry) startMetrics(ctx context.Context, set settings, about *resource.Resource) error {
	if !set.metrics.on {
		return nil
	}
	exporter, err := newMetricExporter(ctx, set.metrics, t.cut)
	if err != nil {
		return err
	}
	t.metrics = &producer{operations: status.NewOperations(true), delta: set.delta, began: time.Now()}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(t.metrics))))
	t.end = append(t.end, provider.Shutdown)
	return nil
}

func (t *Telemetry) startLogs(ctx context.Context, set settings, about *resource.Resource) error {
	if !set.logs.on {
		return nil
	}
	exporter, err := newLogExporter(ctx, set.logs, t.cut)
	if err != nil {
		return err
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithResource(about), sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	t.end = append(t.end, t.logs.Shutdown)
	return nil
}

// Shutdown exports the remaining data, for up to shutdownTime, and ends all goroutines. Later calls do nothing.
func (t *Telemetry) Shutdown() {
	if t != nil {
		t.ended.Do(t.shutdown)
	}
}

func (t *Telemetry) shutdown() {
	defer t.cutNow()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	ended := make(chan error, len(t.end))
	for _, end := range t.end { // concurrently, so that a hanging collector of one signal does not use up the time of the others
		go func() { ended <- end(ctx) }()
	}
	var all error
	for range t.end {
		select {
		case err := <-ended:
			all = errors.Join(all, err)
		case <-ctx.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		t.log.Warn("telemetry: the collector did not accept the last export in time", "limit", shutdownTime.String())
	case all != nil:
		t.log.Warn("telemetry: the last export failed", "err", t.secrets.Hush(all))
	}
}
