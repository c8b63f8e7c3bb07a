package message

import (
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// Dispatch tells a pool to have one of its backends execute the request. The holder receives exactly one Done or Failed
// for it, unless it sends Cancel.
type Dispatch struct {
	Call    CallRef
	Request *Request
}

// Abandon answers a Dispatch that the pool did not handle (mailbox full, pool gone or panicked).
func (d Dispatch) Abandon(why kernel.Reason) { abandon(d.Call, d.Request, why) }

// Cancel withdraws a call: a queued call is dropped, and a running one is canceled at the server. The pool does not
// answer: the holder has already answered its client, or needs no answer.
type Cancel struct {
	Call     CallRef
	Reason   string
	TimedOut bool // the call is canceled because the server did not accept or answer it in time
}

// Class is Outcome: a Cancel is never refused, and never overtakes its own Dispatch.
func (Cancel) Class() kernel.Class { return kernel.Outcome }

// Reconfigure gives a pool its new configuration. If Transport is set, the connections must be replaced. Confirm is passed
// to the registry after the changes were reported there; its zero value requests no confirmation.
type Reconfigure struct {
	Server    config.Server
	Transport bool
	Known     *KnownCatalog // the server's last known catalog; nil = none
	Confirm   Confirm
}

// Class is Outcome: without the message, the change would not take effect until the next reload.
func (Reconfigure) Class() kernel.Class { return kernel.Outcome }

// Abandon confirms, because the pool will report no changes.
func (m Reconfigure) Abandon(kernel.Reason) {
	if m.Confirm != (Confirm{}) {
		m.Confirm.From.Tell(ConfirmResult{m.Confirm.Key})
	}
}

// NewServer gives backends configuration changes that do not affect their connection.
type NewServer struct{ Server config.Server }

func (NewServer) Class() kernel.Class { return kernel.State }

// NewLimits gives pools, sessions and stateless sessions the gateway's new limits.
type NewLimits struct{ Limits config.Limits }

func (NewLimits) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest limits matter.
func (NewLimits) Key() any { return limitsKey{} }

type limitsKey struct{}

// Restart tells a pool to replace its connections, on an operator's request.
type Restart struct {
	Member string       // only this member of a group; "" = all
	Aim    status.Aim   // if the pool has other connections, it does nothing and answers status.ErrRestarted
	Reply  chan<- error // capacity 1; nil = no answer
}

// Class is Urgent, because a pool with a full mailbox may be the reason for the request.
func (Restart) Class() kernel.Class { return kernel.Urgent }

// Abandon answers that the server has no pool that could restart it, or that the pool did not handle the request.
func (r Restart) Abandon(why kernel.Reason) { r.Answer(notHandled(why)) }

// Answer sends the answer to the operator.
func (r Restart) Answer(err error) { answer(r.Reply, err) }

// BackendChanged reports a backend's state to the pool. It is sent when the actor starts, on every change of phase, when
// the next attempt is brought forward, and when the reason changes while the backend is ready.
type BackendChanged struct {
	Backend     kernel.Reference
	Replica     int
	Phase       Phase
	Incarnation uint64 // number of the connection; a backend that replaces another continues its numbers
	Reason      string // why the backend is not ready, or what it lacks although it is ready; clients may see it
	LastLine    string // the most telling line of the ended process's stderr: for operators, never for clients
	NextAttempt time.Time
	Info        *ServerInfo // set while syncing and when ready
	Known       KnownEra    // when ready: the era that was detected; EraUnknown = the configuration sets the era
	NoLogin     bool        // with phase NeedsLogin: logging in does not help; credentials have to be configured
	Refused     bool        // the server does not support the only permitted era
	Restarted   bool        // the actor has just (re)started: its calls are lost
}

func (BackendChanged) Class() kernel.Class { return kernel.Outcome }

// Explain returns a reason and, if lastLine is not empty, this line of the process's stderr, for operators.
func Explain(reason, lastLine string) string {
	if lastLine == "" {
		return reason
	}
	return reason + "; stderr: " + lastLine
}

// slowStart is how long a start may take before operators see what it is waiting for, unless a failure preceded it.
const slowStart = 3 * time.Second

// Awaited says what a starting backend is waiting for, or "" in any other phase.
func Awaited(phase Phase) string {
	switch phase {
	case Connecting:
		return "waiting for the connection"
	case Handshaking:
		return "waiting for the response to the handshake"
	case Syncing:
		return "waiting for the server's lists"
	}
	return ""
}

// Starting describes for operators what a starting backend is waiting for, how long it has waited if that is at least
// slowStart, and why the previous attempt failed. It returns "" if the wait is shorter and no attempt has failed. The
// result long reports whether the wait is at least slowStart.
func Starting(phase Phase, d time.Duration, before string) (text string, long bool) {
	text, long = Awaited(phase), d >= slowStart
	if long {
		text += " for " + Seconds(d)
	}
	if before == "" && !long {
		return "", false
	}
	return WithFailure(text, before), long
}

// beforeFailure separates what a start is waiting for from the failure of the previous attempt.
const beforeFailure = "; previous failure: "

// WithFailure joins what a start is waiting for and the failure of the previous attempt. Either may be empty.
func WithFailure(waits, failure string) string {
	if waits == "" || failure == "" {
		return waits + failure
	}
	return waits + beforeFailure + failure
}

// CutFailure returns the failure in a reason made by WithFailure, and whether the reason has both parts.
func CutFailure(reason string) (failure string, found bool) {
	_, failure, found = strings.Cut(reason, beforeFailure)
	return failure, found
}

// Seconds formats a duration, rounded to whole seconds.
func Seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }

