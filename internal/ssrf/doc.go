// Package ssrf guards requests to URLs that others supply: metadata of servers, endpoints of authorization servers,
// redirects. A hostile server may name an internal address (a router, a cloud metadata service, a program on this
// machine) and make the gateway send a request there. The guard therefore checks the address that is dialed, after
// name resolution and right before connecting (net.Dialer.Control): names, DNS rebinding, redirects and unusual
// notations cannot bypass it.
//
//	guard, err := ssrf.New(ssrf.Options{Allow: []string{"10.1.0.0/16", "login.corp.example"}})
//	client := guard.ClientFor("https://mcp.example.com/mcp") // for URLs that this server names
//	if err := client.Check(endpoint); err != nil { … }
//	response, err := client.HTTP.Get(endpoint)
//
// # What is allowed
//
//   - Public addresses, over HTTPS.
//   - What the operator allows: addresses, networks and host names (egress.allow), over HTTPS.
//   - The host of the server's own URL, as configured, even at a private or loopback address: the operator chose it. A public name that
//     later resolves to a private address gains nothing, because the certificate must match the name. Link-local addresses stay blocked
//     in this case too, because cloud metadata services use them.
//   - If the configured URL is on loopback (127.0.0.0/8, ::1, localhost), other loopback ports too, over HTTP or HTTPS: a server under
//     test on this machine usually has its authorization server there as well.
//
// A response body may have 1 MiB, and a request may take 10 s including its body. At most three redirects are
// followed, and only of GET requests: a code, a token or a secret is never forwarded.
//
// # Behind a proxy
//
// If the environment configures a proxy (Options.Proxy), the proxy dials and the guard cannot see the address. A host
// that is an IP address then follows the rules above. A host that other software may read as an address (127.1,
// 0x7f000001, digits outside ASCII) is refused. A name is resolved here, and refused if its address would be. This
// cannot be complete: a name that only the proxy can resolve, or that it resolves differently, is reached if the proxy
// reaches it. The request is sent through CONNECT, and nothing is sent in the tunnel before the other side has
// presented a certificate for the name, so that an internal plain-text service only receives the start of a TLS
// handshake. This machine, and hosts excluded from the proxy (NO_PROXY), are dialed and checked directly.
package ssrf
