package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"goblin-actor/internal/status"
)

var familyNames = [status.OperationMetrics]struct{ name, text string }{
	{"mcp.server.operation.duration", "Duration of a client's request, from its arrival to its response."},
	{"mcp.client.operation.duration", "Duration of a request to a server, from sending it to its response."},
	{"mcp.server.session.duration", "Duration of a session with a client."},
	{"mcp.client.session.duration", "Duration of a session with a server."},
}

// producer hands the durations that the gateway has counted to the SDK's reader. This costs less per request than the SDK's
// instruments, which sort and hash a set of attributes for each measurement.
type producer struct {
	operations *status.Operations
	delta      bool // each export contains only what was added since the previous one (OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE)

	mu    sync.Mutex
	began time.Time // start of the exported interval
	last  [status.OperationMetrics]map[status.DurationKey]status.DurationSeries
}

// Produce implements sdkmetric.Producer.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	out := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: scope}}
	for family := range status.OperationMetric(status.OperationMetrics) {
		h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
		if p.delta {
			h.Temporality = metricdata.DeltaTemporality
		}
		for _, s := range p.operations.Series(family) {
			if p.delta {
				s = p.since(family, s)
			}
			if total := s.Total(); total > 0 {
				h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
					Attributes: attributesOf(family, s.Key), StartTime: p.began, Time: now,
					Count: total, Sum: s.Sum, Bounds: status.DurationBounds[:], BucketCounts: slices.Clone(s.Counts[:]),
				})
			}
		}
		if len(h.DataPoints) > 0 {
			out.Metrics = append(out.Metrics, metricdata.Metrics{Name: familyNames[family].name, Description: familyNames[family].text, Unit: "s", Data: h})
		}
	}
	if p.delta {
		p.began = now
	}
	if len(out.Metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{out}, nil
}

// since returns what was added to a series since the last call. The caller must hold mu.
func (p *producer) since(family status.OperationMetric, s status.DurationSeries) status.DurationSeries {
	if p.last[family] == nil {
		p.last[family] = map[status.DurationKey]status.DurationSeries{}
	}
	was := p.last[family][s.Key]
	p.last[family][s.Key] = s
	for i := range s.Counts {
		s.Counts[i] -= was.Counts[i]
	}
	s.Sum -= was.Sum
	return s
}

// attributesOf returns the attributes of a series.
func attributesOf(family status.OperationMetric, key status.DurationKey) attribute.Set {
	attrs := make([]attribute.KeyValue, 0, 12)
	if family == status.ServerOperation || family == status.ClientOperation {
		attrs = appendMethod(attrs, key.Method, "", key.Item)
	}
	attrs = appendError(attrs, key.Error)
	if key.Version != "" {
		attrs = append(attrs, attribute.String("mcp.protocol.version", key.Version))
	}
	attrs = appendTransport(attrs, key.Transport)
	if key.Server != "" {
		attrs = append(attrs, attribute.String(attrServer, key.Server))
	}
	return attribute.NewSet(attrs...)
}

// Operations returns the metrics that the gateway counts, or nil if they are not exported. It implements actors.Telemetry.
func (t *Telemetry) Operations() *status.Operations {
	if t == nil || t.metrics == nil {
		return nil
	}
	return t.metrics.operations
}