// ServerInfo is what a server declared about itself in its handshake. It is immutable.
type ServerInfo struct {
	Version      string // negotiated protocol version
	Capabilities []byte // raw JSON object
	Info         []byte // raw JSON of serverInfo
	Instructions string
}

// Listed is a complete list of one kind from one backend.
type Listed struct {
	Backend     kernel.Reference
	Incarnation uint64
	Kind        protocol.ItemKind
	Items       [][]byte // raw JSON objects in the server's order
	Announced   bool     // the server announced a change: counts as a change even if the list is equal
	Silent      bool     // the server does not announce changes
}

func (Listed) Class() kernel.Class { return kernel.Outcome }

// BackendIdle says that a backend is idle: it has no calls, and no running task that would be lost with its connection.
type BackendIdle struct{ Backend kernel.Reference }

func (BackendIdle) Class() kernel.Class { return kernel.Outcome }

// ListStale reports that a list has changed, as notified on a connection that only carries calls. The connection that
// carries the catalog fetches the list again.
type ListStale struct{ Kind protocol.ItemKind }

func (ListStale) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: one fetch for each kind is enough.
func (s ListStale) Key() any { return s }

// CallEnded says that a call has left its backend, so another may use its capacity.
type CallEnded struct {
	Backend kernel.Reference
	Call    CallRef
	Pause   time.Duration // how long to send no further requests (HTTP 429); 0 = no pause
}

func (CallEnded) Class() kernel.Class { return kernel.Outcome }

// CallParked tells the pool whether a call waits for an answer from its client. While it does, another call may use its
// capacity.
type CallParked struct {
	Backend kernel.Reference
	Call    CallRef
	Yes     bool
}

func (CallParked) Class() kernel.Class { return kernel.Outcome }

// UnattributedRequest tells the pool that a server's request other than roots/list did not name its call. If several calls
// may have caused it, the backend refused it; otherwise the backend assigned it to the most likely call.
type UnattributedRequest struct{ Backend kernel.Reference }

func (UnattributedRequest) Class() kernel.Class { return kernel.State }

// SubscribeURI subscribes to updates of a resource. The answer is one SubscribeURIResult. URI is the server's, not the
// public one.
type SubscribeURI struct {
	From kernel.Reference
	Seq  uint64 // of the subscriber's request
	URI  string

	Own *ConnectionOwner // nil = on shared connections

	Unlisted bool // the URI is not listed; the pool subscribes only if the server has mentioned it
	Hint     bool // the pool sends ResourceKnown before the answer if the server has mentioned the URI
}

