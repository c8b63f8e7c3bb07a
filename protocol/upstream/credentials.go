package upstream

import "errors"

// Credentials are what a link sends with its requests to say who asks. Safe from any goroutine.
type Credentials interface {
	// Authorization is the header's value for a request made now; "" = none is to be sent. It does not block.
	Authorization() string
	// Refused tells that a request with that value was answered 401 or 403 with these WWW-Authenticate headers, and was not executed.
	// The channel gets one value, sooner or later: whether to send the request again, and the error for the caller otherwise.
	Refused(sent string, status int, challenges []string) <-chan Verdict
}

// Verdict is what becomes of a request that was refused for its credentials.
type Verdict struct {
	Again bool  // send it once more, with the credentials of now
	Err   error // why not; nil = the server's refusal says it all
}

// LoginError is told in Ended of a request that was refused for its credentials, and not executed. What the server said of that is in none
// of its words: a challenge is for us, never for a client.
type LoginError struct {
	Status int   // 401: there is no login, or no longer; 403: the login does not reach as far
	Err    error // why the login could not be had or renewed; nil = nothing more is known
}

// ErrNoLogin is in the chain of a LoginError when no login can help: the server takes credentials of another kind, which have to be configured.
var ErrNoLogin = errors.New("the server has no login")

var errLogin = errors.New("the server wants a login")

func (e *LoginError) Error() string { return e.Unwrap().Error() }

func (e *LoginError) Unwrap() error {
	if e.Err == nil {
		return errLogin
	}
	return e.Err
}
