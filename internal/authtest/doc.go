// Package authtest provides an authorization server and a protected server on loopback, with configurable faults. Only
// tests import it.
//
//	issuer := authtest.New(t, authtest.Faults{})
//	server := issuer.Protect(t, nil)              // server.URL is an MCP endpoint
//	answer := issuer.Approve(t, login.URL)        // the parameters that a browser would bring to the redirect URI
//	issuer.Set(func(f *authtest.Faults) { f.TokenStatus = 503 })
package authtest
