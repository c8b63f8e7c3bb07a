package protocol

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"goblin-actor/protocol/rawjson"
)

// FaultName names an error of the gateway's own; it stands in error.data.code.
type FaultName string

// The errors that the gateway itself answers with.
const (
	ToolNotFound        FaultName = "TOOL_NOT_FOUND"   // unknown, disabled, filtered, or of another project
	PromptNotFound      FaultName = "PROMPT_NOT_FOUND" // likewise
	ResourceNotFound    FaultName = "RESOURCE_NOT_FOUND"
	AmbiguousURI        FaultName = "AMBIGUOUS_URI"         // several servers own the raw URI; Candidates lists the public ones
	ServerUnavailable   FaultName = "SERVER_UNAVAILABLE"    // listed, one replica, not connected
	NoBackendsAvailable FaultName = "NO_BACKENDS_AVAILABLE" // listed, several replicas, all down
	BackendDisconnected FaultName = "BACKEND_DISCONNECTED"  // connection lost after the request was written; never resent
	QueueFull           FaultName = "QUEUE_FULL"            // nothing was sent
	QueueTimeout        FaultName = "QUEUE_TIMEOUT"         // nothing was sent
	Timeout             FaultName = "TIMEOUT"               // idle or absolute limit; the server was told to cancel
	ShuttingDown        FaultName = "SHUTTING_DOWN"
	NeedsLogin          FaultName = "NEEDS_LOGIN"          // LoginURL says where
	Cancelled           FaultName = "CANCELLED"            // by the client, whose HTTP exchange has to end with something
	ClientCannotAnswer  FaultName = "CLIENT_CANNOT_ANSWER" // modern client; Required says what it would have to declare
	Overloaded          FaultName = "OVERLOADED"           // too much in flight or parked for this client
	RequestStateInvalid FaultName = "REQUEST_STATE_INVALID"
	UnknownProject      FaultName = "UNKNOWN_PROJECT"
	Unauthenticated     FaultName = "UNAUTHENTICATED"    // nobody said who asks, or it could not be believed
	InsufficientScope   FaultName = "INSUFFICIENT_SCOPE" // who asks is known, and lacks a scope
	PolicyDenied        FaultName = "POLICY_DENIED"      // a rule says no
	RateLimited         FaultName = "RATE_LIMITED"       // too often; RetryAfter says when
	MessageTooLarge     FaultName = "MESSAGE_TOO_LARGE"
	HeaderMismatch      FaultName = "HEADER_MISMATCH"              // modern client: a header is missing or says something else than the body
	UnsupportedVersion  FaultName = "UNSUPPORTED_PROTOCOL_VERSION" // modern client; Requested is what it asked for

	// ParseFault and those below are JSON-RPC's own.
	ParseFault     FaultName = "PARSE_ERROR"
	InvalidRequest FaultName = "INVALID_REQUEST"
	MethodNotFound FaultName = "METHOD_NOT_FOUND"
	InvalidParams  FaultName = "INVALID_PARAMS"
	InternalFault  FaultName = "INTERNAL_ERROR"
)

// Numbers of JSON-RPC 2.0 and MCP. Ours lie outside -32768…-32000.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeResourceNotFound   = -32002 // legacy only
	codeHeaderMismatch     = -32020 // MCP 2026-07-28
	codeCapabilityRequired = -32021 // MCP 2026-07-28
	codeUnsupportedVersion = -32022 // MCP 2026-07-28
)

// Fault is an error the gateway answers with itself. What a server answers is never made into one.
// The zero value of a field means unknown or not applicable; it is left out of error.data, except Server and Retryable.
type Fault struct {
	Name       FaultName
	Message    string        // for people; "" = a standard sentence made of the other fields
	Server     string        // the server concerned; null in error.data when empty
	URI, Tool  string        // as the client gave them
	Retryable  bool          // the same request may succeed later, and sending it again does no harm
	RetryAfter time.Duration // when; told in whole milliseconds, rounded up
	Candidates []string      // public URIs to choose from
	LoginURL   string        // where a person logs in to the server
	Required   []byte        // raw JSON object: the capabilities the client lacks
	Requested  string        // UnsupportedVersion: the version the client asked for
	Details    []byte        // further members of error.data, raw JSON without braces

	// Late completes a copy of the fault when it is written, with what is known only then; nil = there is nothing like that. Safe from any
	// goroutine.
	Late func(*Fault)

	status int // HTTP status of a modern client's answer; 0 = what the name says
}

