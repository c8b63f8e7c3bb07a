package backend

import (
	"net/url"
	"strconv"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// traced records on which connection a sampled request is written.
type traced struct {
	trace      *trace.Request
	connection trace.Connection
	id         uint32
}

// trace returns the effect that records the connection of a sampled request.
func (s *state) trace(r *trace.Request, id uint32) kernel.Effect {
	c := trace.Connection{Transport: s.transport}
	c.Address, c.Port = s.address()
	if s.conn.info != nil {
		c.Version = s.conn.info.Version
	}
	return kernel.Act(traced{r, c, id})
}

// address returns the host and port of the replica's URL; "", 0 = it has no URL.
func (s *state) address() (host string, port int) {
	entry, own, _ := s.server.Replica(s.replica)
	if len(entry.URLs) == 0 {
		return "", 0
	}
	u, err := url.Parse(entry.URLs[own%len(entry.URLs)])
	if err != nil || u.Host == "" {
		return "", 0
	}
	if port, err = strconv.Atoi(u.Port()); err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return u.Hostname(), port
}

// sampled returns the trace of a pending call; nil = the call is not sampled, or the request is the gateway's own.
func (p *pending) sampled() *trace.Request {
	if p == nil || p.request == nil {
		return nil
	}
	return p.request.Trace
}

// traceKeys are the members of params._meta that carry the trace context (W3C Trace Context, SEP-414).
var traceKeys = []string{"traceparent", "tracestate"}

// withTrace returns a copy of a sampled request whose params._meta has the gateway's span as the parent of the server's. It
// replaces the client's own trace context. All other bytes stay as they are. It returns r if r is not sampled or has no params.
func withTrace(r *message.Request) *message.Request {
	if r.Trace == nil || !r.Frame.Params.Present() || r.Frame.Raw[r.Frame.Params.Off] != '{' {
		return r
	}
	raw := r.Frame.Raw
	members := [][]byte{append([]byte(`"traceparent":`), rawjson.Quote(r.Trace.Traceparent())...)}
	if r.Trace.State != "" {
		members = append(members, append([]byte(`"tracestate":`), rawjson.Quote(r.Trace.State)...))
	}
	var edits []rawjson.Edit
	if r.Params.Meta.Present() {
		edits = rawjson.EditObject(nil, raw, r.Params.Meta, traceKeys, members...)
	} else {
		meta := append([]byte(`"_meta":{`), members[0]...)
		edits = append(edits, rawjson.InsertMember(raw, r.Frame.Params, append(meta, '}')))
	}
	next := *r
	next.Frame, next.Params = protocol.Frame{}, protocol.Params{}
	target := shifted(r.Target, edits)
	if next.Frame.Parse(rawjson.AppendEdited(nil, raw, edits...)) != nil || next.Params.Scan(&next.Frame) != nil {
		return r
	}
	next.Target = target
	return &next
}

// shifted returns where a span is after the edits, none of which overlaps it.
func shifted(span rawjson.Span, edits []rawjson.Edit) rawjson.Span {
	if !span.Present() {
		return span
	}
	delta := 0
	for _, e := range edits {
		if e.Span.End <= span.Off {
			delta += len(e.With) - int(e.Span.End-e.Span.Off)
		}
	}
	return rawjson.Span{Off: uint32(int(span.Off) + delta), End: uint32(int(span.End) + delta)}
}

// traceHeaders returns the trace context for an HTTP request to the server.
func traceHeaders(r *trace.Request) []protocol.HeaderField {
	headers := []protocol.HeaderField{{Name: "Traceparent", Value: r.Traceparent()}}
	if r.State != "" {
		headers = append(headers, protocol.HeaderField{Name: "Tracestate", Value: r.State})
	}
	return headers
}
