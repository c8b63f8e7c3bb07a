package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Limits of texts in spans, in bytes.
const (
	maxPayload = 4 << 10
	maxMessage = 200
	maxURI     = 500
	maxID      = 100
)

// Began decides whether a request is sampled. It implements downstream.Observer.
func (t *Telemetry) Began(x *downstream.Exchange) {
	if t.spans == nil {
		return
	}
	parent := parentOf(x)
	id := parent.Trace
	if !parent.Present() {
		id = newTraceID()
	}
	if !t.sampler.samples(parent, id) {
		return
	}
	r := &trace.Request{ID: trace.ID{Trace: id, Server: newSpanID(), Client: newSpanID()}, Parent: parent}
	if parent.Present() {
		r.State = stateOf(x)
		r.Parent.State = r.State
	}
	if x.Report.Traceparent != "" {
		r.Link = parse([]byte(x.Report.Traceparent))
		r.Link.State = x.Report.Tracestate
	}
	x.Report.Trace = r
}

// Answered records the span of a sampled request. It implements downstream.Observer.
func (t *Telemetry) Answered(x *downstream.Exchange, answer []byte) {
	r := x.Report.Trace
	if r == nil {
		return
	}
	class := status.ErrorType(x.Report.Code, x.Report.ToolErr, x.Report.Cancelled)
	version := x.Report.Version
	if version == "" {
		version = status.KnownVersion(x.Origin.Version)
	}
	t.spans.add(t.serverSpan(x, r, class, version, answer, time.Now()))
}

func transportOf(o *downstream.Origin) string {
	if o.Stdio {
		return "stdio"
	}
	return "http"
}

// serverSpan returns the record of a sampled request. It copies everything, because the frames may be reused.
func (t *Telemetry) serverSpan(x *downstream.Exchange, r *trace.Request, class, version string, answer []byte, now time.Time) record {
	raw := x.Frame.Raw
	attrs := make([]attribute.KeyValue, 0, 16)
	attrs = appendMethod(attrs, x.Frame.Method, x.Frame.MethodText(), x.Report.Item)
	attrs = append(attrs, attribute.String("jsonrpc.request.id", status.Printable(unquoted(x.Frame.IDBytes()), maxID)))
	attrs = appendTransport(appendError(attrs, class), transportOf(&x.Origin))
	if version != "" {
		attrs = append(attrs, attribute.String("mcp.protocol.version", version))
	}
	if !x.Origin.Stdio {
		attrs = appendAddress(attrs, x.Origin.Remote)
	}
	if id := x.Origin.SessionID; id != "" && !protocol.IsModern(x.Origin.Version) {
		attrs = append(attrs, attribute.String("mcp.session.id", id[:min(8, len(id))])) // the whole id is a secret
	}
	if x.Params.URI.Present() {
		attrs = append(attrs, attribute.String("mcp.resource.uri", t.secrets.Cut(status.Printable(unquoted(x.Params.URI.Of(raw)), maxURI))))
	}
	s := record{kind: server, request: r, name: nameOf(x.Frame.Method, x.Report.Item), began: x.Began, ended: now, failed: class != ""}
	if x.Report.Code != 0 && len(answer) > 0 {
		text, _ := rawjson.Unquote(rawjson.Member(answer, rawjson.Member(answer, rawjson.Whole(answer), "error"), "message").Of(answer))
		s.message = t.secrets.Cut(status.Printable(text, maxMessage))
	}
	if t.payloads && x.Frame.Method == protocol.MethodToolsCall {
		attrs = append(attrs, attribute.String("gen_ai.tool.call.arguments", t.payload(x.Params.Arguments.Of(raw))))
		if class == "" {
			attrs = append(attrs, attribute.String("gen_ai.tool.call.result", t.payload(rawjson.Member(answer, rawjson.Whole(answer), "result").Of(answer))))
		}
	}
	s.attrs = attrs
	return s
}

// payload returns arguments or a result, redacted and truncated.
func (t *Telemetry) payload(raw []byte) string {
	return t.secrets.Cut(status.Cut(string(raw[:min(len(raw), maxPayload+1)]), maxPayload))
}

// CallEnded records the span of a sampled call. It implements status.Observer.
func (t *Telemetry) CallEnded(name string, e status.Ended) {
	if e.Trace == nil || t.spans == nil {
		return
	}
	class, now := e.ErrorType(), e.Began.Add(e.Took)
	item := ""
	if subject := e.Method.Names(); subject == protocol.SubjectTool || subject == protocol.SubjectPrompt {
		item = e.Item
	}
	call, _ := e.Trace.Noted()
	if call.Began.IsZero() {
		return // the call was not given to any connection
	}
	attrs := make([]attribute.KeyValue, 0, 14)
	attrs = appendMethod(attrs, e.Method, "", item)
	attrs = append(attrs, attribute.String(attrServer, name), attribute.String("jsonrpc.request.id", strconv.FormatUint(uint64(call.RequestID), 10)))
	attrs = appendTransport(appendError(attrs, class), call.Transport)
	if call.Version != "" {
		attrs = append(attrs, attribute.String("mcp.protocol.version", call.Version))
	}
	if call.Address != "" {
		attrs = append(attrs, attribute.String("server.address", call.Address), attribute.Int("server.port", call.Port))
	}
	if item == "" && e.Item != "" && e.Method.Names() == protocol.SubjectResource {
		attrs = append(attrs, attribute.String("mcp.resource.uri", t.secrets.Cut(status.Printable(e.Item, maxURI))))
	}
	t.spans.add(record{kind: client, request: e.Trace, name: nameOf(e.Method, item), began: call.Began, ended: now, failed: class != "", attrs: attrs})
}

// nameOf returns the name of a span.
func nameOf(m protocol.Method, item string) string {
	if item == "" {
		return methodName(m, "")
	}
	return m.String() + " " + item
}

// unquoted returns the text of a raw string, or the raw value of a number.
func unquoted(raw []byte) string {
	if text, ok := rawjson.Unquote(raw); ok {
		return text
	}
	return string(raw)
}

// appendAddress appends the client's address.
func appendAddress(attrs []attribute.KeyValue, remote string) []attribute.KeyValue {
	host := downstream.HostOf(remote)
	attrs = append(attrs, attribute.String("client.address", trimmed(host)))
	if port, err := strconv.Atoi(remote[min(len(remote), len(host)+1):]); err == nil && port > 0 {
		attrs = append(attrs, attribute.Int("client.port", port))
	}
	return attrs
}

// trimmed returns an address without the brackets of IPv6.
func trimmed(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
