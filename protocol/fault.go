package protocol

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"goblin-actor/protocol/rawjson"
)

// FaultName names an error of the gateway. It is sent as error.data.code.
type FaultName string

// The errors that the gateway itself returns.
const (
	ToolNotFound        FaultName = "TOOL_NOT_FOUND"   // unknown, disabled, filtered out, or in another project
	PromptNotFound      FaultName = "PROMPT_NOT_FOUND" // unknown, disabled, filtered out, or in another project
	ResourceNotFound    FaultName = "RESOURCE_NOT_FOUND"
	AmbiguousURI        FaultName = "AMBIGUOUS_URI"         // several servers have the URI; Candidates lists their public URIs
	ServerUnavailable   FaultName = "SERVER_UNAVAILABLE"    // a listed server with one replica, which is not connected
	NoBackendsAvailable FaultName = "NO_BACKENDS_AVAILABLE" // a listed server with several replicas, none of them connected
	BackendDisconnected FaultName = "BACKEND_DISCONNECTED"  // connection lost after the request was written
	QueueFull           FaultName = "QUEUE_FULL"            // nothing was sent
	QueueTimeout        FaultName = "QUEUE_TIMEOUT"         // nothing was sent
	Timeout             FaultName = "TIMEOUT"               // idle or absolute limit exceeded; the server was sent a cancellation
	ShuttingDown        FaultName = "SHUTTING_DOWN"
	NeedsLogin          FaultName = "NEEDS_LOGIN"          // LoginURL is where to log in
	Cancelled           FaultName = "CANCELLED"            // canceled by the client; its HTTP request still needs a response
	ClientCannotAnswer  FaultName = "CLIENT_CANNOT_ANSWER" // a modern client lacks the capabilities in Required
	Overloaded          FaultName = "OVERLOADED"           // a limit is reached, usually that of requests in flight for this client
	RequestStateInvalid FaultName = "REQUEST_STATE_INVALID"
	UnknownProject      FaultName = "UNKNOWN_PROJECT"
	Unauthenticated     FaultName = "UNAUTHENTICATED"    // missing or invalid credentials
	InsufficientScope   FaultName = "INSUFFICIENT_SCOPE" // the principal lacks a scope
	PolicyDenied        FaultName = "POLICY_DENIED"      // denied by a rule of the policy
	RateLimited         FaultName = "RATE_LIMITED"       // too many requests; RetryAfter says when to retry
	MessageTooLarge     FaultName = "MESSAGE_TOO_LARGE"
	HeaderMismatch      FaultName = "HEADER_MISMATCH"              // modern client: a header is missing or differs from the body
	UnsupportedVersion  FaultName = "UNSUPPORTED_PROTOCOL_VERSION" // modern client; Requested is its version
	NodeLost            FaultName = "NODE_LOST"                    // the request was passed on to another node of the cluster, which is gone

	// ParseFault and the faults below are standard JSON-RPC errors.
	ParseFault     FaultName = "PARSE_ERROR"
	InvalidRequest FaultName = "INVALID_REQUEST"
	MethodNotFound FaultName = "METHOD_NOT_FOUND"
	InvalidParams  FaultName = "INVALID_PARAMS"
	InternalFault  FaultName = "INTERNAL_ERROR"
)

// Error codes of JSON-RPC 2.0 and MCP. The gateway's own codes lie outside -32768 to -32000.
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

// Fault is an error that the gateway itself returns. Errors of servers are never turned into a Fault.
// A zero field is unknown or not applicable. error.data omits zero fields, except Server and Retryable.
type Fault struct {
	Name       FaultName
	Message    string        // text for users; if empty, Error builds a standard message from the other fields
	Server     string        // the server concerned; null in error.data when empty
	URI, Tool  string        // as in the client's request
	Retryable  bool          // the same request may succeed later, and repeating it is safe
	RetryAfter time.Duration // when to retry; sent in milliseconds, rounded up
	Candidates []string      // public URIs to choose from
	LoginURL   string        // where the user logs in to the server
	Required   []byte        // raw JSON object: the capabilities that the client lacks
	Requested  string        // for UnsupportedVersion: the version that the client requested
	Details    []byte        // more members of error.data, raw JSON without braces

	// Late, if not nil, is called when the fault is written. It receives a copy of the fault and sets the values that are
	// known only then. It must be safe for concurrent use.
	Late func(*Fault)

	status int // HTTP status for modern clients; 0 means the status that belongs to Name
}

// Error returns Message, or a standard message for the name.
func (f *Fault) Error() string {
	if f.Message != "" {
		return f.Message
	}
	switch f.Name {
	case ToolNotFound:
		return NoToolPrefix + f.Tool
	case ResourceNotFound:
		return "Resource not found: " + f.URI
	}
	return standardMessage(f)
}

