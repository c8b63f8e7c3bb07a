package message

import (
	"time"

	"goblin-actor/actors/kernel"
)

// BeginLogin tells a token actor to begin a person's login.
type BeginLogin struct {
	Who         string              // the principal's holder; only it can finish the login
	RedirectURI string              // where the browser delivers the result; "" for a device login
	Device      bool                // device login: the person enters a code on another device
	Reply       chan<- LoginStarted // capacity 1
}

// Abandon answers with an error if the actor does not exist or did not handle the message.
func (m BeginLogin) Abandon(why kernel.Reason) {
	offer(m.Reply, LoginStarted{Err: abandoned(why)})
}

// LoginStarted answers BeginLogin. The login times out at Expires; a device login may time out earlier.
type LoginStarted struct {
	State    string // identifies the login; cannot be guessed
	URL      string // for the person's browser; for a device login, where the code is entered
	Complete string // for a device login: URL with the code included; "" = none
	UserCode string // for a device login
	Issuer   string // authorization server that asks the person to log in
	Expires  time.Time
	Err      error  // nil if the login has begun
	Hint     string // what a person can do about Err
}

// String keeps the state out of logs.
func (LoginStarted) String() string { return "[redacted]" }

// FinishLogin delivers the parameters that the browser brought to the redirect URI. For a device login, the answer waits until the
// login ends.
type FinishLogin struct {
	Who                                     string               // principal's holder
	State, Code, Issuer, Error, Description string               // decoded parameters; for a device login only State
	Reply                                   chan<- LoginFinished // capacity 1
}

// String keeps codes out of logs.
func (FinishLogin) String() string { return "[redacted]" }

// Abandon answers with an error if the actor does not exist or did not handle the message.
func (m FinishLogin) Abandon(why kernel.Reason) { m.Refuse(abandoned(why)) }

// Refuse answers with an error.
func (m FinishLogin) Refuse(err error) { offer(m.Reply, LoginFinished{Err: err}) }

// LoginFinished answers FinishLogin and EndLogin.
type LoginFinished struct {
	Err  error  // nil if the login or logout is complete
	Hint string // what a person can do about Err
}

// EndLogin tells a token actor to end its login, here and at the authorization server.
type EndLogin struct {
	Reply  chan<- LoginFinished // capacity 1; nil = no answer
	Forgot chan<- struct{}      // receives a value when the login was removed from the state file, before the answer; capacity 1, or nil
}

// Abandon answers with an error if the actor does not exist or did not handle the message.
func (m EndLogin) Abandon(why kernel.Reason) {
	offer(m.Reply, LoginFinished{Err: abandoned(why)})
}

// LoginReport is a token actor's part of the status.
type LoginReport struct {
	Login   LoginKey
	Phase   string // none, discovering, needs-login, fresh, refreshing or stale
	Issuer  string // "" = unknown
	Scopes  []string
	Expires time.Time // of the access token; zero = unknown
	Renewed time.Time // when the access token was received; zero = there is none
	Pending int       // logins that people have begun and not finished
	Fault   string    // the last error; "" = none
}

type abandonedError struct{ why kernel.Reason }

func (e abandonedError) Error() string {
	return "the gateway did not process the request: " + string(e.why)
}

func abandoned(why kernel.Reason) error { return abandonedError{why} }

// offer sends an answer unless there already is one.
func offer[T any](reply chan<- T, answer T) {
	select {
	case reply <- answer:
	default:
	}
}
