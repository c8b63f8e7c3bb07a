// Package oauth gets access tokens for MCP servers from their authorization servers: MCP 2026-07-28,
// basic/authorization, and the rules of earlier versions where they differ. An [Agent] acts as the OAuth 2.1 client of
// one MCP server. It keeps no state between calls and is safe for concurrent use.
//
//	agent := &oauth.Agent{Server: url, Client: guard.ClientFor(url), Now: time.Now, Config: …}
//	site, err := agent.Discover(ctx, oauth.ParseChallenge(headers))   // find the authorization server
//	client, err := agent.Register(ctx, site, redirectURI)             // register the gateway there
//	login, err := agent.Authorize(site, client, scopes, redirectURI)  // open login.URL in a browser
//	token, err := agent.Redeem(ctx, login, oauth.AuthResponse{…})     // the parameters sent to redirectURI
//	token, err = agent.Refresh(ctx, site, client, token)
//
// # What is refused
//
//   - Metadata for a resource other than the server's URL or a parent of its path, and metadata for an issuer other
//     than the one requested or configured.
//   - A login by browser at an authorization server that does not announce PKCE with S256. (A server of 2025-03-26
//     without metadata cannot announce it; S256 is used there because that version requires it.)
//   - An authorization response whose state is not that of the login, whose iss is not the login's issuer, or that has
//     no iss although the server announced it. No other parameter of such a response is used.
//   - A redirect of a request that carries a secret; addresses that the egress guard blocks.
//
// A token request is sent once, because a code or a refresh token may be valid for one use only. Only the error
// invalid_grant means that a login has ended ([GrantEnded]). Other errors may be transient ([Temporary]) or need the
// operator ([Hint]).
//
// The metadata types, the parser of challenges and the registration come from oauthex of go-sdk. The metadata is
// fetched here, because oauthex compares the resource byte for byte although servers name a parent of it, requires
// PKCE for client credentials too, refuses addresses that the operator allows, and does not distinguish HTTP 503 from
// a wrong document.
package oauth
