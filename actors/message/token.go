package message

import (
	"time"

	"goblin-actor/actors/kernel"
)

// BeginLogin asks a token actor to begin a login of a person.
type BeginLogin struct {
	Who         string              // the principal's holder: only it can finish the login
	RedirectURI string              // where the browser brings the answer; "" with Device
	Device      bool                // by a code that is entered elsewhere
	Reply       chan<- LoginStarted // capacity 1
}

// Abandon answers when there is nobody to begin it.
func (m BeginLogin) Abandon(why kernel.Reason) {
	offer(m.Reply, LoginStarted{Err: abandoned(why)})
}

// LoginStarted answers BeginLogin. The login is over at Expires.
type LoginStarted struct {
	State    string // names the login; nobody can guess it
	URL      string // for the person's browser; of a device, where the code is entered
	Complete string // of a device: the same with the code in it; "" = none
	UserCode string // of a device
	Issuer   string // who asks the person to log in
	Expires  time.Time
	Err      error  // nil = it has begun
	Hint     string // what a person can do about Err
}

// String keeps the state out of logs.
func (LoginStarted) String() string { return "[redacted]" }

// FinishLogin brings a token actor what the browser brought to the redirect URI. Of a login by device it waits for the end.
type FinishLogin struct {
	Who                                     string               // who brings it
	State, Code, Issuer, Error, Description string               // as they came, decoded; of a device only State
	Reply                                   chan<- LoginFinished // capacity 1
}

// String keeps codes out of logs.
func (FinishLogin) String() string { return "[redacted]" }

// Abandon answers when there is nobody to finish it.
func (m FinishLogin) Abandon(why kernel.Reason) { m.Refuse(abandoned(why)) }

// Refuse answers whoever brings it.
func (m FinishLogin) Refuse(err error) { offer(m.Reply, LoginFinished{Err: err}) }

// LoginFinished answers FinishLogin and EndLogin.
type LoginFinished struct {
	Err  error  // nil = the login is there, or gone
	Hint string // what a person can do about Err
}

// EndLogin has a token actor forget its login, here and at the authorization server.
type EndLogin struct {
	Reply  chan<- LoginFinished // capacity 1; nil = nobody waits for it
	Forgot chan<- struct{}      // is told when it is forgotten here, on disk too, before the answer; capacity 1, nil = nobody wants to know
}

// Abandon answers when there is nobody to end it.
func (m EndLogin) Abandon(why kernel.Reason) {
	offer(m.Reply, LoginFinished{Err: abandoned(why)})
}

// LoginReport is a token actor's answer to Inspect.
type LoginReport struct {
	Login   LoginKey
	Phase   string // none, discovering, needs-login, fresh, refreshing or stale
	Issuer  string // "" = not known
	Scopes  []string
	Expires time.Time // of the access token; zero = not known
	Pending int       // logins under way
	Fault   string    // the last, for people; "" = none
}

type abandonedError struct{ why kernel.Reason }

func (e abandonedError) Error() string { return "the gateway could not do that: " + string(e.why) }

func abandoned(why kernel.Reason) error { return abandonedError{why} }

// offer answers somebody who may have had an answer already.
func offer[T any](reply chan<- T, answer T) {
	select {
	case reply <- answer:
	default:
	}
}
