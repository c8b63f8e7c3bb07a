package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Inbound is a message a client sent on its session.
type Inbound struct {
	Exchange *downstream.Exchange
	Admitted
}

// Abandon answers a client whose session is full, or has gone since the message was addressed to it.
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

// Abandon refuses the stream of a session that has gone.
func (s StreamOpened) Abandon(kernel.Reason) { s.Stream.Refuse(404, nil, 0) }

// StreamClosed says that such a stream is over.
type StreamClosed struct{ Stream *downstream.EventStream }

func (StreamClosed) Class() kernel.Class { return kernel.Outcome }

// EndSession says that the client ends its session (HTTP DELETE).
type EndSession struct {
	Exchange *downstream.Exchange
	Admitted
}

// Abandon tells a client whose session has gone already.
func (e EndSession) Abandon(kernel.Reason) { RefuseNoSession(e.Exchange) }

// CloseIfIdle asks a session to leave, unless it has calls or streams.
type CloseIfIdle struct {
	Streams bool // streams do not count
}

func (CloseIfIdle) Class() kernel.Class { return kernel.Urgent }

// SessionBusy answers CloseIfIdle when the session has got something to do meanwhile: it makes room for nobody.
type SessionBusy struct{ Session kernel.Reference }

func (SessionBusy) Class() kernel.Class { return kernel.Outcome }

// RefuseNoSession answers 404: the client must initialize again (MCP 2025-11-25, basic/transports, session management).
func RefuseNoSession(x *downstream.Exchange) {
	RefuseFault(x, 404, &protocol.Fault{Name: protocol.InvalidRequest, Message: "Session not found: it ended or never was; send initialize to begin a new one"})
}

// RefuseFault answers with an HTTP status and the fault as JSON-RPC error, with the request's id when it has one.
func RefuseFault(x *downstream.Exchange, status int, fault *protocol.Fault) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	if id == nil || x.Frame.Kind != protocol.KindRequest {
		id = []byte("null")
	}
	x.Refuse(status, fault.AppendTo(nil, id, protocol.EraLegacy), fault.RetryAfter)
}

// RefuseStream answers with an HTTP status and the fault as JSON-RPC error without id, instead of opening the stream.
func RefuseStream(s *downstream.EventStream, status int, fault *protocol.Fault) {
	s.Refuse(status, fault.AppendTo(nil, []byte("null"), protocol.EraLegacy), fault.RetryAfter)
}

// OpenSession asks the gateway for a session for a client that sent initialize without one, or that opened the
// stream a session of HTTP+SSE begins with. Exactly one of Exchange and Stream is set.
type OpenSession struct {
	Exchange *downstream.Exchange
	Stream   *downstream.EventStream
	Admitted
}

// comeBack is how long a client that found no room waits before it tries again.
const comeBack = 5 * time.Second

// NoRoom is what a client is told that cannot have a session or a listen stream.
func NoRoom(why kernel.Reason) *protocol.Fault {
	if why == kernel.Overloaded {
		return &protocol.Fault{Name: protocol.Overloaded, Message: "there are as many sessions as may be, and all are in use (limits.maxSessions)",
			Retryable: true, RetryAfter: comeBack}
	}
	return &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway takes no new sessions now", Retryable: true, RetryAfter: comeBack}
}

// Abandon tells the client to come back.
func (o OpenSession) Abandon(why kernel.Reason) { o.Refuse(NoRoom(why)) }

// Refuse tells the client why it gets no session.
func (o OpenSession) Refuse(fault *protocol.Fault) {
	status := 503
	if fault.Name == protocol.Unauthenticated {
		status = 401
	}
	if o.Stream != nil {
		RefuseStream(o.Stream, status, fault)
		return
	}
	RefuseFault(o.Exchange, status, fault)
}

// OpenStdio asks the gateway for the one session of a client on stdin and stdout.
type OpenStdio struct {
	Admitted
	Reply chan<- kernel.Reference // capacity 1
}

// DrainSession says that the gateway is going. New requests are refused; the session leaves when its calls have ended.
type DrainSession struct{}

