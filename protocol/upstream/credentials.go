package upstream

import "errors"

// Credentials supplies the Authorization header of a link's requests. Its methods are safe for concurrent use.
type Credentials interface {
	// Authorization returns the current value of the header, or "" to send none. It does not block.
	Authorization() string
	// Refused reports that a request with that value got status 401 or 403 with these WWW-Authenticate headers, and
	// was not executed. The channel receives one Verdict.
	Refused(sent string, status int, challenges []string) <-chan Verdict
}

// Verdict is the decision about a request that was refused for its credentials.
type Verdict struct {
	Again bool  // send the request once more, with the current credentials
	Err   error // why the request is not repeated; nil = the status is the only reason
}

// LoginError is the error in Ended for a request that was refused for its credentials and not executed. It contains no
// part of the server's response, because a challenge is meant for the gateway, never for a client.
type LoginError struct {
	Status int   // 401: there is no valid login; 403: the login's scope does not suffice
	Err    error // why the login could not be obtained or renewed; nil = unknown
}

// ErrNoLogin is in the chain of a LoginError if no login can help: the server needs other credentials, which must be
// configured.
var ErrNoLogin = errors.New("the server does not support logins")

var errLogin = errors.New("the server requires a login")

func (e *LoginError) Error() string { return e.Unwrap().Error() }

func (e *LoginError) Unwrap() error {
	if e.Err == nil {
		return errLogin
	}
	return e.Err
}
