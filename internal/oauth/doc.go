// Package oauth gets access tokens for servers from their authorization servers: MCP 2026-07-28, basic/authorization, and what the versions
// before it say otherwise. An [Agent] is one server of ours as a client of OAuth 2.1; it keeps nothing between its methods, which may be
// called from any goroutine.
//
//	agent := &oauth.Agent{Server: url, Door: guard.Door(url), Now: time.Now, Client: …}
//	site, err := agent.Discover(ctx, oauth.ParseChallenge(headers))   // where is it, and what can it do
//	client, err := agent.Register(ctx, site, redirectURI)             // who are we there
//	login, err := agent.Authorize(site, client, scopes, redirectURI)  // login.URL is for a browser
//	token, err := agent.Redeem(ctx, login, oauth.Answer{…})           // of what came to redirectURI
//	token, err = agent.Refresh(ctx, site, client, token)
//
// # What is refused, whoever asks
//
//   - Metadata of another resource than the server's own URL, or a part of its path; metadata of another issuer than was asked for, or than
//     the operator named.
//   - An authorization server that does not say it does PKCE with S256. (One of 2025-03-26 without any metadata cannot say it; S256 is
//     used there as that version demands.)
//   - An answer with a state that is not the login's, or an iss that is not its issuer's, or without iss where one was promised. Nothing else of such
//     an answer is looked at.
//   - A redirect of anything that carries a secret; addresses that the egress guard shuts.
//
// A request for a token is sent once: a code or a refresh token may be good for one time only. Only the error invalid_grant says that a login
// is over ([Ended]); all else may pass ([Temporary]) or is the operator's ([Hint]).
//
// The metadata types, the reading of challenges and the registration are those of go-sdk's oauthex. The metadata is fetched here: oauthex
// wants the resource byte for byte where servers name a part of it, wants PKCE of servers that are asked for client credentials only, refuses
// addresses that the operator allows, and does not tell an answer of 503 from a wrong document.
package oauth
