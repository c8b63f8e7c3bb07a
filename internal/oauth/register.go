package oauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// How a client proves at the token endpoint who it is.
const (
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodNone  = "none"
)

const (
	clientName = "goblin-actor"
	maxClient  = 4 << 10 // bytes of an id or a secret
)

// noRedirect is registered where nothing is redirected.
const noRedirect = "http://127.0.0.1/callback"

const noClientHint = "register a client there by hand, and set auth.clientId (and auth.clientSecret) of the server"

// Register says who we are at an authorization server: what the operator registered, else the document that describes us where such are read,
// else a client that is registered now for that redirect URI. known are clients that were registered before; one that fits is used again.
func (a *Agent) Register(ctx context.Context, site *Site, redirectURI string, known ...Client) (Client, error) {
	if c, ok := a.ownClient(site); ok {
		return c, nil
	}
	for _, c := range known {
		if c.fits(site, redirectURI, a) {
			return c, nil
		}
	}
	if site.Register == "" {
		return Client{}, refuse(ErrNoClient, noClientHint, "%s registers nobody by itself", shorten(site.Issuer))
	}
	return a.registerNow(ctx, site, redirectURI)
}

// ownClient is who we are without asking anybody.
func (a *Agent) ownClient(site *Site) (Client, bool) {
	switch c := a.Config; {
	case c.ClientID != "":
		return Client{Issuer: site.Issuer, ID: c.ClientID, Secret: c.Secret, Method: methodOf(site, c.Secret)}, true
	case c.MetadataURL != "" && site.Documents:
		return Client{Issuer: site.Issuer, ID: c.MetadataURL, Method: methodNone}, true
	}
	return Client{}, false
}

// methodOf picks the way to prove who we are; RFC 6749 has basic where nothing is said.
func methodOf(site *Site, secret string) string {
	if secret == "" {
		return methodNone
	}
	for _, m := range site.Methods {
		if m != methodNone {
			return m
		}
	}
	return methodBasic
}

// fits reports whether a registration may be used again: it is of that issuer, and for that redirect URI.
func (c Client) fits(site *Site, redirectURI string, a *Agent) bool {
	return c.Issuer == site.Issuer && c.ID != "" && c.Redirect == redirectURI && (c.Expires.IsZero() || a.Now().Before(c.Expires))
}

// registerNow registers a client (RFC 7591).
func (a *Agent) registerNow(ctx context.Context, site *Site, redirectURI string) (Client, error) {
	method := methodNone
	if len(site.Methods) > 0 && !slices.Contains(site.Methods, methodNone) {
		method = site.Methods[0]
	}
	meta := &oauthex.ClientRegistrationMetadata{
		ClientName: clientName, ApplicationType: applicationType(redirectURI), TokenEndpointAuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	meta.RedirectURIs = []string{redirectURI}
	if redirectURI == "" { // a login by device has none, but to many a client without is none
		meta.GrantTypes, meta.RedirectURIs = append(meta.GrantTypes, deviceGrant), []string{noRedirect}
	}
	answer, err := oauthex.RegisterClient(ctx, site.Register, meta, a.Door.HTTP)
	if err != nil {
		return Client{}, registerError(site, err)
	}
	c := Client{Issuer: site.Issuer, ID: answer.ClientID, Secret: answer.ClientSecret, Method: answer.TokenEndpointAuthMethod, Redirect: redirectURI, Expires: answer.ClientSecretExpiresAt}
	switch c.Method {
	case methodBasic, methodPost, methodNone:
	default:
		c.Method = methodOf(site, c.Secret)
	}
	if c.Secret == "" {
		c.Method = methodNone
	}
	if len(c.ID) > maxClient || len(c.Secret) > maxClient {
		return Client{}, refuse(ErrMalformed, "", "the registration's client_id or client_secret is too long")
	}
	return c, nil
}

// applicationType tells authorization servers of OpenID Connect which redirect URIs are meant: those of this machine, or of a web page.
func applicationType(redirectURI string) string {
	if u, err := url.Parse(redirectURI); err == nil && u.Scheme == "https" {
		return "web"
	}
	return "native"
}

// registerError is what we tell of a registration that failed. The library's texts may hold the whole answer, with its secret.
func registerError(site *Site, err error) error {
	const op = "register as a client"
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return refuse(ErrNoClient, noClientHint, "%s (%q)", word(refused.ErrorCode), shorten(refused.ErrorDescription))
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		return networkError(op, asked)
	}
	if _, status, ok := strings.Cut(err.Error(), "failed with status "); ok {
		code := status[:min(3, len(status))]
		if code >= "500" || code == "429" {
			return &NetworkError{op, errors.New("HTTP " + code)}
		}
		if site.Guessed {
			return errNoMetadata(site)
		}
		return refuse(ErrNoClient, noClientHint, "it answers with HTTP %s", shorten(code))
	}
	if site.Guessed {
		return errNoMetadata(site)
	}
	return refuse(ErrMalformed, noClientHint, "what the registration answers")
}

// errNoMetadata says that a server asks for a bearer token without saying where to get one: the default endpoints do not exist either.
func errNoMetadata(site *Site) error {
	return refuse(ErrNoLogin, headerHint("bearer"), "it asks for a bearer token, but %s publishes no OAuth metadata", shorten(site.Issuer))
}
