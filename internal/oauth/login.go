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

// maxAnswer limits the length of a code, in bytes.
const maxAnswer = 8 << 10

// Login is a user's login in progress. It is never stored.
type Login struct {
	URL      string // URL to open in the user's browser; "" = login by device
	State    string // returned with the response; unguessable
	Redirect string // redirect URI of the response; "" = login by device
	Site     *AuthServer
	Client   Client
	Scopes   []string // requested scopes

	verifier string // PKCE code verifier
	device   string // device_code; "" = login by browser
}

// AuthResponse holds the parameters that the browser brings to the redirect URI. RFC 6749, section 4.1.2, and RFC 9207.
type AuthResponse struct {
	State, Code, Issuer, Error, Description string
}

// String keeps codes out of logs.
func (AuthResponse) String() string { return "[redacted]" }

// GoString also keeps codes out of logs.
func (AuthResponse) GoString() string { return "[redacted]" }

// Authorize starts a login by browser. It always uses PKCE with S256, and adds the scope offline_access if the server
// supports it.
func (*Agent) Authorize(site *AuthServer, client Client, scopes []string, redirectURI string) (*Login, error) {
	if site.Authorize == "" {
		return nil, refuse(ErrUnsupported, "try --device", "%s has no authorization endpoint", shorten(site.Issuer))
	}
	if !site.S256 {
		return nil, refuse(ErrNoPKCE, "report this to the operator of the authorization server: it must support PKCE and announce it (code_challenge_methods_supported)", "%s", shorten(site.Issuer))
	}
	u, err := url.Parse(site.Authorize)
	if err != nil {
		return nil, refuse(ErrMalformed, "", "%q is not a URL", shorten(site.Authorize))
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
		q.Set("prompt", "consent") // OpenID Connect Core, section 11: without it, servers may ignore offline_access
	}
	u.RawQuery = q.Encode()
	l.URL = u.String()
	return l, nil
}

// random returns 256 random bits in base64url. They serve as a state or a PKCE verifier.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Check returns an error unless the response belongs to this login and grants it. It neither trusts nor displays
// anything from a response to another login.
func (l *Login) Check(answer AuthResponse) error {
	if l.device != "" || subtle.ConstantTimeCompare([]byte(answer.State), []byte(l.State)) != 1 {
		return refuse(ErrState, "start the login again", "its state differs from the one sent")
	}
	switch {
	case answer.Issuer == "" && l.Site.Iss:
		return refuse(ErrMixUp, "start the login again", "iss is missing, although %s always sends it", shorten(l.Site.Issuer))
	case answer.Issuer != "" && answer.Issuer != l.Site.Issuer: // compared exactly: RFC 9207, section 2.4
		return refuse(ErrMixUp, "start the login again", "its iss is not %s", shorten(l.Site.Issuer))
	case answer.Error != "":
		return &OAuthError{Op: "log in", Code: oauthCode(answer.Error), Description: shorten(answer.Description)}
	case answer.Code == "" || len(answer.Code) > maxAnswer:
		return refuse(ErrMalformed, "start the login again", "the authorization response has no valid code")
	}
	return nil
}

// Redeem checks the authorization response and exchanges its code for a token.
func (a *Agent) Redeem(ctx context.Context, l *Login, answer AuthResponse) (Token, error) {
	if err := l.Check(answer); err != nil {
		return Token{}, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {answer.Code}, "redirect_uri": {l.Redirect}, "code_verifier": {l.verifier}}
	t, err := a.token(ctx, "log in", l.Site, l.Client, form)
	return withDefaultScopes(t, l.Scopes), err
}
