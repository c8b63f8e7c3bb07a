package message

import (
	"cmp"
	"errors"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
)

// LoggedIn tells backends that the login they have waited for is there: they connect now.
type LoggedIn struct{}

func (LoggedIn) Class() kernel.Class { return kernel.Outcome }

// LoggedOut tells backends that the login they use was given up. What runs on their connections ends.
type LoggedOut struct{ Reason string }

func (LoggedOut) Class() kernel.Class { return kernel.Outcome }

// LoginRefused says why a server refuses a request for its credentials. Clients may see it.
type LoginRefused struct {
	Reason string
	Scope  bool // there is a login, which does not reach as far
	None   bool // no login helps: credentials have to be configured
}

// LoginKey names a login: one of an entry of mcpServers, by name, for a lane ("" = everybody's, else a principal's holder).
type LoginKey struct{ Entry, Lane string }

// Compare orders logins, for what is done to many of them at once.
func (k LoginKey) Compare(other LoginKey) int {
	return cmp.Or(cmp.Compare(k.Entry, other.Entry), cmp.Compare(k.Lane, other.Lane))
}

// LoginPhase is where a login stands.
type LoginPhase string

// The phases of a login.
const (
	LoginNone    LoginPhase = "none"    // there is none, and nobody has asked for one
	LoginNeeded  LoginPhase = "needed"  // the server wants one
	LoginPresent LoginPhase = "present" // there is one
)

// LoginChanged tells a pool what has become of one of its logins.
type LoginChanged struct {
	Login  LoginKey
	Phase  LoginPhase
	Reason string // why it is needed; clients may see it
}

func (LoginChanged) Class() kernel.Class { return kernel.Outcome }

var (
	// ErrLoginNotYours is the answer to who wants a login that is another principal's, or everybody's without being an admin.
	ErrLoginNotYours = errors.New("that login is not yours")
	// ErrNoLogins is the answer where there is no such server, or it has no login of ours.
	ErrNoLogins = errors.New("there is no login of ours at that server")
	// ErrNotUnderWay is the answer to who brings what came of a login that nobody has begun, or that is over.
	ErrNotUnderWay = errors.New("no such login is under way; begin it again")
)

// RequestLogin asks a pool for the login of a principal, to begin or to end. Exactly one of Begin and End is set.
type RequestLogin struct {
	Entry   string // of mcpServers
	Who     *identity.Principal
	Catalog bool            // under as: principal: not its own, but the one that lists what there is
	Named   chan<- LoginKey // is told which one that is, before the answer; capacity 1, nil = nobody wants to know
	Begin   *BeginLogin
	End     *EndLogin
}

func (RequestLogin) Class() kernel.Class { return kernel.Outcome }

// Abandon answers whoever asks.
func (m RequestLogin) Abandon(why kernel.Reason) { m.Refuse(abandoned(why)) }

// Refuse answers whoever asks.
func (m RequestLogin) Refuse(err error) {
	if m.Begin != nil {
		offer(m.Begin.Reply, LoginStarted{Err: err})
		return
	}
	offer(m.End.Reply, LoginFinished{Err: err})
}

// EndLogins says who is nobody any more: the logins of its own end, here and at the authorization servers.
type EndLogins struct {
	Who  map[string]bool // holders of principals; nobody writes to it
	Kept []LoginKey      // logins of theirs that are remembered, also without an actor; nobody writes to it
}

// Class: it is told once.
func (EndLogins) Class() kernel.Class { return kernel.Outcome }

// LoginAnswer brings a pool the answer to a login.
type LoginAnswer struct {
	Login  LoginKey
	Finish FinishLogin
}

func (LoginAnswer) Class() kernel.Class { return kernel.Outcome }

// Abandon answers whoever brings it.
func (m LoginAnswer) Abandon(why kernel.Reason) { m.Finish.Abandon(why) }
