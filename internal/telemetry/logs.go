package telemetry

import (
	"context"
	"encoding/hex"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	oteltrace "go.opentelemetry.io/otel/trace"

	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
)

// maxLogText is the maximum length in bytes of a message or attribute of an exported line. It bounds the memory of the queue
// of lines, for which the SDK limits only the number of lines.
const maxLogText = 4 << 10

// Logs returns a handler that passes records to next and also exports them. Exported lines about a sampled call have
// the ids of its trace. Logs returns next if t is nil or does not export logs.
func (t *Telemetry) Logs(next slog.Handler) slog.Handler {
	if t == nil || t.logs == nil {
		return next
	}
	return &logHandler{next: next, t: t, to: t.logs.Logger(scope)}
}

type logHandler struct {
	next   slog.Handler
	t      *Telemetry
	to     log.Logger
	attrs  []attribute.KeyValue // from WithAttrs
	prefix string               // from WithGroup
}

// Enabled implements slog.Handler. The level of the log also applies to the export.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.export(r)
	return h.next.Handle(ctx, r)
}

// export emits the record. If the SDK's queue is full, the SDK drops the oldest record.
func (h *logHandler) export(r slog.Record) {
	var out log.Record
	out.SetTimestamp(r.Time)
	out.SetSeverity(severity(r.Level))
	out.SetSeverityText(r.Level.String())
	out.SetBody(attribute.StringValue(h.text(r.Message)))
	out.AddAttributes(h.attrs...)
	var id, span string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case trace.LogTrace:
			id = a.Value.String()
		case trace.LogSpan:
			span = a.Value.String()
		default:
			out.AddAttributes(h.attribute(h.prefix, a)...)
		}
		return true
	})
	ctx := context.Background()
	if c := spanOf(id, span); c.IsValid() {
		ctx = oteltrace.ContextWithSpanContext(ctx, c)
	}
	h.to.Emit(ctx, out)
}

// spanOf returns the span with these ids in hexadecimal, or an invalid context.
func spanOf(id, span string) oteltrace.SpanContext {
	var c oteltrace.SpanContextConfig
	if n, err := hex.Decode(c.TraceID[:], []byte(id[:min(len(id), 32)])); err != nil || n != len(c.TraceID) {
		return oteltrace.SpanContext{}
	}
	if n, err := hex.Decode(c.SpanID[:], []byte(span[:min(len(span), 16)])); err != nil || n != len(c.SpanID) {
		return oteltrace.SpanContext{}
	}
	c.TraceFlags = oteltrace.FlagsSampled
	return oteltrace.NewSpanContext(c)
}

// attribute converts an attribute. Texts are redacted, and groups are flattened.
func (h *logHandler) attribute(prefix string, a slog.Attr) []attribute.KeyValue {
	value := a.Value.Resolve()
	key := prefix + a.Key
	switch value.Kind() {
	case slog.KindBool:
		return []attribute.KeyValue{attribute.Bool(key, value.Bool())}
	case slog.KindInt64:
		return []attribute.KeyValue{attribute.Int64(key, value.Int64())}
	case slog.KindFloat64:
		return []attribute.KeyValue{attribute.Float64(key, value.Float64())}
	case slog.KindGroup:
		var all []attribute.KeyValue
		if a.Key != "" {
			prefix = key + "."
		}
		for _, member := range value.Group() {
			all = append(all, h.attribute(prefix, member)...)
		}
		return all
	}
	return []attribute.KeyValue{attribute.String(key, h.text(value.String()))}
}

// text returns a text of a line, redacted and truncated.
func (h *logHandler) text(s string) string { return h.t.secrets.Cut(status.Cut(s, maxLogText)) }

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.next = h.next.WithAttrs(attrs)
	next.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		next.attrs = append(next.attrs, h.attribute(h.prefix, a)...)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.next = h.next.WithGroup(name)
	if name != "" {
		next.prefix = h.prefix + name + "."
	}
	return &next
}

// severity returns the severity of a level.
func severity(level slog.Level) log.Severity {
	switch {
	case level >= slog.LevelError:
		return log.SeverityError
	case level >= slog.LevelWarn:
		return log.SeverityWarn
	case level >= slog.LevelInfo:
		return log.SeverityInfo
	}
	return log.SeverityDebug
}