// Error returns the message.
func (f *Fault) Error() string {
	if f.Message != "" {
		return f.Message
	}
	switch f.Name {
	case ToolNotFound:
		return "Tool not found: " + f.Tool
	case ResourceNotFound:
		return "Resource not found: " + f.URI
	}
	return standardMessage(f)
}

func standardMessage(f *Fault) string {
	server := f.Server
	if server == "" {
		server = "the server"
	}
	switch f.Name {
	case PromptNotFound:
		return "Prompt not found"
	case AmbiguousURI:
		return "Several servers have " + f.URI
	case ServerUnavailable:
		return server + " is not connected"
	case NoBackendsAvailable:
		return "No backends available for " + server
	case BackendDisconnected:
		return "The connection to " + server + " was lost after the request had been sent"
	case QueueFull:
		return "The queue of " + server + " is full; nothing was sent"
	case QueueTimeout:
		return "Waited too long for " + server + "; nothing was sent"
	case Timeout:
		return "Timeout: " + server + " did not answer in time"
	case ShuttingDown:
		return "The gateway is shutting down"
	case NeedsLogin:
		return server + " needs a login"
	case Cancelled:
		return "Request cancelled"
	case ClientCannotAnswer:
		return "The server asks what this client has not declared it can answer"
	case Overloaded:
		return "Too many requests in flight for this client"
	case RequestStateInvalid:
		return "Invalid requestState"
	case UnknownProject:
		return "Unknown project"
	case Unauthenticated:
		return "Unauthenticated"
	case InsufficientScope:
		return "Insufficient scope"
	case PolicyDenied:
		return "Denied by policy"
	case RateLimited:
		return "Too many requests"
	case MessageTooLarge:
		return "Message too large"
	case HeaderMismatch:
		return "Header mismatch"
	case UnsupportedVersion:
		return "Unsupported protocol version"
	case ParseFault:
		return "Parse error"
	case InvalidRequest:
		return "Invalid request"
	case MethodNotFound:
		return "Method not found"
	case InvalidParams:
		return "Invalid params"
	}
	return "Internal error"
}

// NoTool says that no tool has the public name.
func NoTool(name string) *Fault {
	name = clipTo(name, maxNamed)
	return &Fault{Name: ToolNotFound, Message: "Tool not found: " + name, Tool: name}
}

// NoPrompt says that no prompt has the public name.
func NoPrompt(name string) *Fault {
	return &Fault{Name: PromptNotFound, Message: "Prompt not found: " + clipTo(name, maxNamed)}
}

// NoResource says that nobody owns the URI.
func NoResource(uri string) *Fault {
	uri = clipTo(uri, maxNamed)
	return &Fault{Name: ResourceNotFound, Message: "Resource not found: " + uri, URI: uri}
}

// NoProject says that there is no project of that name. A request that names one is never answered for all servers.
func NoProject(name string) *Fault {
	return &Fault{Name: UnknownProject, Message: "Unknown project: " + name}
}

// NoMethod says that the method is unknown here.
func NoMethod(method string) *Fault {
	return &Fault{Name: MethodNotFound, Message: "Method not found: " + method}
}

// NoServer says that the endpoint of one server alone is of none that there is: HTTP 404.
func NoServer(name string) *Fault {
	return &Fault{Name: InvalidRequest, Message: "no such server: " + name, Server: name, status: 404}
}

// BadParams says what is wrong with a request's params.
func BadParams(message string) *Fault {
	return &Fault{Name: InvalidParams, Message: message}
}

// Code returns the JSON-RPC error code; era is that of the client that is answered.
func (f *Fault) Code(era Era) int {
	switch f.Name {
	case ResourceNotFound:
		if era == EraModern {
			return codeInvalidParams
		}
		return codeResourceNotFound
	case ToolNotFound, PromptNotFound, AmbiguousURI, RequestStateInvalid, UnknownProject, InvalidParams:
		return codeInvalidParams
	case ServerUnavailable:
		return -31001
	case NoBackendsAvailable:
		return -31002
	case BackendDisconnected:
		return -31003
	case QueueFull:
		return -31004
	case QueueTimeout:
		return -31005
	case Timeout:
		return -31006
	case ShuttingDown:
		return -31007
	case NeedsLogin:
		return -31008
	case Cancelled:
		return -31009
	case Overloaded:
		return -31010
	case Unauthenticated:
		return -31011
	case InsufficientScope:
		return -31012
	case PolicyDenied:
		return -31013
	case RateLimited:
		return -31014
	case ClientCannotAnswer:
		return codeCapabilityRequired
	case HeaderMismatch:
		return codeHeaderMismatch
	case UnsupportedVersion:
		return codeUnsupportedVersion
	case MessageTooLarge, InvalidRequest:
		return codeInvalidRequest
	case ParseFault:
		return codeParse
	case MethodNotFound:
		return codeMethodNotFound
	}
	return codeInternal
}

