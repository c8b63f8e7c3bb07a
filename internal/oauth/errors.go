package oauth

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoLogin is returned by Discover when neither the server nor its host says where to log in.
	ErrNoLogin = errors.New("the server does not say where to log in")
	// ErrForeignResource is returned by Discover when the metadata is of something else than the server.
	ErrForeignResource = errors.New("the metadata is of another resource")
	// ErrForeignIssuer is returned when an authorization server is not the one that was meant.
	ErrForeignIssuer = errors.New("it is another authorization server")
	// ErrNoPKCE is returned by Authorize for an authorization server without PKCE by S256.
	ErrNoPKCE = errors.New("the authorization server does not say that it does PKCE with S256")
	// ErrNoClient is returned by Register when there is no way to become a client of the authorization server.
	ErrNoClient = errors.New("the authorization server takes no new clients")
	// ErrState is returned by Redeem for an answer to a login that is not this one.
	ErrState = errors.New("the answer belongs to no login that is under way")
	// ErrMixUp is returned by Redeem for an answer of another authorization server than the login went to.
	ErrMixUp = errors.New("the answer comes from another authorization server")
	// ErrUnsupported is returned when the authorization server lacks what is asked of it.
	ErrUnsupported = errors.New("the authorization server cannot do that")
	// ErrMalformed is returned for an answer that is not what the protocol says.
	ErrMalformed = errors.New("the answer is malformed")
)

// RefusedError says why we go no further, and what a person can do. It wraps one of the errors above.
type RefusedError struct {
	Err    error
	Detail string
	hint   string
}

func (e *RefusedError) Error() string {
	if e.Detail == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": " + e.Detail
}

// Hint says what a person can do; "" = nothing is known.
func (e *RefusedError) Hint() string { return e.hint }

func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(err error, hint, format string, args ...any) error {
	return &RefusedError{err, fmt.Sprintf(format, args...), hint}
}

// OAuthError is an answer of an authorization server that says no (RFC 6749, section 5.2).
type OAuthError struct {
	Op          string // what was asked for, such as "refresh the token"
	Status      int    // of HTTP; 0 = it came through the browser
	Code        string // such as invalid_grant; "" = it gave none
	Description string // for people, in the server's words; shortened, without what we sent
}

func (e *OAuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the authorization server says ", e.Op)
	switch {
	case e.Code != "":
		b.WriteString(e.Code)
	default:
		fmt.Fprintf(&b, "http status %d", e.Status)
	}
	if e.Description != "" {
		fmt.Fprintf(&b, " (%q)", e.Description)
	}
	return b.String()
}

// Hint says what a person can do; "" = nothing is known.
func (e *OAuthError) Hint() string {
	switch e.Code {
	case "invalid_client", "unauthorized_client":
		return "check auth.clientId and auth.clientSecret of the server if they are set, else log in again: that registers anew"
	case "invalid_scope":
		return "check auth.scopes of the server"
	case "access_denied":
		return "the login was declined; begin it again to change that"
	}
	return ""
}

// Temporary reports whether the same may be granted later: the server is at fault, or overloaded.
func (e *OAuthError) Temporary() bool {
	return e.Status >= 500 || e.Status == 429 || e.Status == 408 || e.Code == "temporarily_unavailable" || e.Code == "server_error"
}

// NetworkError is a request that got no answer.
type NetworkError struct {
	Op  string
	Err error
}

func (e *NetworkError) Error() string { return e.Op + ": " + e.Err.Error() }

func (e *NetworkError) Unwrap() error { return e.Err }

// Temporary reports that the same may succeed later: nothing was said that would count.
func (*NetworkError) Temporary() bool { return true }

// Temporary reports whether the same may succeed later without anybody doing anything.
func Temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// Ended reports whether err says that a login is over: its refresh token, or code, is good for nothing more.
func Ended(err error) bool {
	var o *OAuthError
	return errors.As(err, &o) && o.Code == "invalid_grant"
}

// Unknown reports whether err says that the authorization server does not know us, or no longer.
func Unknown(err error) bool {
	var o *OAuthError
	return errors.As(err, &o) && (o.Code == "invalid_client" || o.Code == "unauthorized_client")
}

// Hint returns what a person can do about err; "" = nothing is known.
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
