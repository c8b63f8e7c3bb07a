package token

import (
	"errors"

	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

var (
	// ErrNeedsLogin is wrapped by a verdict's error if a person has to log in.
	ErrNeedsLogin = errors.New("not logged in to the server")
	// ErrScope is wrapped by a verdict's error if the login lacks scopes.
	ErrScope = errors.New("the login lacks scopes")
	// ErrLoop is wrapped by a verdict's error if the server refuses even newly issued tokens.
	ErrLoop = errors.New("the server refuses newly issued tokens")
	// ErrExpired is returned for a login that was not completed in time.
	ErrExpired = errors.New("the login timed out; start it again")
	// ErrTooMany is returned for a new login if too many are pending, at one server or in the gateway.
	ErrTooMany = errors.New("too many logins are in progress; try again in a few minutes")
	// ErrOvertaken is returned for a login that was ended or replaced by another one.
	ErrOvertaken = errors.New("the login was canceled")

	errGone       = errors.New("the gateway is stopping, or the server is no longer configured")
	errRestarted  = errors.New("the gateway had an internal error; try again")
	errUnanswered = errors.New("the login was removed from the gateway, but the authorization server may not have revoked it")
)

// Errors in the verdicts on refused requests.
var (
	errNoRefresh = &Error{"renew the login", ErrNeedsLogin, "no refresh token; log in again"}
	errLoggedOut = &Error{"log in", ErrNeedsLogin, "logged out; log in again"}
	errLoop      = &Error{"renew the login", ErrLoop, "log in again, or ask the server's operator why it refuses new tokens"}
)

// Error is a failed operation on a login.
type Error struct {
	Op   string // what failed, such as "renew the login"
	Err  error
	hint string // overrides the hint of Err; "" = none
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// noLoginError reports that a login cannot help and, if that is known, what to do instead. It matches
// upstream.ErrNoLogin.
type noLoginError struct{ err error }

func (e *noLoginError) Error() string {
	text := "the server does not name an authorization server"
	if refused, is := errors.AsType[*oauth.RefusedError](e.err); is && refused.Detail != "" {
		text = refused.Detail
	}
	if hint := oauth.Hint(e.err); hint != "" {
		text += "; " + hint
	}
	return text
}

func (e *noLoginError) Unwrap() []error { return []error{e.err, upstream.ErrNoLogin} }

// Hint returns what a person can do about the error, or "".
func (e *Error) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return oauth.Hint(e.Err)
}
