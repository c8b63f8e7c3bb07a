package oauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Client authentication methods at the token endpoint (RFC 7591, section 2).
const (
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodNone  = "none"
)

const (
	clientName = "goblin-actor"
	maxClient  = 4 << 10 // bytes of a client id or secret
)

// noRedirect is the redirect URI to register for logins without a redirect.
const noRedirect = "http://127.0.0.1/callback"

const noClientHint = "register a client with the authorization server manually, and set auth.clientId (and auth.clientSecret) of the server"

// Register returns a client for an authorization server: the configured one, else a client id metadata document if the
// server supports it, else one of the known clients registered for redirectURI, else a newly registered one (RFC
// 7591).
func (a *Agent) Register(ctx context.Context, site *AuthServer, redirectURI string, known ...Client) (Client, error) {
	if c, ok := a.configuredClient(site); ok {
		return c, nil
	}
	for _, c := range known {
		if c.fits(site, redirectURI, a) {
			return c, nil
		}
	}
	if site.Register == "" {
		return Client{}, refuse(ErrNoClient, noClientHint, "%s does not support dynamic client registration", shorten(site.Issuer))
	}
	return a.registerNow(ctx, site, redirectURI)
}

// configuredClient returns the client of the configuration, if there is one that the server supports.
func (a *Agent) configuredClient(site *AuthServer) (Client, bool) {
	switch c := a.Config; {
	case c.ClientID != "":
		return Client{Issuer: site.Issuer, ID: c.ClientID, Secret: c.Secret, Method: methodOf(site, c.Secret)}, true
	case c.MetadataURL != "" && site.Documents:
		return Client{Issuer: site.Issuer, ID: c.MetadataURL, Method: methodNone}, true
	}
	return Client{}, false
}

// methodOf returns the client authentication method: none without a secret, otherwise basic if the server supports it
// or names no method for secrets, otherwise post.
func methodOf(site *AuthServer, secret string) string {
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

// fits reports whether a registration can be reused: it has the same issuer and redirect URI, and its secret has not expired.
func (c Client) fits(site *AuthServer, redirectURI string, a *Agent) bool {
	return c.Issuer == site.Issuer && c.ID != "" && c.Redirect == redirectURI && (c.Expires.IsZero() || a.Now().Before(c.Expires))
}

// registerNow registers a client (RFC 7591).
func (a *Agent) registerNow(ctx context.Context, site *AuthServer, redirectURI string) (Client, error) {
	method := methodNone
	if len(site.Methods) > 0 && !slices.Contains(site.Methods, methodNone) {
		method = site.Methods[0]
	}
	meta := &oauthex.ClientRegistrationMetadata{
		ClientName: clientName, ApplicationType: applicationType(redirectURI), TokenEndpointAuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	meta.RedirectURIs = []string{redirectURI}
	if redirectURI == "" { // a device login needs none, but many servers reject a client without one
		meta.GrantTypes, meta.RedirectURIs = append(meta.GrantTypes, deviceGrant), []string{noRedirect}
	}
	answer, err := oauthex.RegisterClient(ctx, site.Register, meta, a.Client.HTTP)
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
		return Client{}, refuse(ErrMalformed, "", "the client_id or client_secret of the registration is too long")
	}
	return c, nil
}

// applicationType returns the OpenID Connect application_type for a redirect URI: "web" for https, "native" for this machine.
func applicationType(redirectURI string) string {
	if u, err := url.Parse(redirectURI); err == nil && u.Scheme == "https" {
		return "web"
	}
	return "native"
}

// registerError converts an error of a registration. It drops the library's text, which may contain the whole response
// with its secret.
func registerError(site *AuthServer, err error) error {
	const op = "register as a client"
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return refuse(ErrNoClient, noClientHint, "%s (%q)", oauthCode(refused.ErrorCode), shorten(refused.ErrorDescription))
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
		return refuse(ErrNoClient, noClientHint, "the registration endpoint answered HTTP %s", shorten(code))
	}
	if site.Guessed {
		return errNoMetadata(site)
	}
	return refuse(ErrMalformed, noClientHint, "the response of the registration endpoint is not valid")
}

// errNoMetadata returns the error for a server that asks for a bearer token but publishes no metadata, and has no
// default endpoints either.
func errNoMetadata(site *AuthServer) error {
	return refuse(ErrNoLogin, headerHint("bearer"), "the server asks for a bearer token, but %s publishes no OAuth metadata", shorten(site.Issuer))
}
