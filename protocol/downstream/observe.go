package downstream

import (
	"sync/atomic"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// Observer is notified when requests begin and when they are answered. Its methods are called from any goroutine and
// must not block.
type Observer interface {
	// Began reports that the request x has arrived. It may set x.Report.Trace.
	Began(x *Exchange)
	// Answered reports that x is answered. It is called once for each request, even if the client has left. answer is
	// nil if the answer has no body or is in pieces. Answered must not retain answer.
	Answered(x *Exchange, answer []byte)
}

// Report describes a request for an Observer. The actor that answers the request fills it in before the answer.
type Report struct {
	Trace   *trace.Request // nil = the request is not sampled
	Item    string         // public name of the tool or prompt; "" = none, or unknown
	Version string         // protocol version of the client; "" = that of the headers
	Code    int            // JSON-RPC error code of the answer; 0 = a result
	ToolErr bool           // the answer is a result with isError

	Cancelled bool // the client no longer wants the answer

	Traceparent, Tracestate string // trace context of the HTTP request, not checked; "" = none
}

// observed is the Observer of an exchange. The zero value has none. It is copied with the exchange.
type observed struct {
	by   Observer
	over uint32 // atomic; 1 = the answer has been reported
}

// Observe makes o the observer of the exchange and, if the exchange is a request, reports its beginning. A nil o changes
// nothing. Call Observe before the exchange is handled.
func (x *Exchange) Observe(o Observer) {
	if o == nil {
		return
	}
	x.observed.by = o
	if x.Frame.Kind == protocol.KindRequest {
		o.Began(x)
	}
}

// answered reports the answer to the observer, unless an answer has been reported before.
func (x *Exchange) answered(answer []byte) {
	if x.observed.by != nil && x.Frame.Kind == protocol.KindRequest && atomic.CompareAndSwapUint32(&x.observed.over, 0, 1) {
		x.observed.by.Answered(x, answer)
	}
}

// maxTraceHeader is the maximum length of a traceparent or tracestate header. Longer ones are ignored.
const maxTraceHeader = 512

// traceHeaders copies the trace context of an HTTP request.
func (s *Server) traceHeaders(x *Exchange, h *knownHeader) {
	if s.options.TraceHeaders && len(h.traceparent) > 0 && len(h.traceparent) <= maxTraceHeader && len(h.tracestate) <= maxTraceHeader {
		x.Report.Traceparent, x.Report.Tracestate = string(h.traceparent), string(h.tracestate)
	}
}
