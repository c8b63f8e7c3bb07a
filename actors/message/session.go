package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Inbound is a message from a client on its session.
type Inbound struct {
	Exchange *downstream.Exchange
	Admitted
}

// Abandon answers a client whose session is overloaded or has ended.
func (i Inbound) Abandon(why kernel.Reason) {
	if why == kernel.Overloaded {
		RefuseFault(i.Exchange, 503, &protocol.Fault{Name: protocol.Overloaded, Message: "too many messages wait in this session", Retryable: true})
		return
	}
	RefuseNoSession(i.Exchange)
}

// StreamOpened says that the client opened a stream for messages that belong to no request.
type StreamOpened struct {
	Stream *downstream.EventStream
	Admitted
}

// Abandon refuses the stream, as if the session did not exist.
func (s StreamOpened) Abandon(kernel.Reason) { s.Stream.Refuse(404, nil, 0) }

// StreamClosed says that a stream passed to the session with StreamOpened has closed.
type StreamClosed struct{ Stream *downstream.EventStream }

func (StreamClosed) Class() kernel.Class { return kernel.Outcome }

// EndSession tells a session to end, because the client sent HTTP DELETE.
type EndSession struct {
	Exchange *downstream.Exchange
	Admitted
}

// Abandon answers that the session does not exist.
func (e EndSession) Abandon(kernel.Reason) { RefuseNoSession(e.Exchange) }

// CloseIfIdle tells a session to end, unless it has calls or streams.
type CloseIfIdle struct {
	Streams bool // end even if it has streams
}

func (CloseIfIdle) Class() kernel.Class { return kernel.Urgent }

// SessionBusy answers CloseIfIdle: the session does not end, because it now has calls or streams.
type SessionBusy struct{ Session kernel.Reference }

func (SessionBusy) Class() kernel.Class { return kernel.Outcome }

// NoSession is the fault of a message for a session that does not exist.
var NoSession = &protocol.Fault{Name: protocol.InvalidRequest, Message: "Session not found: it has ended or never existed; send initialize to begin a new one"}

// RefuseNoSession answers 404: the client must initialize again (MCP 2025-11-25, basic/transports, session management).
func RefuseNoSession(x *downstream.Exchange) { RefuseFault(x, 404, NoSession) }

// RefuseFault answers with an HTTP status and the fault as a JSON-RPC error, with the request's id if it has one.
func RefuseFault(x *downstream.Exchange, status int, fault *protocol.Fault) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	if id == nil || x.Frame.Kind != protocol.KindRequest {
		id = []byte("null")
	}
	x.Report.Code = fault.Code(protocol.EraLegacy)
	x.Refuse(status, fault.AppendTo(nil, id, protocol.EraLegacy), fault.RetryAfter)
}

// RefuseStream answers with an HTTP status and the fault as a JSON-RPC error without an id, instead of opening the stream.
func RefuseStream(s *downstream.EventStream, status int, fault *protocol.Fault) {
	s.Refuse(status, fault.AppendTo(nil, []byte("null"), protocol.EraLegacy), fault.RetryAfter)
}

// OpenSession asks the gateway for a session, for a client that sent initialize or opened the stream that begins a session of
// HTTP+SSE. Exactly one of Exchange and Stream is set. If Facts is set, the request or stream belongs to a session that another
// node of the cluster has opened, and this node serves it as a guest or as the next home.
type OpenSession struct {
	Exchange *downstream.Exchange
	Stream   *downstream.EventStream
	Facts    *cluster.SessionFacts
	Guest    bool // another node is the session's home
	Attempts int  // how often an actor of the session has ended before it could handle the request
	Admitted
	PassOn PassOn // of initialize
}

// SessionID returns the id of the session that another node has opened, or "".
func (o *OpenSession) SessionID() string {
	switch {
	case o.Facts == nil:
		return ""
	case o.Stream != nil:
		return o.Stream.Origin.SessionID
	}
	return o.Exchange.Origin.SessionID
}

// sessionRetryAfter is the delay after which a client may try again if it got no session.
const sessionRetryAfter = 5 * time.Second

// NoRoom returns the fault for a client that is refused a session or subscription stream.
func NoRoom(why kernel.Reason) *protocol.Fault {
	if why == kernel.Overloaded {
		return &protocol.Fault{Name: protocol.Overloaded, Message: "too many sessions, and all are in use (limits.maxSessions); try again later",
			Retryable: true, RetryAfter: sessionRetryAfter}
	}
	return &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway accepts no new sessions while it shuts down; try again later", Retryable: true, RetryAfter: sessionRetryAfter}
}

// Abandon refuses the session; the client may try again.
func (o OpenSession) Abandon(why kernel.Reason) { o.Refuse(NoRoom(why)) }

// Refuse tells the client why it gets no session. If the gateway is shutting down, another node of the cluster serves its initialize.
func (o OpenSession) Refuse(fault *protocol.Fault) {
	if o.PassOn.Passed(fault) {
		return
	}
	status := 503
	switch fault.Name {
	case protocol.Unauthenticated:
		status = 401
	case protocol.InvalidRequest:
		status = 400
	}
	if o.Stream != nil {
		RefuseStream(o.Stream, status, fault)
		return
	}
	RefuseFault(o.Exchange, status, fault)
}

