package message

import (
	"cmp"
	"errors"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
)

// LoggedIn tells backends that the login they wait for is now present. They request a connection at once.
type LoggedIn struct{}

func (LoggedIn) Class() kernel.Class { return kernel.Outcome }

// LoggedOut tells backends that their login was ended. Calls on their connections end.
type LoggedOut struct{ Reason string }

func (LoggedOut) Class() kernel.Class { return kernel.Outcome }

// LoginRefused says why a server rejected the credentials of a request. Clients may see it.
type LoginRefused struct {
	Reason string
	Scope  bool // there is a login, but its scope does not suffice
	None   bool // no login helps: credentials have to be configured
}

// LoginKey identifies a login: Entry is the entry of mcpServers, Lane the holder of a principal or "" for the shared login.
type LoginKey struct{ Entry, Lane string }

// Compare orders logins by entry, then by lane.
func (k LoginKey) Compare(other LoginKey) int {
	return cmp.Or(cmp.Compare(k.Entry, other.Entry), cmp.Compare(k.Lane, other.Lane))
}

// LoginPhase is the state of a login.
type LoginPhase string

// The phases of a login.
const (
	LoginNone    LoginPhase = "none"    // there is no login, and the server has not required one
	LoginNeeded  LoginPhase = "needed"  // the server requires a login
	LoginPresent LoginPhase = "present" // there is a login

	// LoginUnavailable says that a request was refused, and that the nodes of the cluster cannot read or renew the login that they share.
	LoginUnavailable LoginPhase = "unavailable"
)

// LoginChanged tells a pool that one of its logins has changed.
type LoginChanged struct {
	Login  LoginKey
	Phase  LoginPhase
	Reason string // why a login is needed; clients may see it
}

func (LoginChanged) Class() kernel.Class { return kernel.Outcome }

var (
	// ErrLoginNotYours is returned to a principal that wants to begin or end the shared login, and is no operator.
	ErrLoginNotYours = errors.New("that login is not yours")
	// ErrNoLogins is returned if there is no such server, or the gateway does not handle its logins.
	ErrNoLogins = errors.New("the gateway has no login for that server")
	// ErrNotUnderWay is returned for the result of a login that was not started or is over.
	ErrNotUnderWay = errors.New("no such login is in progress; start it again")
	// ErrStillShared is returned for a logout that could not empty the record which the nodes of a cluster share. The login's actor tries
	// again until it succeeds or stops.
	ErrStillShared = errors.New("the login was removed from this node, but the other nodes may use it until the records of the cluster are available")
)

// RequestLogin tells a pool to begin or end a login for a principal. Exactly one of Begin and End is set.
type RequestLogin struct {
	Entry   string // of mcpServers
	Who     *identity.Principal
	Catalog bool            // with `as: principal`: the login that lists the catalog, instead of the principal's own
	Named   chan<- LoginKey // receives the login's key before the answer; capacity 1, nil = not wanted
	Begin   *BeginLogin
	End     *EndLogin
}

func (RequestLogin) Class() kernel.Class { return kernel.Outcome }

// Abandon refuses the request.
func (m RequestLogin) Abandon(why kernel.Reason) { m.Refuse(abandoned(why)) }

// Refuse answers the requester with err.
func (m RequestLogin) Refuse(err error) {
	if m.Begin != nil {
		offer(m.Begin.Reply, LoginStarted{Err: err})
		return
	}
	offer(m.End.Reply, LoginFinished{Err: err})
}

// EndLogins names principals that no longer exist. Their logins are ended here and revoked at the authorization servers.
type EndLogins struct {
	Who    map[string]bool // holders of principals; immutable
	Stored []LoginKey      // all stored logins of these principals, with or without a token actor; nil = not looked up yet. Immutable
}

// Class is Outcome, since the message is sent only once.
func (EndLogins) Class() kernel.Class { return kernel.Outcome }

// LoginAnswer delivers the result of a login page to a pool.
type LoginAnswer struct {
	Login  LoginKey
	Finish FinishLogin
}

func (LoginAnswer) Class() kernel.Class { return kernel.Outcome }

// Abandon answers with an error.
func (m LoginAnswer) Abandon(why kernel.Reason) { m.Finish.Abandon(why) }