// standardMessage returns the message of a fault that has none of its own.
func standardMessage(f *Fault) string {
	server := f.Server
	if server == "" {
		server = "the server"
	}
	switch f.Name {
	case AmbiguousURI:
		return "Several servers have " + f.URI
	case ServerUnavailable:
		return server + " is not connected"
	case NoBackendsAvailable:
		return "No backends available for " + server
	case BackendDisconnected:
		return "The connection to " + server + " was lost after the request had been sent"
	case QueueFull:
		return "The queue of " + server + " is full; the request was not sent"
	case QueueTimeout:
		return "Timed out in the queue of " + server + "; the request was not sent"
	case Timeout:
		return "Timeout: " + server + " did not answer in time"
	case NeedsLogin:
		return server + " needs a login"
	}
	if message, ok := fixedMessages[f.Name]; ok {
		return message
	}
	return "Internal error"
}

// fixedMessages are the messages that do not depend on the fault's server.
var fixedMessages = map[FaultName]string{
	PromptNotFound:      "Prompt not found",
	ShuttingDown:        "The gateway is shutting down",
	Cancelled:           "Request cancelled",
	ClientCannotAnswer:  "The server's request needs a capability that this client has not declared",
	Overloaded:          "Too many requests in flight for this client",
	RequestStateInvalid: "Invalid requestState",
	UnknownProject:      "Unknown project",
	Unauthenticated:     "Unauthenticated",
	InsufficientScope:   "Insufficient scope",
	PolicyDenied:        "Denied by policy",
	RateLimited:         "Too many requests",
	MessageTooLarge:     "Message too large",
	HeaderMismatch:      "Header mismatch",
	UnsupportedVersion:  "Unsupported protocol version",
	NodeLost:            "The node that had the call is gone; it is unknown whether the call was executed",
	ParseFault:          "Parse error",
	InvalidRequest:      "Invalid request",
	MethodNotFound:      "Method not found",
	InvalidParams:       "Invalid params",
}

// SpeaksHTTPS is part of the response to a plain HTTP request on a port that expects TLS. The command line recognizes it.
const SpeaksHTTPS = "This port speaks HTTPS"

// Prefixes of the messages of NoTool and NoPrompt; the name follows. The command line suggests similar names.
const (
	NoToolPrefix   = "Tool not found: "
	NoPromptPrefix = "Prompt not found: "
)

// NoTool returns the fault for an unknown public tool name.
func NoTool(name string) *Fault {
	name = clipTo(name, maxNamed)
	return &Fault{Name: ToolNotFound, Message: NoToolPrefix + name, Tool: name}
}

// NoPrompt returns the fault for an unknown public prompt name.
func NoPrompt(name string) *Fault {
	return &Fault{Name: PromptNotFound, Message: NoPromptPrefix + clipTo(name, maxNamed)}
}

// NoResource returns the fault for a URI that no server has.
func NoResource(uri string) *Fault {
	uri = clipTo(uri, maxNamed)
	return &Fault{Name: ResourceNotFound, Message: "Resource not found: " + uri, URI: uri}
}

// NoProject returns the fault for an unknown project. The gateway refuses such a request and never answers it from all
// servers instead.
func NoProject(name string) *Fault {
	return &Fault{Name: UnknownProject, Message: "Unknown project: " + name}
}

// NoMethod returns the fault for an unknown method.
func NoMethod(method string) *Fault {
	return &Fault{Name: MethodNotFound, Message: "Method not found: " + method}
}

// NoServer returns the fault for the endpoint of an unknown server. Its HTTP status is 404 for modern clients.
func NoServer(name string) *Fault {
	return &Fault{Name: InvalidRequest, Message: "no such server: " + name, Server: name, status: 404}
}

// BadParams returns the fault for invalid params.
func BadParams(message string) *Fault {
	return &Fault{Name: InvalidParams, Message: message}
}

// Code returns the JSON-RPC error code for a client of the era.
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
	case NodeLost:
		return -31015
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

// Status returns the HTTP status of a response that consists of this fault, for a client of the era. Modern clients get 404
// for an unknown method or server, and 400 for invalid _meta; otherwise see HTTPStatus. Once a stream has started, its status
// is always 200. MCP 2026-07-28, basic/transports/streamable-http
func (f *Fault) Status(era Era) int {
	switch {
	case era == EraModern && f.Name == MethodNotFound:
		return 404
	case era == EraModern && f.status != 0:
		return f.status
	}
	return f.HTTPStatus()
}

// HTTPStatus returns the HTTP status for a legacy client: 200 for most faults.
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

// AppendTo appends the complete JSON-RPC error response for a client of the era. See AppendError for rawID.
func (f *Fault) AppendTo(dst, rawID []byte, era Era) []byte {
	if f.Late != nil {
		whole := *f
		whole.Late = nil
		f.Late(&whole)
		f = &whole
	}
	return AppendError(dst, rawID, f.Code(era), clip(f.Error()), f.appendData(nil))
}

// Maximum number of bytes of client text that an error repeats.
const (
	maxEcho  = 4 << 10
	maxNamed = 1 << 10 // for an unknown name or URI
)

func clip(s string) string { return clipTo(s, maxEcho) }

// clipTo returns s if len(s) <= most. Otherwise it cuts s to that length, between characters, and adds an ellipsis.
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

// ErrorCode returns the JSON-RPC code of err for a legacy client: the code of the *Fault or *ParseError in its chain, or
// -32603 (internal error).
func ErrorCode(err error) int {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Code(EraLegacy)
	}
	if p, ok := errors.AsType[*ParseError](err); ok {
		return p.Code
	}
	return codeInternal
}