// OpenStdio requests the session of the client on stdin and stdout from the gateway. There is only one such session.
type OpenStdio struct {
	Admitted
	Reply chan<- kernel.Reference // capacity 1
}

// DrainSession says that the gateway is shutting down. A session refuses new requests and ends when its calls have ended. A
// subscription stream ends at once. A stateless session refuses new calls, and sends Drained when no client waits for it.
type DrainSession struct{}

func (DrainSession) Class() kernel.Class { return kernel.Urgent }

// IdleSince answers QueryIdleSince: when the session was last used, and what keeps it from being idle.
type IdleSince struct {
	Survey  uint64 // QueryIdleSince.Survey
	Session kernel.Reference
	At      time.Time
	Calls   bool // the session has calls
	Streams bool // the session has streams
	Guest   bool // the session's home is another node, so that its client loses nothing if it ends here
}

func (IdleSince) Class() kernel.Class { return kernel.Outcome }

// QueryIdleSince asks a session when it was last used. The answer, IdleSince, goes to To.
type QueryIdleSince struct {
	To     kernel.Reference
	Survey uint64 // number of the survey that asks
}

func (QueryIdleSince) Class() kernel.Class { return kernel.Urgent }

// SubscribeURIResult answers SubscribeURI. On failure exactly one of Error and Fault is set, on success neither.
type SubscribeURIResult struct {
	Seq   uint64
	Error []byte // the server's error, raw JSON
	Fault *protocol.Fault
}

func (SubscribeURIResult) Class() kernel.Class { return kernel.Outcome }

// ReserveSubscriptions requests permission for a session to subscribe to Count more resources. A principal may have a limited
// number over all its sessions and streams. The answer is one ReserveSubscriptionsResult.
type ReserveSubscriptions struct {
	Session kernel.Reference
	Seq     uint64
	Count   int
}

func (ReserveSubscriptions) Class() kernel.Class { return kernel.Outcome }

// Abandon answers that the gateway is shutting down.
func (m ReserveSubscriptions) Abandon(why kernel.Reason) {
	m.Session.Tell(ReserveSubscriptionsResult{Seq: m.Seq, Fault: NoRoom(why)})
}

// ReserveSubscriptionsResult answers ReserveSubscriptions. The session holds the reservation until it releases it or ends.
type ReserveSubscriptionsResult struct {
	Seq   uint64
	Fault *protocol.Fault // why nothing was reserved; nil = reserved
}

func (ReserveSubscriptionsResult) Class() kernel.Class { return kernel.Outcome }

// ReleaseSubscriptions gives back Count of the subscriptions that a session has reserved.
type ReleaseSubscriptions struct {
	Session kernel.Reference
	Count   int
}

func (ReleaseSubscriptions) Class() kernel.Class { return kernel.Outcome }

// ResourceKnown tells a subscriber that set SubscribeURI.Hint that the server has mentioned the resource, so it is worth waiting
// for SubscribeURIResult, which follows when the server has answered.
type ResourceKnown struct{ Seq uint64 }

func (ResourceKnown) Class() kernel.Class { return kernel.Outcome }

// ResourceUpdated says that a resource to which the client is subscribed has changed. A newer one replaces an older one that is
// still queued.
type ResourceUpdated struct {
	Server string
	URI    string // the server's, not the public one
	Frame  protocol.Frame
	Span   rawjson.Span // params.uri inside Frame.Raw
}

func (ResourceUpdated) Class() kernel.Class { return kernel.State }

// Key identifies the resource: only its newest update is kept.
func (u ResourceUpdated) Key() any { return updatedKey{u.Server, u.URI} }

// Size returns the size of the frame in bytes.
func (u ResourceUpdated) Size() int { return len(u.Frame.Raw) }

// Sum implements kernel.Summarized. A server may name any number of parts of a subscribed resource.
func (u ResourceUpdated) Sum() any { return ResourcesUpdated{u.Server} }

type updatedKey struct{ server, uri string }

// ResourcesUpdated says that more resources of the server have changed than could be queued individually. Every
// subscribed one may be among them.
type ResourcesUpdated struct{ Server string }

func (ResourcesUpdated) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: one message for each server is enough.
func (u ResourcesUpdated) Key() any { return u }

// ServerLog is a server's log message that belongs to no call.
type ServerLog struct {
	Backend   kernel.Reference // the connection that received it
	Server    string
	Frame     protocol.Frame
	Principal string // the principal that owns the connection; "" = a shared connection
}

func (ServerLog) Class() kernel.Class { return kernel.LogLine }

// Size returns the size of the frame in bytes.
func (l ServerLog) Size() int { return len(l.Frame.Raw) }

// ElicitationDone passes notifications/elicitation/complete on to the client that received the elicitation.
type ElicitationDone struct{ Frame protocol.Frame }

func (ElicitationDone) Class() kernel.Class { return kernel.Outcome }
