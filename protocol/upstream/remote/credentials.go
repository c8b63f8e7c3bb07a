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
	renewalsMost  = 2        // maximum repeats of a request after 401; the token may expire during a renewal
	reachesMost   = 3        // maximum repeats after 403, each with a wider scope
	challengesMax = 8        // maximum number of WWW-Authenticate headers that are read
	challengeMax  = 4 << 10  // maximum length of one; longer ones are skipped
	refusalDrain  = 64 << 10 // maximum size of a refusal's body that is read to reuse the connection
)

// loginTrip adds credentials to each request of another roundTripper. A request that was refused because of them is repeated once
// they are renewed.
type loginTrip struct {
	roundTripper
	credentials upstream.Credentials
}

// send sends the request with credentials. RFC 6750, section 3; MCP 2025-11-25, basic/authorization. On a lent goroutine it does not
// wait for a renewal; hear then continues.
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

// hear reads the header of the response, unless send has already read the header of a refusal.
func (t *loginTrip) hear(c *exchange, r *httpRequest, a *httpAnswer) error {
	if !a.refusal {
		if err := t.roundTripper.hear(c, r, a); err != nil {
			return err
		}
	}
	return t.settle(c, r, a)
}

// once sends the request with the current credentials.
func (t *loginTrip) once(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.refusal = false
	if r.authorization = t.credentials.Authorization(); !stream.IsHeaderValue(r.authorization) { // the value comes from an authorization server
		r.authorization = ""
	}
	return t.roundTripper.send(c, r, a)
}

// settle repeats the request while it is refused and the credentials change.
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

// refused reports whether the response requires other credentials, and returns its challenges.
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

// lostInstead reports whether a 401 without a challenge means an unknown session. It does not consume the body.
func lostInstead(c *exchange, a *httpAnswer) bool {
	if c.session == "" {
		return false
	}
	start, _ := io.ReadAll(io.LimitReader(a.body, errorBodyBytes))
	a.body = io.MultiReader(bytes.NewReader(start), a.body)
	return isLost(c, a.status, start)
}

// wantsScope reports whether a challenge says that the scope is insufficient.
func wantsScope(challenges []string) bool {
	for _, challenge := range challenges {
		if strings.Contains(strings.ToLower(challenge), "insufficient_scope") {
			return true
		}
	}
	return false
}

// ask releases the response and waits for the verdict. It returns an error if the exchange is canceled while it waits.
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

// challenges returns the WWW-Authenticate headers of a response.
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

// withLogin adds credentials to a trip, if there are any.
func withLogin(t roundTripper, o Options) roundTripper {
	if o.Credentials == nil {
		return t
	}
	return &loginTrip{t, o.Credentials}
}

// errTwoLogins is returned for two sources of the Authorization header.
var errTwoLogins = errors.New("header \"Authorization\" conflicts with the server's login; configure only one of them")

// isPlain reports whether a trip, with or without credentials, is a plainTrip.
func isPlain(t roundTripper) bool {
	if with, is := t.(*loginTrip); is {
		t = with.roundTripper
	}
	_, plain := t.(*plainTrip)
	return plain
}
