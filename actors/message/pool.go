package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Dispatch asks a pool to have the request answered by one of its backends.
// The holder gets exactly one Done or Failed for it.
type Dispatch struct {
	Call    CallRef
	Request *Request
}

// Abandon answers a Dispatch the pool never handled (mailbox full, pool gone).
func (d Dispatch) Abandon(why kernel.Reason) { abandon(d.Call, d.Request, why) }

// Cancel withdraws a call: a queued one is dropped, a running one is cancelled at the server.
// The holder has answered its client already, or wants no answer; none comes.
type Cancel struct {
	Call     CallRef
	Reason   string
	TimedOut bool // the server did not take or answer it in time
}

// Class: never refused, and never before its own Dispatch.
func (Cancel) Class() kernel.Class { return kernel.Outcome }

// Reconfigure gives a pool its new configuration. Transport says the connections must be replaced. Confirm is passed on to the registry when
// that has been told what is new; its zero value asks nothing.
type Reconfigure struct {
	Server    config.Server
	Transport bool
	Known     *KnownCatalog // what that server offered when it was last asked; nil = never
	Confirm   Confirm
}

// Class: a change that was lost would be in force only after the next one.
func (Reconfigure) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where there is no such pool any more.
func (m Reconfigure) Abandon(kernel.Reason) {
	if m.Confirm != (Confirm{}) {
		m.Confirm.Who.Tell(ConfirmResult{m.Confirm.Key})
	}
}

// NewServer tells backends that their server's configuration has changed in what leaves the connection as it is.
type NewServer struct{ Server config.Server }

func (NewServer) Class() kernel.Class { return kernel.State }

// NewLimits tells pools, sessions and desks that the limits of the gateway have changed.
type NewLimits struct{ Limits config.Limits }

func (NewLimits) Class() kernel.Class { return kernel.State }

// Key: only the newest limits count.
func (NewLimits) Key() any { return limitsKey{} }

type limitsKey struct{}

// Restart asks a pool to replace its connections (an operator's wish).
type Restart struct {
	Member string // of a group: that one's alone; "" = all
}

// BackendChanged tells the pool what has become of one of its backends. Sent on every change of phase.
type BackendChanged struct {
	Backend     kernel.Reference
	Replica     int
	Phase       Phase
	Incarnation uint64 // counts connections of this backend, from 1
	Reason      string // why it is not ready, or what is missing although it is; clients may see it
	LastLine    string // what the process wrote on stderr before it ended: for whoever runs the gateway, never for clients
	NextAttempt time.Time
	Info        *ServerInfo // set while syncing and when ready
	Known       KnownEra    // when ready: the era that was found; unknown = it was configured
	NoLogin     bool        // with phase NeedsLogin: no login helps, credentials have to be configured
	Refused     bool        // the server does not speak the only era that it was to be spoken to in
	Anew        bool        // the actor itself has just (re)started: calls it had are lost
}

func (BackendChanged) Class() kernel.Class { return kernel.Outcome }

// Explain is a reason with the process's last line on stderr, for whoever runs the gateway.
func Explain(reason, lastLine string) string {
	if lastLine == "" {
		return reason
	}
	return reason + "; stderr: " + lastLine
}

// slowStart is how long a start may take before people are told what it waits for.
const slowStart = 3 * time.Second

// Awaited is what a backend waits for that is being started, for people; "" in any other phase.
func Awaited(phase Phase) string {
	switch phase {
	case Connecting:
		return "waits for the connection"
	case Handshaking:
		return "waits for the answer to initialize"
	case Syncing:
		return "waits for its lists"
	}
	return ""
}

// Starting says of a backend that is being started what it has waited for so long, and what went wrong before; while that is
// neither long nor anything, "". It also says whether it is long.
func Starting(phase Phase, d time.Duration, before string) (text string, long bool) {
	text, long = Awaited(phase), d >= slowStart
	if long {
		text += ", for " + Seconds(d) + " now"
	}
	switch {
	case before != "":
		text += "; before: " + before
	case !long:
		return "", false
	}
	return text, long
}

// Seconds is a time span as people say it.
func Seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }

// ServerInfo is what a server said of itself in its handshake. Immutable.
type ServerInfo struct {
	Version      string // protocol version in force
	Capabilities []byte // raw JSON object
	Info         []byte // raw JSON of serverInfo
	Instructions string
}

// Listed is a whole list of one kind, fetched to the last page, from one backend.
type Listed struct {
	Backend     kernel.Reference
	Incarnation uint64
	Kind        protocol.ItemKind
	Items       [][]byte // raw JSON objects in the server's order
	Asked       bool     // the server said list_changed: counts as a change even if the list is equal
	Silent      bool     // the server does not say when it changes
}

func (Listed) Class() kernel.Class { return kernel.Outcome }

// BackendIdle says that a backend has nothing to do: no task that was made on its connection runs.
type BackendIdle struct{ Backend kernel.Reference }

func (BackendIdle) Class() kernel.Class { return kernel.Outcome }

// ListStale says that a connection that carries calls only was told that a list has changed; the one with the catalog asks again.
type ListStale struct{ Kind protocol.ItemKind }

