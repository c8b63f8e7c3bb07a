package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"slices"
)

const offlineAccess = "offline_access"

// maxAnswer is how long a code may be.
const maxAnswer = 8 << 10

// Login is a login of a person that is under way. It is never written anywhere.
type Login struct {
	URL      string // for the person's browser
	State    string // comes back with the answer; nobody can guess it
	Redirect string // where the answer goes
	Site     *Site
	Client   Client
	Scopes   []string // asked for

	verifier string // of PKCE
	device   string // device_code; "" = by browser
}

// Answer is what the browser brings to the redirect URI. RFC 6749, section 4.1.2, and RFC 9207.
type Answer struct {
	State, Code, Issuer, Error, Description string
}

// String keeps codes out of logs.
func (Answer) String() string { return "[redacted]" }

// GoString likewise.
func (Answer) GoString() string { return "[redacted]" }

// Authorize begins a login by browser. PKCE with S256 always.
func (*Agent) Authorize(site *Site, client Client, scopes []string, redirectURI string) (*Login, error) {
	if site.Authorize == "" {
		return nil, refuse(ErrUnsupported, "try --device", "%s has no page to log in at", shorten(site.Issuer))
	}
	if !site.S256 {
		return nil, refuse(ErrNoPKCE, "whoever runs it has to switch PKCE on and say so (code_challenge_methods_supported)", "%s", shorten(site.Issuer))
	}
	u, err := url.Parse(site.Authorize)
	if err != nil {
		return nil, refuse(ErrMalformed, "", "%q is no URL", shorten(site.Authorize))
	}
	if site.Offline && !slices.Contains(scopes, offlineAccess) {
		scopes = append(slices.Clone(scopes), offlineAccess)
	}
	l := &Login{State: random(), Redirect: redirectURI, Site: site, Client: client, Scopes: scopes, verifier: random()}
	sum := sha256.Sum256([]byte(l.verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", client.ID)
	q.Set("redirect_uri", redirectURI)
	q.Set("state", l.State)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	q.Set("resource", site.Resource)
	setScopes(q, scopes)
	if slices.Contains(scopes, offlineAccess) {
		q.Set("prompt", "consent") // OpenID Connect Core, section 11: without it the scope is ignored
	}
	u.RawQuery = q.Encode()
	l.URL = u.String()
	return l, nil
}

// random returns 256 bits that nobody can guess, fit for a URL and as a verifier of PKCE.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Check says whether the answer is one to this login, and whether it says yes. Of one that is not, nothing is believed and nothing shown.
func (l *Login) Check(answer Answer) error {
	if l.device != "" || subtle.ConstantTimeCompare([]byte(answer.State), []byte(l.State)) != 1 {
		return refuse(ErrState, "begin the login again", "its state is not the one that was sent")
	}
	switch {
	case answer.Issuer == "" && l.Site.Iss:
		return refuse(ErrMixUp, "begin the login again", "it does not say by iss who sends it, and %s always does", shorten(l.Site.Issuer))
	case answer.Issuer != "" && answer.Issuer != l.Site.Issuer: // as it is: RFC 9207, section 2.4
		return refuse(ErrMixUp, "begin the login again", "its iss is not %s", shorten(l.Site.Issuer))
	case answer.Error != "":
		return &OAuthError{Op: "log in", Code: word(answer.Error), Description: shorten(answer.Description)}
	case answer.Code == "" || len(answer.Code) > maxAnswer:
		return refuse(ErrMalformed, "begin the login again", "it holds no code")
	}
	return nil
}

// Redeem checks the answer to a login, and gets the token for it.
func (a *Agent) Redeem(ctx context.Context, l *Login, answer Answer) (Token, error) {
	if err := l.Check(answer); err != nil {
		return Token{}, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {answer.Code}, "redirect_uri": {l.Redirect}, "code_verifier": {l.verifier}}
	t, err := a.token(ctx, "log in", l.Site, l.Client, form)
	return granted(t, l.Scopes), err
}
