// Package authtest is an authorization server and a server that it protects, on loopback, with every fault that a test may want. It is
// imported by tests only.
//
//	issuer := authtest.New(t, authtest.Faults{})
//	server := issuer.Protect(t, nil)              // server.URL is that of an MCP endpoint
//	answer := issuer.Approve(t, login.URL)        // what a browser would bring to the redirect URI
//	issuer.Set(func(f *authtest.Faults) { f.TokenStatus = 503 })
package authtest
