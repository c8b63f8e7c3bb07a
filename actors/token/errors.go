package token

import (
	"errors"

	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

var (
	// ErrNeedsLogin is in the error of a verdict when a person has to log in.
	ErrNeedsLogin = errors.New("nobody is logged in at the server")
	// ErrScope is in it when the login does not reach as far as the request.
	ErrScope = errors.New("the login does not reach that far")
	// ErrLoop is in it when the server refuses tokens that were granted a moment ago.
	ErrLoop = errors.New("the server refuses tokens that were granted a moment ago")
	// ErrExpired is returned to who waited for a login that took too long.
	ErrExpired = errors.New("the login took too long; begin it again")
	// ErrTooMany is returned when too many logins are under way.
	ErrTooMany = errors.New("too many logins are under way; try again in some minutes")
	// ErrOvertaken is returned to who waited for a login that was given up for another one.
	ErrOvertaken = errors.New("the login was given up")

	errGone    = errors.New("the gateway is going, or the server is no longer configured")
	errUnheard = errors.New("the login is forgotten here; whether the authorization server has heard of it is not known")
)

// What requests are told.
var (
	errNoRefresh = &Error{"renew the login", ErrNeedsLogin, "there is no refresh token: log in again"}
	errLoggedOut = &Error{"log in", ErrNeedsLogin, "somebody has logged out; log in again"}
	errLoop      = &Error{"renew the login", ErrLoop, "log in again, or ask whoever runs the server why it refuses them"}
)

// Error says what could not be done about a login.
type Error struct {
	Op   string
	Err  error
	hint string
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// noLoginError says that no login helps, and what does. It matches upstream.ErrNoLogin.
type noLoginError struct{ err error }

func (e *noLoginError) Error() string {
	text := "the server does not say where to log in"
	if refused, is := errors.AsType[*oauth.RefusedError](e.err); is && refused.Detail != "" {
		text = refused.Detail
	}
	if hint := oauth.Hint(e.err); hint != "" {
		text += "; " + hint
	}
	return text
}

func (e *noLoginError) Unwrap() []error { return []error{e.err, upstream.ErrNoLogin} }

// Hint says what a person can do; "" = nothing is known.
func (e *Error) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return oauth.Hint(e.Err)
}