// Status returns the HTTP status of an answer that consists of this fault alone; era is that of the client. A modern
// client's unknown method is 404 and faulty _meta 400; a legacy client's errors are 200 (HTTPStatus says which are not).
// Once a stream has begun the status is 200 whatever follows. // MCP 2026-07-28, basic/transports/streamable-http
func (f *Fault) Status(era Era) int {
	switch {
	case era == EraModern && f.Name == MethodNotFound:
		return 404
	case era == EraModern && f.status != 0:
		return f.status
	}
	return f.HTTPStatus()
}

// HTTPStatus is Status for legacy clients.
func (f *Fault) HTTPStatus() int {
	switch f.Name {
	case Unauthenticated:
		return 401
	case InsufficientScope:
		return 403
	case RateLimited:
		return 429
	case MessageTooLarge:
		return 413
	case ParseFault, InvalidRequest, ClientCannotAnswer, HeaderMismatch, UnsupportedVersion:
		return 400
	}
	return 200
}

// AppendTo appends the whole JSON-RPC error response. rawID as in AppendError; era is that of the client.
func (f *Fault) AppendTo(dst, rawID []byte, era Era) []byte {
	if f.Late != nil {
		whole := *f
		whole.Late = nil
		f.Late(&whole)
		f = &whole
	}
	return AppendError(dst, rawID, f.Code(era), clip(f.Error()), f.appendData(nil))
}

// How many bytes of a client's own text an error repeats, so that a huge one costs nobody its size again.
const (
	maxEcho  = 4 << 10
	maxNamed = 1 << 10 // of a name or URI that nobody has
)

func clip(s string) string { return clipTo(s, maxEcho) }

// clipTo cuts s to so many bytes, at a character.
func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// appendData appends error.data:
//
//	{"code":"SERVER_UNAVAILABLE","server":"files","retryable":true,"tool":"read","retryAfterMs":500}
func (f *Fault) appendData(dst []byte) []byte {
	dst = rawjson.Grow(dst, 64+len(f.Server)+len(f.URI)+len(f.Tool)+len(f.LoginURL)+len(f.Required)+len(f.Details))
	dst = append(dst, `{"code":`...)
	dst = rawjson.AppendQuoted(dst, string(f.Name))
	if f.Server == "" {
		dst = append(dst, `,"server":null`...)
	} else {
		dst = appendMember(dst, "server", f.Server)
	}
	dst = append(dst, `,"retryable":`...)
	dst = strconv.AppendBool(dst, f.Retryable)
	dst = appendMember(dst, "uri", f.URI)
	dst = appendMember(dst, "tool", f.Tool)
	if f.RetryAfter > 0 {
		dst = append(dst, `,"retryAfterMs":`...)
		dst = strconv.AppendInt(dst, milliseconds(f.RetryAfter), 10)
	}
	for i, c := range f.Candidates {
		dst = append(dst, [...]string{`,"candidates":[`, `,`}[min(i, 1)]...)
		dst = rawjson.AppendQuoted(dst, c)
	}
	if len(f.Candidates) > 0 {
		dst = append(dst, ']')
	}
	dst = appendMember(dst, "loginUrl", f.LoginURL)
	if f.Required != nil {
		dst = append(dst, `,"requiredCapabilities":`...)
		dst = append(dst, f.Required...)
	}
	if f.Name == UnsupportedVersion {
		dst = append(dst, `,"supported":["`+Version20260728+`"],"requested":`...)
		dst = rawjson.AppendQuoted(dst, clip(f.Requested))
	}
	if f.Details != nil {
		dst = append(append(dst, ','), f.Details...)
	}
	return append(dst, '}')
}

// appendMember appends ,"key":"value" unless value is empty.
func appendMember(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	return rawjson.AppendQuoted(dst, clip(value))
}

func milliseconds(d time.Duration) int64 {
	if d > math.MaxInt64-time.Millisecond {
		return d.Milliseconds()
	}
	return (d + time.Millisecond - 1).Milliseconds()
}

// ErrorCode returns the JSON-RPC code to answer a legacy client with when err came up:
// that of the *Fault or *ParseError in its chain, else -32603.
func ErrorCode(err error) int {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Code(EraLegacy)
	}
	if p, ok := errors.AsType[*ParseError](err); ok {
		return p.Code
	}
	return codeInternal
}
