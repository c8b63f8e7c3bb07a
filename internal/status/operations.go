package status

import (
	"strconv"
	"time"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// OperationMetric is one of the metrics of the semantic conventions for MCP.
type OperationMetric uint8

// The metrics, which are histograms of seconds.
const (
	ServerOperation  OperationMetric = iota // mcp.server.operation.duration: requests of clients
	ClientOperation                         // mcp.client.operation.duration: requests to servers
	ServerSession                           // mcp.server.session.duration: sessions of clients
	ClientSession                           // mcp.client.session.duration: connections to servers
	OperationMetrics = iota
)

// Operations counts the metrics of the semantic conventions for MCP. The page of metrics and the telemetry share it.
type Operations struct {
	durations [OperationMetrics]Durations
	requests  [maxMethods]hint
	items     bool
}

// NewOperations returns empty metrics. With items, tools and prompts are counted separately.
func NewOperations(items bool) *Operations { return &Operations{items: items} }

// Series returns a copy of the series of a metric, in random order.
func (o *Operations) Series(m OperationMetric) []DurationSeries { return o.durations[m].Series() }

// Answer describes the answer to a client's request.
type Answer struct {
	Method    protocol.Method
	Item      string // public name of the tool or prompt; "" = none
	Error     string // ErrorType; "" = a result
	Version   string // of the client; unknown versions are counted as ""
	Transport string // http | stdio
	Took      time.Duration
	Trace     *trace.Request // nil = not sampled
}

// Answered counts the answer to a client's request.
func (m *Metrics) Answered(a *Answer) {
	o := m.operations
	key := DurationKey{Method: a.Method, Error: boundedError(a.Error), Version: KnownVersion(a.Version), Transport: a.Transport}
	if o.items {
		key.Item = a.Item
	}
	var span [8]byte
	if a.Trace != nil {
		span = a.Trace.Server
	}
	o.durations[ServerOperation].observe(&o.requests[bounded(a.Method)], key, a.Took.Seconds(), a.Trace, span)
}

// callEnded counts a call's request to a server. near is the hint of the server and method.
func (o *Operations) callEnded(server string, near *hint, e *Ended) {
	if e.Sent.IsZero() {
		return // the request was not sent
	}
	key := DurationKey{Server: server, Method: e.Method, Error: boundedError(e.ErrorType())}
	if o.items && (e.Method.Names() == protocol.SubjectTool || e.Method.Names() == protocol.SubjectPrompt) {
		key.Item = e.Item
	}
	var span [8]byte
	if e.Trace != nil {
		span = e.Trace.Client
	}
	o.durations[ClientOperation].observe(near, key, e.Began.Add(e.Took).Sub(e.Sent).Seconds(), e.Trace, span)
}

// sessionEnded counts the duration of a session with a client or, unless server is "", with a server. In the semantic conventions,
// HTTP+SSE is HTTP, and a server in the same process has no transport.
func (o *Operations) sessionEnded(server, transport, version string, took time.Duration) {
	m := ServerSession
	if server != "" {
		m = ClientSession
	}
	switch transport {
	case "sse":
		transport = "http"
	case "embedded":
		transport = ""
	}
	o.durations[m].observe(nil, DurationKey{Server: server, Transport: transport, Version: KnownVersion(version)}, took.Seconds(), nil, [8]byte{})
}

// Values of error.type that are not JSON-RPC codes or outcomes of calls.
const (
	errorTool      = "tool_error"
	errorCancelled = "cancelled"
)

// ErrorType returns the error.type of an answer: a JSON-RPC code, tool_error or cancelled; "" = a result.
func ErrorType(code int, toolError, cancelled bool) string {
	switch {
	case code != 0:
		return strconv.Itoa(code)
	case toolError:
		return errorTool
	case cancelled:
		return errorCancelled
	}
	return ""
}

// ErrorType returns the error.type of a call: a JSON-RPC code or the outcome; "" = a result.
func (e *Ended) ErrorType() string {
	switch {
	case e.Outcome == OutcomeOK:
		return ""
	case e.Code != 0:
		return strconv.Itoa(e.Code)
	}
	return e.Outcome.String()
}

// boundedError returns the label for an error.type. Servers can invent codes, so only those of JSON-RPC and MCP have their own labels.
func boundedError(class string) string {
	if class == "" || class[0] > '9' { // not a number; strconv allocates its errors
		return class
	}
	code, err := strconv.Atoi(class)
	if err != nil || code == -32700 || code <= -32600 && code >= -32603 || code <= -32000 && code >= -32099 {
		return class
	}
	return OtherError
}

// KnownVersion returns version if it is a known protocol version, and "" otherwise, because clients may send any text.
func KnownVersion(version string) string {
	if protocol.IsLegacy(version) || version == protocol.Version20260728 {
		return version
	}
	return ""
}
