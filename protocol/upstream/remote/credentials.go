package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	renewalsMost  = 2        // so often one request is sent again after 401: a renewal may cross the end of what it renews
	reachesMost   = 3        // and after 403: each time its login reaches further
	challengesMax = 8        // WWW-Authenticate headers that are read
	challengeMax  = 4 << 10  // longest of them; a longer one is not read
	refusalDrain  = 64 << 10 // of the body of a refusal, so that its connection can be used again
)

// loginTrip sends credentials with each request, and a request that was refused for them once more when they have been renewed. Where a server
// has none the trips beneath are used as they are.
type loginTrip struct {
	roundTripper
	credentials upstream.Credentials
}

// send is send of the trip beneath, with credentials. RFC 6750, section 3; MCP 2025-11-25, basic/authorization. On a lent goroutine nothing is
// waited for: what may have to be, goes on with hear.
func (t *loginTrip) send(c *exchange, r *httpRequest, a *httpAnswer) error {
	if err := t.once(c, r, a); err != nil {
		return err
	}
	if c.lent && (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) {
		a.refusal = true
		return errSlow
	}
	return t.settle(c, r, a)
}

// hear is hear of the trip beneath, unless the head of a refusal is here already.
func (t *loginTrip) hear(c *exchange, r *httpRequest, a *httpAnswer) error {
	if !a.refusal {
		if err := t.roundTripper.hear(c, r, a); err != nil {
			return err
		}
	}
	return t.settle(c, r, a)
}

// once sends the request with the credentials of now.
func (t *loginTrip) once(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.refusal = false
	if r.authorization = t.credentials.Authorization(); !stream.IsHeaderValue(r.authorization) { // it came from another server
		r.authorization = ""
	}
	return t.roundTripper.send(c, r, a)
}

// settle looks at an answer, and sends the request again for as long as it is refused and other credentials come of that.
func (t *loginTrip) settle(c *exchange, r *httpRequest, a *httpAnswer) error {
	for renewed, reached := 0, 0; ; {
		challenges, refused := t.refused(c, r, a)
		if !refused {
			return nil
		}
		verdict, err := t.ask(c, r, a, challenges)
		if err != nil {
			return err
		}
		again := verdict.Again
		switch a.status {
		case http.StatusUnauthorized:
			again = again && renewed < renewalsMost
			renewed++
		default:
			again = again && reached < reachesMost
			reached++
		}
		if !again {
			return &upstream.LoginError{Status: a.status, Err: verdict.Err}
		}
		if err := t.once(c, r, a); err != nil {
			return err
		}
	}
}

// refused reports whether the answer says that other credentials are wanted, and how it says so.
func (*loginTrip) refused(c *exchange, r *httpRequest, a *httpAnswer) (challenges []string, refused bool) {
	if r.verb == http.MethodDelete || a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
		return nil, false
	}
	challenges = a.challenges()
	if a.status == http.StatusForbidden {
		return challenges, wantsScope(challenges)
	}
	return challenges, len(challenges) > 0 || !lostInstead(c, a)
}

// lostInstead reports whether a 401 without challenge means a session that the server does not know. The body stays to be read.
func lostInstead(c *exchange, a *httpAnswer) bool {
	if c.session == "" {
		return false
	}
	start, _ := io.ReadAll(io.LimitReader(a.body, errorBodyBytes))
	a.body = io.MultiReader(bytes.NewReader(start), a.body)
	return isLost(c, a.status, start)
}

// wantsScope reports whether one of them says that the login does not reach as far.
func wantsScope(challenges []string) bool {
	for _, challenge := range challenges {
		if strings.Contains(strings.ToLower(challenge), "insufficient_scope") {
			return true
		}
	}
	return false
}

// ask lets go of the answer and waits for what is to be done about it. The error says that the exchange was given up meanwhile.
func (t *loginTrip) ask(c *exchange, r *httpRequest, a *httpAnswer, challenges []string) (upstream.Verdict, error) {
	_, err := io.CopyN(io.Discard, a.body, refusalDrain)
	_ = c.hold(nil)
	t.roundTripper.done(a, err == io.EOF)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.hold(cancelFunc(cancel)); err != nil {
		return upstream.Verdict{}, err
	}
	var verdict upstream.Verdict
	select {
	case verdict = <-t.credentials.Refused(r.authorization, a.status, challenges):
	case <-ctx.Done():
	}
	return verdict, c.hold(nil)
}

// challenges are the WWW-Authenticate headers of an answer.
func (a *httpAnswer) challenges() []string {
	var all []string
	keep := func(challenge string) {
		if len(all) < challengesMax && len(challenge) <= challengeMax {
			all = append(all, challenge)
		}
	}
	if a.response != nil {
		for _, challenge := range a.response.Header.Values("WWW-Authenticate") {
			keep(challenge)
		}
		return all
	}
	for _, challenge := range a.head.PeekAll("WWW-Authenticate") {
		keep(string(challenge))
	}
	return all
}

// withLogin puts credentials before a trip, if there are any.
func withLogin(t roundTripper, o Options) roundTripper {
	if o.Credentials == nil {
		return t
	}
	return &loginTrip{t, o.Credentials}
}

// errTwoLogins: a request has one Authorization header.
var errTwoLogins = errors.New("header \"Authorization\" is configured, and the server has a login as well")

// isPlain reports whether a trip, with or without credentials, is HTTP/1.1 on connections of ours.
func isPlain(t roundTripper) bool {
	if with, is := t.(*loginTrip); is {
		t = with.roundTripper
	}
	_, plain := t.(*plainTrip)
	return plain
}