func (ListStale) Class() kernel.Class { return kernel.State }

// Key: to ask again once is enough.
func (s ListStale) Key() any { return s }

// CallEnded says that a call left the backend; its slot is free again.
type CallEnded struct {
	Backend kernel.Reference
	Call    CallRef
	Pause   time.Duration // how long the server wants no further requests (HTTP 429); 0 = it did not say so
}

func (CallEnded) Class() kernel.Class { return kernel.Outcome }

// CallParked tells the pool that a call waits for a client's answer, or no longer does: a parked call takes no slot.
type CallParked struct {
	Backend kernel.Reference
	Call    CallRef
	Yes     bool
}

func (CallParked) Class() kernel.Class { return kernel.Outcome }

// UnattributedRequest tells the pool that a question did not say for which call it was asked, while calls ran. The backend refused it if several
// calls may have asked; otherwise it put the question to the one that most likely did.
type UnattributedRequest struct{ Backend kernel.Reference }

func (UnattributedRequest) Class() kernel.Class { return kernel.State }

// SubscribeURI wants the updates of a resource; the answer is one Subscribed. URI is the server's own.
type SubscribeURI struct {
	Who kernel.Reference
	Seq uint64 // of the subscriber's request
	URI string

	Own *ConnectionOwner // nil = on the connections that are for everybody

	Unlisted bool // only if the server has mentioned it
	Hint     bool // whoever waits for the answer wants to hear before, with Named, that the server has mentioned it
}

// Abandon tells a subscriber that the pool never saw it.
func (s SubscribeURI) Abandon(kernel.Reason) {
	s.Who.Tell(SubscribeURIResult{Seq: s.Seq, Fault: ServerHasGone("")})
}

// ServerHasGone is what a subscriber is told whose pool is no more, or never saw the wish.
func ServerHasGone(server string) *protocol.Fault {
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: server, Message: "the server has gone", Retryable: true}
}

// Resubscribe tells a pool what somebody was subscribed to at the pool before it, or before its restart. Nothing answers;
// that something may have changed meanwhile is told when its server has said yes.
type Resubscribe struct {
	Who  kernel.Reference
	Own  *ConnectionOwner // nil = on the connections that are for everybody
	URIs []string
}

// Class: one comes of each subscriber and tenant, whatever the number of its subscriptions.
func (Resubscribe) Class() kernel.Class { return kernel.Outcome }

// UnsubscribeURI no longer wants them. Nothing answers.
type UnsubscribeURI struct {
	Who    kernel.Reference
	Tenant string // the key of those on whose connections it has subscribed; "" = everybody
	URI    string
}

func (UnsubscribeURI) Class() kernel.Class { return kernel.Outcome }

// UnsubscribeAll says that the subscriber has gone.
type UnsubscribeAll struct{ Who kernel.Reference }

func (UnsubscribeAll) Class() kernel.Class { return kernel.Outcome }

// QueryResult answers a Query: the server's answer, or a fault of ours.
type QueryResult struct {
	Backend kernel.Reference
	Key     uint64
	Frame   protocol.Frame
	Fault   *protocol.Fault // nil when Frame is set
}

func (QueryResult) Class() kernel.Class { return kernel.Outcome }

// SetLevel is the most verbose log level any client wants of this server; LevelNone = nobody has said.
type SetLevel struct{ Level protocol.Level }

func (SetLevel) Class() kernel.Class { return kernel.Outcome }

// RootsChanged says that the roots of a client that a server asked for have changed.
type RootsChanged struct {
	Client string // its Caller.ClientKey: it has no say on the connections of others
}

func (RootsChanged) Class() kernel.Class { return kernel.Outcome }

// NotExecuted says that the server has not executed this request, and mostly that nothing of it reached the server; the pool may try another backend.
type NotExecuted struct {
	Backend kernel.Reference
	Call    CallRef
	Request *Request
	Reason  string
	Full    bool // the backend had no room for it
	Lost    bool // its connection has ended; BackendChanged follows

	Login *LoginRefused // the server has it, and refuses to execute it for that; nil = nothing has reached it
}

func (NotExecuted) Class() kernel.Class { return kernel.Outcome }

// Abandon answers a call whose pool has gone meanwhile.
func (r NotExecuted) Abandon(why kernel.Reason) { abandon(r.Call, r.Request, why) }

// Phase is where a backend stands in its life (docs/actors.md).
type Phase string

// The first five stand in the order in which a backend goes through them.
const (
	Idle          Phase = "idle"          // not wanted yet
	Connecting    Phase = "connecting"    // process starting, host dialled
	Handshaking   Phase = "handshaking"   // initialize sent
	Syncing       Phase = "syncing"       // lists being fetched
	Ready         Phase = "ready"         // calls go through
	Waiting       Phase = "waiting"       // failed; next attempt is set
	Draining      Phase = "draining"      // no new calls, running ones may finish
	Stopped       Phase = "stopped"       // for good
	Disabled      Phase = "disabled"      // by configuration
	Misconfigured Phase = "misconfigured" // a fault of its configuration
	NeedsLogin    Phase = "needs-login"   // authorization is missing
)