func (DrainSession) Class() kernel.Class { return kernel.Urgent }

// IdleSince is a session's answer to QueryIdleSince: when it was used last, and whether it could leave.
type IdleSince struct {
	Session kernel.Reference
	At      time.Time
	Calls   bool // it has calls
	Streams bool // it has streams
}

func (IdleSince) Class() kernel.Class { return kernel.Outcome }

// QueryIdleSince asks a session when it was used last; the answer goes to To.
type QueryIdleSince struct{ To kernel.Reference }

func (QueryIdleSince) Class() kernel.Class { return kernel.Urgent }

// SubscribeURIResult answers SubscribeURI. Exactly one of the fields is set when it failed, none when it succeeded.
type SubscribeURIResult struct {
	Seq   uint64
	Error []byte // the server's error, raw JSON
	Fault *protocol.Fault
}

func (SubscribeURIResult) Class() kernel.Class { return kernel.Outcome }

// ReserveSubscriptions asks the gateway whether a session may be subscribed to so many more resources: a principal may have so many over all its
// sessions and streams. The answer is one ReserveSubscriptionsResult.
type ReserveSubscriptions struct {
	Session kernel.Reference
	Seq     uint64
	Count   int
}

func (ReserveSubscriptions) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where the gateway is going.
func (m ReserveSubscriptions) Abandon(why kernel.Reason) {
	m.Session.Tell(ReserveSubscriptionsResult{Seq: m.Seq, Fault: NoRoom(why)})
}

// ReserveSubscriptionsResult answers ReserveSubscriptions: the session holds them from now on, until it says otherwise or ends.
type ReserveSubscriptionsResult struct {
	Seq   uint64
	Fault *protocol.Fault // why it may not, and holds none; nil = it may
}

func (ReserveSubscriptionsResult) Class() kernel.Class { return kernel.Outcome }

// ReleaseSubscriptions gives back so many of those that a session holds.
type ReleaseSubscriptions struct {
	Session kernel.Reference
	Count   int
}

func (ReleaseSubscriptions) Class() kernel.Class { return kernel.Outcome }

// ResourceKnown tells who has asked for that (SubscribeURI.Hint) that the server has mentioned the resource: there is one to wait for. The answer
// comes when the server has given it.
type ResourceKnown struct{ Seq uint64 }

func (ResourceKnown) Class() kernel.Class { return kernel.Outcome }

// ResourceUpdated says that a resource the session subscribed to has changed. A newer one replaces one that still waits.
type ResourceUpdated struct {
	Server string
	URI    string // the server's own
	Frame  protocol.Frame
	Span   rawjson.Span // params.uri inside Frame.Raw
}

func (ResourceUpdated) Class() kernel.Class { return kernel.State }

// Key: of several updates of one resource only the newest counts.
func (u ResourceUpdated) Key() any { return updatedKey{u.Server, u.URI} }

// Size is what it holds.
func (u ResourceUpdated) Size() int { return len(u.Frame.Raw) }

// Sum: a server may name any number of parts of what was subscribed to.
func (u ResourceUpdated) Sum() any { return ResourcesUpdated{u.Server} }

type updatedKey struct{ server, uri string }

// ResourcesUpdated says that more resources of the server have changed than can be named; each that was subscribed to may be one of them.
type ResourcesUpdated struct{ Server string }

func (ResourcesUpdated) Class() kernel.Class { return kernel.State }

// Key: of each server one is enough.
func (u ResourcesUpdated) Key() any { return u }

// ServerLog is a log line of a server that belongs to no call.
type ServerLog struct {
	Backend   kernel.Reference // that has heard it
	Server    string
	Frame     protocol.Frame
	Principal string // whose connection it is; "" = one for everybody
}

func (ServerLog) Class() kernel.Class { return kernel.LogLine }

// Size is what it holds.
func (l ServerLog) Size() int { return len(l.Frame.Raw) }

// ElicitationDone passes notifications/elicitation/complete on to the client that was asked.
type ElicitationDone struct{ Frame protocol.Frame }

func (ElicitationDone) Class() kernel.Class { return kernel.Outcome }
