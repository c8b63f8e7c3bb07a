package oauth

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoLogin is returned by Discover if the server asks for a scheme other than Bearer, or if Discover finds no
	// authorization server with metadata and the default endpoints do not apply; and by Register if a server without
	// metadata has no default endpoints.
	ErrNoLogin = errors.New("no authorization server found")
	// ErrForeignResource is returned by Discover if the metadata describes a resource other than the server.
	ErrForeignResource = errors.New("the metadata belongs to another resource")
	// ErrForeignIssuer is returned if an authorization server is not the expected one.
	ErrForeignIssuer = errors.New("unexpected authorization server")
	// ErrNoPKCE is returned by Authorize for an authorization server that does not announce PKCE with S256.
	ErrNoPKCE = errors.New("the authorization server does not announce PKCE with S256")
	// ErrNoClient is returned by Register if the gateway cannot become a client of the authorization server, and by
	// ClientCredentials without a configured client id and secret.
	ErrNoClient = errors.New("the authorization server did not register the gateway as a client")
	// ErrState is returned by Redeem and Login.Check for a response to another login.
	ErrState = errors.New("the authorization response does not belong to this login")
	// ErrMixUp is returned by Redeem and Login.Check for a response of another authorization server, or without the
	// announced iss.
	ErrMixUp = errors.New("the authorization response comes from another authorization server")
	// ErrUnsupported is returned if the authorization server lacks a required feature.
	ErrUnsupported = errors.New("not supported by the authorization server")
	// ErrMalformed is returned for a response that violates the protocol.
	ErrMalformed = errors.New("malformed response")
)

// RefusedError explains why the gateway did not complete an operation, and what the user can do. It wraps one of the
// errors above.
type RefusedError struct {
	Err    error
	Detail string
	hint   string
}

// Error returns the error and its detail.
func (e *RefusedError) Error() string {
	if e.Detail == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": " + e.Detail
}

// Hint returns what the user can do, or "".
func (e *RefusedError) Hint() string { return e.hint }

// Unwrap returns the wrapped error.
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(err error, hint, format string, args ...any) error {
	return &RefusedError{err, fmt.Sprintf(format, args...), hint}
}

// OAuthError is an error response of an authorization server (RFC 6749, section 5.2), or a response with HTTP 429 or
// 5xx to a request for metadata.
type OAuthError struct {
	Op          string // the operation that failed, such as "refresh the token"
	Status      int    // HTTP status; 0 = the response came through the browser
	Code        string // such as invalid_grant; "" = none
	Description string // explanation by the server; truncated and without secrets of the request
}

// Error returns the operation, the code or status, and the description.
func (e *OAuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the authorization server answered ", e.Op)
	switch {
	case e.Code != "":
		b.WriteString(e.Code)
	default:
		fmt.Fprintf(&b, "HTTP %d", e.Status)
	}
	if e.Description != "" {
		fmt.Fprintf(&b, " (%q)", e.Description)
	}
	return b.String()
}

// Hint returns what the user can do, or "".
func (e *OAuthError) Hint() string {
	switch e.Code {
	case "invalid_client", "unauthorized_client":
		return "check auth.clientId and auth.clientSecret of the server; if they are not set, log in again, which registers a new client"
	case "invalid_scope":
		return "check auth.scopes of the server"
	case "access_denied":
		return "the user or the authorization server declined the login; start it again if that was a mistake"
	}
	return ""
}

// Temporary reports whether the request may succeed later: the authorization server failed or is overloaded.
func (e *OAuthError) Temporary() bool {
	return e.Status >= 500 || e.Status == 429 || e.Status == 408 || e.Code == "temporarily_unavailable" || e.Code == "server_error"
}

// NetworkError is returned if a request got no complete response, or if a registration was answered with HTTP 429 or
// 5xx.
type NetworkError struct {
	Op  string
	Err error
}

// Error returns the operation and the cause.
func (e *NetworkError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// Temporary returns true: the authorization server has not decided anything.
func (*NetworkError) Temporary() bool { return true }

// Temporary reports whether the operation may succeed later without any action by a user.
func Temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// GrantEnded reports whether err means that a login has ended: its refresh token or code is no longer valid.
func GrantEnded(err error) bool {
	var o *OAuthError
	return errors.As(err, &o) && o.Code == "invalid_grant"
}

// ClientUnknown reports whether the authorization server has refused the client: it does not know it, or no longer
// does, or it does not accept its credentials or this kind of request.
func ClientUnknown(err error) bool {
	var o *OAuthError
	return errors.As(err, &o) && (o.Code == "invalid_client" || o.Code == "unauthorized_client")
}

// Hint returns what the user can do about err, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
