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

// serverMetadata is what an authorization server says of itself (RFC 8414), with what RFC 8628 adds.
type serverMetadata struct {
	oauthex.AuthServerMeta
	Device string `json:"device_authorization_endpoint"`
}

// site fetches the metadata of an authorization server from the well-known places, in the order of MCP 2025-11-25.
func (a *Agent) site(ctx context.Context, issuer string) (*Site, error) {
	if err := a.Door.Check(issuer); err != nil {
		return nil, fmt.Errorf("the authorization server that the server names: %w", err)
	}
	for _, place := range places(issuer) {
		var meta serverMetadata
		err := a.document(ctx, "the metadata of the authorization server", place, &meta)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !SameIssuer(meta.Issuer, issuer) {
			return nil, refuse(ErrForeignIssuer, "the metadata has to name the issuer it was asked for; tell whoever runs it", "%s says that it is %s", shorten(place), shorten(meta.Issuer))
		}
		return a.siteOf(&meta)
	}
	return nil, errAbsent
}

// places are where the metadata of an issuer may be.
func places(issuer string) []string {
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

// SameIssuer compares issuers. One slash at the end makes no difference: what servers write of themselves and of others differs in it.
func SameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// siteOf takes from the metadata what we use, and checks the endpoints.
func (a *Agent) siteOf(m *serverMetadata) (*Site, error) {
	s := &Site{
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
		return nil, refuse(ErrMalformed, "", "the metadata of %s names no token_endpoint", shorten(s.Issuer))
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
		if err := a.Door.Check(e.url); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", e.name, shorten(s.Issuer), err)
		}
	}
	return s, nil
}
