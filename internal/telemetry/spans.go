package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"goblin-actor/internal/trace"
)

// maxRecords is the maximum number of records that wait to become spans.
const maxRecords = 2048

// kind is the side of a span.
type kind uint8

const (
	server kind = iota // the client's request at the gateway
	client             // the gateway's request at the server
)

// record is a finished part of a sampled request.
type record struct {
	kind         kind
	request      *trace.Request
	name         string
	began, ended time.Time
	attrs        []attribute.KeyValue
	failed       bool
	message      string // of an error; "" = none
}

// spanMaker turns records into spans, on its own goroutine. The SDK queues the spans in a bounded queue.
type spanMaker struct {
	tracer  oteltrace.Tracer
	log     *slog.Logger
	records chan record
	stopped chan struct{} // closed to end the goroutine
	done    chan struct{} // closed when it has ended
	dropped atomic.Uint64
}

func newSpanMaker(tracer oteltrace.Tracer, log *slog.Logger) *spanMaker {
	m := &spanMaker{tracer: tracer, log: log, records: make(chan record, maxRecords), stopped: make(chan struct{}), done: make(chan struct{})}
	go m.run()
	return m
}

// add queues a record, or drops it if the queue is full.
func (m *spanMaker) add(r record) {
	select {
	case m.records <- r:
	default:
		m.dropped.Add(1)
	}
}

func (m *spanMaker) run() {
	defer close(m.done)
	for {
		select {
		case r := <-m.records:
			m.make(&r)
		case <-m.stopped:
			for len(m.records) > 0 {
				r := <-m.records
				m.make(&r)
			}
			return
		}
	}
}

// stop turns all queued records into spans and ends the goroutine. It must be called only once.
func (m *spanMaker) stop(ctx context.Context) error {
	close(m.stopped)
	select {
	case <-m.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if n := m.dropped.Load(); n > 0 {
		m.log.Warn("telemetry: spans were dropped, because too many requests were sampled; set OTEL_TRACES_SAMPLER=parentbased_traceidratio "+
			"and OTEL_TRACES_SAMPLER_ARG to a fraction such as 0.1", "dropped", n)
	}
	return nil
}

// make creates the span of a record.
func (m *spanMaker) make(r *record) {
	q := r.request
	ctx, span, kind := context.Background(), q.Server, oteltrace.SpanKindServer
	switch {
	case r.kind == client:
		ctx, span, kind = oteltrace.ContextWithSpanContext(ctx, contextOf(q.Trace, q.Server, sampledFlag, q.State, false)), q.Client, oteltrace.SpanKindClient
	case q.Parent.Present():
		ctx = oteltrace.ContextWithSpanContext(ctx, contextOf(q.Trace, q.Parent.Span, q.Parent.Flags, q.Parent.State, true))
	}
	options := []oteltrace.SpanStartOption{oteltrace.WithSpanKind(kind), oteltrace.WithTimestamp(r.began), oteltrace.WithAttributes(r.attrs...)}
	if r.kind == server && q.Link.Present() {
		options = append(options, oteltrace.WithLinks(oteltrace.Link{SpanContext: contextOf(q.Link.Trace, q.Link.Span, q.Link.Flags, q.Link.State, true)}))
	}
	_, s := m.tracer.Start(context.WithValue(ctx, idsKey{}, spanIDs{q.Trace, span}), r.name, options...)
	if r.failed {
		s.SetStatus(codes.Error, r.message)
	}
	addEvents(s, r)
	s.End(oteltrace.WithTimestamp(r.ended))
}

// addEvents adds an event for the wait in the queue to the server span, and one for each retry to the client span. A
// call that was not given to any connection has only a server span.
func addEvents(s oteltrace.Span, r *record) {
	_, events := r.request.Noted()
	for _, e := range events {
		at := oteltrace.WithTimestamp(e.At)
		switch {
		case e.Name == trace.Queued && r.kind == server:
			s.AddEvent("goblin.queued", at, oteltrace.WithAttributes(attribute.Float64("goblin.queue.wait", e.Wait.Seconds())))
		case e.Name == trace.Retried && r.kind == client:
			s.AddEvent("goblin.retried", at, oteltrace.WithAttributes(attribute.String("goblin.retry.reason", e.Reason)))
		}
	}
}

// contextOf returns a context of the SDK. It omits a malformed tracestate.
func contextOf(id [16]byte, span [8]byte, flags byte, state string, remote bool) oteltrace.SpanContext {
	parsed, _ := oteltrace.ParseTraceState(state)
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: oteltrace.TraceFlags(flags), TraceState: parsed, Remote: remote})
}

// ids is an ID generator that returns the ids that were chosen when the request arrived.
type ids struct{}

type idsKey struct{}

type spanIDs struct {
	trace [16]byte
	span  [8]byte
}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	chosen, _ := ctx.Value(idsKey{}).(spanIDs)
	return chosen.trace, chosen.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	chosen, _ := ctx.Value(idsKey{}).(spanIDs)
	return chosen.span
}