// Abandon answers a subscriber whose request the pool never handled.
func (s SubscribeURI) Abandon(kernel.Reason) {
	s.From.Tell(SubscribeURIResult{Seq: s.Seq, Fault: ServerHasGone("")})
}

// ServerHasGone returns the fault for a subscriber whose pool is gone or never handled the request.
func ServerHasGone(server string) *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: server, Message: "the server is no longer available", Retryable: true}
}

// Resubscribe tells a pool what a client was subscribed to at the previous pool, or before this pool's restart. There is no
// answer. When the server has accepted the subscription, the client is notified that the resource may have changed.
type Resubscribe struct {
	From kernel.Reference
	Own  *ConnectionOwner // nil = on shared connections
	URIs []string
}

// Class is Outcome: each subscriber sends one for each tenant, whatever the number of its subscriptions.
func (Resubscribe) Class() kernel.Class { return kernel.Outcome }

// UnsubscribeURI ends a subscription. There is no answer.
type UnsubscribeURI struct {
	From   kernel.Reference
	Tenant string // key of the tenant that subscribed; "" = on shared connections
	URI    string
}

func (UnsubscribeURI) Class() kernel.Class { return kernel.Outcome }

// UnsubscribeAll ends all subscriptions of a subscriber that is gone.
type UnsubscribeAll struct{ From kernel.Reference }

func (UnsubscribeAll) Class() kernel.Class { return kernel.Outcome }

// QueryResult answers a Query with the server's response or a gateway error.
type QueryResult struct {
	Backend kernel.Reference
	Key     uint64
	Frame   protocol.Frame
	Fault   *protocol.Fault // nil when Frame is set
}

func (QueryResult) Class() kernel.Class { return kernel.Outcome }

// SetLevel sets the log level of a pool's shared connections, or of one backend. Level is the most verbose level that any
// client of these connections has set; LevelNone = no client has set one.
type SetLevel struct{ Level protocol.Level }

func (SetLevel) Class() kernel.Class { return kernel.Outcome }

// RootsChanged says that a client's roots have changed. It is sent only to pools whose servers have requested them.
type RootsChanged struct {
	Client string // the client's Caller.ClientKey; other clients' connections are not affected
}

func (RootsChanged) Class() kernel.Class { return kernel.Outcome }

// NotExecuted says that the server has not executed this request. Usually nothing of it reached the server. Otherwise the
// server refused it. The pool may try another backend.
type NotExecuted struct {
	Backend kernel.Reference
	Call    CallRef
	Request *Request
	Reason  string
	Full    bool // the backend's mailbox was full
	Lost    bool // the backend's connection has ended; BackendChanged follows

	Login *LoginRefused // set if the server refused the request because of its credentials; nil = there is another reason
}

func (NotExecuted) Class() kernel.Class { return kernel.Outcome }

// Abandon answers a call whose pool is gone.
func (r NotExecuted) Abandon(why kernel.Reason) { abandon(r.Call, r.Request, why) }

// Phase is a backend's stage of life (docs/actors.md).
type Phase string

// A backend passes through the first five phases in this order.
const (
	Idle          Phase = "idle"          // not started yet
	Connecting    Phase = "connecting"    // the process starts, or the host is dialed
	Handshaking   Phase = "handshaking"   // initialize or server/discover was sent
	Syncing       Phase = "syncing"       // the lists are being fetched
	Ready         Phase = "ready"         // calls are sent to the server
	Waiting       Phase = "waiting"       // the last attempt failed or the connection was lost; the next attempt is scheduled
	Draining      Phase = "draining"      // accepts no new calls; running ones may finish
	Stopped       Phase = "stopped"       // permanently
	Disabled      Phase = "disabled"      // by configuration
	Misconfigured Phase = "misconfigured" // the configuration has an error
	NeedsLogin    Phase = "needs-login"   // authorization is missing
)
