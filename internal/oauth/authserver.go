package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// serverMetadata is the metadata of an authorization server (RFC 8414) with the extension of RFC 8628.
type serverMetadata struct {
	oauthex.AuthServerMeta
	Device string `json:"device_authorization_endpoint"`
}

// fetchAuthServer fetches the metadata of an authorization server from its well-known URLs, in the order of MCP
// 2025-11-25. It returns errNotFound if there is none.
func (a *Agent) fetchAuthServer(ctx context.Context, issuer string) (*AuthServer, error) {
	if err := a.Client.Check(issuer); err != nil {
		return nil, fmt.Errorf("authorization server of the MCP server: %w", err)
	}
	for _, place := range wellKnownURLs(issuer) {
		var meta serverMetadata
		err := a.fetchJSON(ctx, "authorization server metadata", place, &meta)
		if errors.Is(err, errNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !SameIssuer(meta.Issuer, issuer) {
			return nil, refuse(ErrForeignIssuer, "report this to the operator of the authorization server: the issuer in its metadata must match the URL of the metadata", "the metadata at %s names the issuer %s", shorten(place), shorten(meta.Issuer))
		}
		return a.newAuthServer(&meta)
	}
	return nil, errNotFound
}

// wellKnownURLs returns the URLs at which the metadata of an issuer may be.
func wellKnownURLs(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := origin(u), strings.TrimSuffix(u.EscapedPath(), "/")
	if path == "" {
		return []string{root + authorizationServer, root + openidConfiguration}
	}
	return []string{root + authorizationServer + path, root + openidConfiguration + path, root + path + openidConfiguration}
}

// SameIssuer reports whether two issuers are equal, apart from a trailing slash, in which servers are inconsistent.
func SameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// newAuthServer converts metadata and checks its endpoints.
func (a *Agent) newAuthServer(m *serverMetadata) (*AuthServer, error) {
	s := &AuthServer{
		Issuer: m.Issuer, Authorize: m.AuthorizationEndpoint, Token: m.TokenEndpoint, Device: m.Device, Register: m.RegistrationEndpoint, Revoke: m.RevocationEndpoint,
		S256: slices.Contains(m.CodeChallengeMethodsSupported, "S256"), Iss: m.AuthorizationResponseIssParameterSupported,
		Documents: m.ClientIDMetadataDocumentSupported, Offline: slices.Contains(m.ScopesSupported, offlineAccess),
	}
	for _, known := range []string{methodBasic, methodPost, methodNone} {
		if slices.Contains(m.TokenEndpointAuthMethodsSupported, known) {
			s.Methods = append(s.Methods, known)
		}
	}
	if s.Token == "" {
		return nil, refuse(ErrMalformed, "", "the metadata of %s has no token_endpoint", shorten(s.Issuer))
	}
	for _, e := range []struct{ name, url string }{
		{"authorization_endpoint", s.Authorize}, {"token_endpoint", s.Token}, {"device_authorization_endpoint", s.Device}, {"registration_endpoint", s.Register}, {"revocation_endpoint", s.Revoke},
	} {
		if e.url == "" {
			continue
		}
		if len(e.url) > maxURL {
			return nil, refuse(ErrMalformed, "", "%s of %s is too long", e.name, shorten(s.Issuer))
		}
		if err := a.Client.Check(e.url); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", e.name, shorten(s.Issuer), err)
		}
	}
	return s, nil
}
