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
	maxRenewals     = 2        // maximum repeats of a request after 401; the token may expire during a renewal
	maxScopeRetries = 3        // maximum repeats after 403, each with a wider scope
	challengesMax   = 8        // maximum number of WWW-Authenticate headers that are read
	challengeMax    = 4 << 10  // maximum length of such a header; longer ones are skipped
	refusalDrain    = 64 << 10 // maximum size of a refusal's body that is read to reuse the connection
)

// authTransport adds credentials to each request of another roundTripper. If a request is refused because of its
// credentials, it is repeated after they are renewed.
type authTransport struct {
	roundTripper
	credentials upstream.Credentials
}

// send sends the request with credentials. RFC 6750, section 3; MCP 2025-11-25, basic/authorization. In an inline
// exchange it does not wait for a renewal but returns errSlow; receive then continues.
func (t *authTransport) send(c *exchange, r *httpRequest, a *httpAnswer) error {
	if err := t.once(c, r, a); err != nil {
		return err
	}
	if c.inline && (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) {
		a.refusal = true
		return errSlow
	}
	return t.settle(c, r, a)
}

// receive reads the header of the response, unless send has already read the header of a refusal.
func (t *authTransport) receive(c *exchange, r *httpRequest, a *httpAnswer) error {
	if !a.refusal {
		if err := t.roundTripper.receive(c, r, a); err != nil {
			return err
		}
	}
	return t.settle(c, r, a)
}

// once sends the request with the current credentials.
func (t *authTransport) once(c *exchange, r *httpRequest, a *httpAnswer) error {
	a.refusal = false
	if r.authorization = t.credentials.Authorization(); !stream.IsHeaderValue(r.authorization) { // the value comes from an authorization server
		r.authorization = ""
	}
	return t.roundTripper.send(c, r, a)
}

// settle repeats the request while it is refused and the credentials change.
func (t *authTransport) settle(c *exchange, r *httpRequest, a *httpAnswer) error {
	for renewed, reached := 0, 0; ; {
		challenges, refused := t.refused(c, r, a)
		if !refused {
			return nil
		}
		verdict, err := t.awaitVerdict(c, r, a, challenges)
		if err != nil {
			return err
		}
		again := verdict.Again
		switch a.status {
		case http.StatusUnauthorized:
			again = again && renewed < maxRenewals
			renewed++
		default:
			again = again && reached < maxScopeRetries
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
func (*authTransport) refused(c *exchange, r *httpRequest, a *httpAnswer) (challenges []string, refused bool) {
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

// awaitVerdict releases the response and waits for the Verdict of the credentials. It returns an error if the
// exchange is canceled first.
func (t *authTransport) awaitVerdict(c *exchange, r *httpRequest, a *httpAnswer, challenges []string) (upstream.Verdict, error) {
	_, err := io.CopyN(io.Discard, a.body, refusalDrain)
	_ = c.setStop(nil)
	t.roundTripper.done(a, err == io.EOF)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.setStop(cancelFunc(cancel)); err != nil {
		return upstream.Verdict{}, err
	}
	var verdict upstream.Verdict
	select {
	case verdict = <-t.credentials.Refused(r.authorization, a.status, challenges):
	case <-ctx.Done():
	}
	return verdict, c.setStop(nil)
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

// withAuth adds credentials to a roundTripper, if there are any.
func withAuth(t roundTripper, o Options) roundTripper {
	if o.Credentials == nil {
		return t
	}
	return &authTransport{t, o.Credentials}
}

// errTwoLogins is returned if both the configuration and the credentials would set the Authorization header.
var errTwoLogins = errors.New("header \"Authorization\" conflicts with the server's login; configure only one of them")

// isPlain reports whether t is a plainTransport, with or without credentials.
func isPlain(t roundTripper) bool {
	if with, is := t.(*authTransport); is {
		t = with.roundTripper
	}
	_, plain := t.(*plainTransport)
	return plain
}
