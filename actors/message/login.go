package message

import (
	"errors"
	"time"

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
}

// LoginKey names a login: one of an entry of mcpServers, by name, for a lane ("" = everybody's, else a principal's id).
type LoginKey struct{ Entry, Lane string }

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

// BeginLogin asks for a login by a person. One LoginBegun answers it.
type BeginLogin struct {
	Login    LoginKey
	Who      string            // id of the principal that asks: only its FinishLogin counts
	Redirect string            // where the browser comes back to; unused with Device
	Device   bool              // the person has a browser on another device
	Reply    chan<- LoginBegun // has room for one
}

func (BeginLogin) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where there is nobody to log in.
func (m BeginLogin) Abandon(why kernel.Why) {
	m.Reply <- LoginBegun{Login: m.Login, Err: errors.New("the server has gone: " + string(why))}
}

// LoginBegun is a login under way, or why there is none.
type LoginBegun struct {
	Login    LoginKey
	URL      string // for the person's browser
	State    string // which login the answer is of
	UserCode string // with Device: to be entered there
	Expires  time.Time
	Err      error
}

// FinishLogin brings what the browser came back with. Of a login with Device Code and Error are empty: it waits for its end. One LoginDone
// answers it.
type FinishLogin struct {
	Login               LoginKey
	Who                 string
	State, Code, Issuer string
	Error, Detail       string           // of the authorization server, in place of Code
	Reply               chan<- LoginDone // has room for one
}

func (FinishLogin) Class() kernel.Class { return kernel.Outcome }

// Abandon likewise.
func (m FinishLogin) Abandon(why kernel.Why) {
	m.Reply <- LoginDone{errors.New("the server has gone: " + string(why))}
}

// Logout gives a login up, at the authorization server too where that can be. One LoginDone answers it.
type Logout struct {
	Login LoginKey
	Reply chan<- LoginDone // has room for one
}

func (Logout) Class() kernel.Class { return kernel.Outcome }

// Abandon likewise.
func (m Logout) Abandon(why kernel.Why) {
	m.Reply <- LoginDone{errors.New("the server has gone: " + string(why))}
}

// LoginDone is what became of it; nil = it is done.
type LoginDone struct{ Err error }

var (
	// ErrLoginNotYours is the answer to who wants a login that is another principal's, or everybody's without being an admin.
	ErrLoginNotYours = errors.New("that login is not yours")
	// ErrNoLogins is the answer where there is no such server, or it has no login of ours.
	ErrNoLogins = errors.New("there is no login of ours at that server")
)

// WantLogin asks a pool for the login of a principal, to begin or to give up. Exactly one of Begin and Logout is set, whose Login names the entry alone.
type WantLogin struct {
	Who     *identity.Principal
	Catalog bool // under as: principal: not its own, but the one that lists what there is
	Begin   *BeginLogin
	Logout  *Logout
}

func (WantLogin) Class() kernel.Class { return kernel.Outcome }

// Abandon answers whoever asks.
func (m WantLogin) Abandon(why kernel.Why) {
	m.Refuse(errors.New("the server has gone: " + string(why)))
}

// Refuse answers whoever asks.
func (m WantLogin) Refuse(err error) {
	if m.Begin != nil {
		m.Begin.Reply <- LoginBegun{Login: m.Begin.Login, Err: err}
		return
	}
	m.Logout.Reply <- LoginDone{err}
}

// Entry is the entry of mcpServers that is meant.
func (m WantLogin) Entry() string {
	if m.Begin != nil {
		return m.Begin.Login.Entry
	}
	return m.Logout.Login.Entry
}
