package message

import (
	"cmp"
	"errors"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
)

// LoggedIn tells backends that the login they wait for is there. They connect now.
type LoggedIn struct{}

func (LoggedIn) Class() kernel.Class { return kernel.Outcome }

// LoggedOut tells backends that their login was ended. Calls on their connections end.
type LoggedOut struct{ Reason string }

func (LoggedOut) Class() kernel.Class { return kernel.Outcome }

// LoginRefused says why a server rejects a request because of its credentials. Clients may see it.
type LoginRefused struct {
	Reason string
	Scope  bool // there is a login, but its scope does not suffice
	None   bool // no login helps: credentials have to be configured
}

// LoginKey names a login: of an entry of mcpServers, for a lane ("" = shared, else a principal's holder).
type LoginKey struct{ Entry, Lane string }

// Compare orders logins by entry, then by lane.
func (k LoginKey) Compare(other LoginKey) int {
	return cmp.Or(cmp.Compare(k.Entry, other.Entry), cmp.Compare(k.Lane, other.Lane))
}

// LoginPhase is the state of a login.
type LoginPhase string

// The phases of a login.
const (
	LoginNone    LoginPhase = "none"    // there is none, and the server has not asked for one
	LoginNeeded  LoginPhase = "needed"  // the server wants one
	LoginPresent LoginPhase = "present" // there is one
)

// LoginChanged tells a pool that one of its logins has changed.
type LoginChanged struct {
	Login  LoginKey
	Phase  LoginPhase
	Reason string // why it is needed; clients may see it
}

func (LoginChanged) Class() kernel.Class { return kernel.Outcome }

var (
	// ErrLoginNotYours answers a principal that wants another principal's login, or the shared one without being an admin.
	ErrLoginNotYours = errors.New("that login is not yours")
	// ErrNoLogins is returned if there is no such server, or the gateway does not handle its logins.
	ErrNoLogins = errors.New("the gateway has no login for that server")
	// ErrNotUnderWay answers the result of a login that was not started, or is over.
	ErrNotUnderWay = errors.New("no such login is in progress; start it again")
)

// RequestLogin asks a pool to begin or end a login of a principal. Exactly one of Begin and End is set.
type RequestLogin struct {
	Entry   string // of mcpServers
	Who     *identity.Principal
	Catalog bool            // with as: principal, the login that lists the catalog instead of the principal's own
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
	Who  map[string]bool // holders of principals; immutable
	Kept []LoginKey      // their stored logins, with or without an actor; immutable
}

// Class is Outcome: it is sent once.
func (EndLogins) Class() kernel.Class { return kernel.Outcome }

// LoginAnswer brings a pool the result of a login page.
type LoginAnswer struct {
	Login  LoginKey
	Finish FinishLogin
}

func (LoginAnswer) Class() kernel.Class { return kernel.Outcome }

// Abandon refuses the answer.
func (m LoginAnswer) Abandon(why kernel.Reason) { m.Finish.Abandon(why) }
