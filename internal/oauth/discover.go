package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	protectedResource   = "/.well-known/oauth-protected-resource"
	authorizationServer = "/.well-known/oauth-authorization-server"
	openidConfiguration = "/.well-known/openid-configuration"
	discoveryVersion    = "2025-11-25" // header required by MCP 2025-03-26; later versions ignore it here
	maxIssuers          = 16           // issuers of one server to consider
)

// Discover finds the authorization server of the MCP server. It tries protected resource metadata (RFC 9728) first,
// then, for servers of 2025-03-26, the metadata of the configured issuer or of the MCP server's own host. If neither
// exists, no issuer is configured and the server asks for a bearer token, it returns the default endpoints of that
// host.
func (a *Agent) Discover(ctx context.Context, c Challenge) (*AuthServer, error) {
	own, err := url.Parse(a.Server)
	if err != nil || own.Host == "" {
		return nil, refuse(ErrMalformed, "", "%q is not the URL of a server", shorten(a.Server))
	}
	if c.Scheme != "" {
		return nil, refuse(ErrNoLogin, headerHint(c.Scheme), "the server asks for %s authentication, for which the gateway has no login", titled(c.Scheme))
	}
	meta, err := a.resource(ctx, own, c.Metadata)
	if errors.Is(err, errNotFound) {
		return a.discoverLegacy(ctx, own, c)
	}
	if err != nil {
		return nil, err
	}
	issuer, err := a.chooseIssuer(meta.AuthorizationServers)
	if err != nil {
		return nil, err
	}
	site, err := a.fetchAuthServer(ctx, issuer)
	if errors.Is(err, errNotFound) {
		return nil, refuse(ErrNoLogin, "", "the server names the authorization server %s, which publishes no metadata", shorten(issuer))
	}
	if err != nil {
		return nil, err
	}
	site.Resource, site.Scopes = meta.Resource, a.scopes(c, meta.ScopesSupported)
	return site, nil
}

// scopes returns the scopes of the first request: MCP 2025-11-25, scope selection strategy.
func (a *Agent) scopes(c Challenge, supported []string) []string {
	switch {
	case len(a.Config.Scopes) > 0:
		return scopesOf(a.Config.Scopes)
	case len(c.Scopes) > 0:
		return c.Scopes
	}
	return scopesOf(supported)
}

// resource fetches the MCP server's protected resource metadata, from the URL in its challenge or from the well-known
// URLs. It returns errNotFound if there is none.
func (a *Agent) resource(ctx context.Context, own *url.URL, named string) (*oauthex.ProtectedResourceMetadata, error) {
	root := origin(own)
	places := []string{root + protectedResource + strings.TrimSuffix(own.EscapedPath(), "/"), root + protectedResource}
	if named != "" {
		places = slices.Insert(places, 0, named)
	}
	for _, place := range slices.Compact(places) {
		var meta oauthex.ProtectedResourceMetadata
		err := a.fetchJSON(ctx, "protected resource metadata", place, &meta)
		if errors.Is(err, errNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !covers(meta.Resource, own) {
			return nil, refuse(ErrForeignResource, "report this to the operator of the server: its metadata must name its own URL",
				"the metadata at %s is for %s, not for %s", shorten(place), shorten(meta.Resource), shorten(canonical(own)))
		}
		return &meta, nil
	}
	return nil, errNotFound
}

// covers reports whether resource is the server's URL, its origin or a parent of its path. Many servers use one of the
// latter.
func covers(resource string, own *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Opaque != "" || r.User != nil || r.Fragment != "" || origin(r) != origin(own) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != own.RawQuery {
		return false
	}
	path, whole := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(own.EscapedPath(), "/")
	return path == whole || strings.HasPrefix(whole, path+"/")
}

// chooseIssuer returns the configured issuer if the server names it. Without a configured issuer, it returns the
// first that the server names.
func (a *Agent) chooseIssuer(named []string) (string, error) {
	named = named[:min(len(named), maxIssuers)]
	if want := a.Config.Issuer; want != "" {
		for _, issuer := range named {
			if SameIssuer(issuer, want) {
				return issuer, nil
			}
		}
		return "", refuse(ErrForeignIssuer, "if this is correct, change auth.issuer of the server", "the server names %s, but auth.issuer is %s", shorten(strings.Join(named, ", ")), want)
	}
	if len(named) == 0 {
		return "", refuse(ErrNoLogin, "", "the server's metadata names no authorization server")
	}
	return named[0], nil
}

// discoverLegacy is Discover for servers of 2025-03-26, which are their own authorization servers unless Config.Issuer
// names another.
func (a *Agent) discoverLegacy(ctx context.Context, own *url.URL, c Challenge) (*AuthServer, error) {
	issuer := origin(own)
	if want := a.Config.Issuer; want != "" {
		issuer = want
	}
	site, err := a.fetchAuthServer(ctx, issuer)
	if errors.Is(err, errNotFound) {
		if a.Config.Issuer != "" || !c.Bearer {
			return nil, refuse(ErrNoLogin, "set auth.issuer of the server to its authorization server, or configure a token in headers", "%s publishes no metadata", shorten(issuer))
		}
		site, err = defaultEndpoints(issuer), nil
	}
	if err != nil {
		return nil, err
	}
	site.Resource, site.Scopes = canonical(own), a.scopes(c, nil)
	return site, nil
}

// defaultEndpoints returns the endpoints of a server without metadata: MCP 2025-03-26, basic/authorization, 2.3.3.
// That version requires PKCE.
func defaultEndpoints(base string) *AuthServer {
	return &AuthServer{Issuer: base, Authorize: base + "/authorize", Token: base + "/token", Register: base + "/register", S256: true, Guessed: true}
}

// headerHint returns the hint to configure a header for a server that takes credentials of the scheme but has no login.
func headerHint(scheme string) string {
	what := "CREDENTIALS"
	if scheme == "bearer" {
		what = "TOKEN"
	}
	return fmt.Sprintf("set headers: {Authorization: \"%s ${%s}\"} in the entry of the server", titled(scheme), what)
}

// titled returns the scheme with its first letter in upper case, such as "Basic" for "basic".
func titled(scheme string) string {
	if scheme == "" {
		return ""
	}
	return strings.ToUpper(scheme[:1]) + scheme[1:]
}

// origin returns scheme and host of a URL, in lower case and without a default port.
func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else if scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// canonical returns the canonical URL of a server, which is the resource in requests (RFC 8707).
func canonical(u *url.URL) string {
	s := origin(u) + strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		s += "?" + u.RawQuery
	}
	return s
}

// shorten prepares text for display: it truncates it to 200 bytes and removes control characters. Most of these texts come
// from servers.
func shorten(s string) string {
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s), "")
}

// Probe sends a request without a token to the MCP server and returns its challenge. It returns the zero Challenge on
// any error and for any status other than 401. For status 401, Bearer is always true.
func (a *Agent) Probe(ctx context.Context) Challenge {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server, nil)
	if err != nil {
		return Challenge{}
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := a.Client.HTTP.Do(r)
	if err != nil {
		return Challenge{}
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		return Challenge{}
	}
	c := ParseChallenge(answer.Header.Values("WWW-Authenticate"))
	c.Bearer = true
	return c
}
