// Package ssrf is the guard between the gateway and addresses that others name: metadata of servers, endpoints of authorization
// servers, redirects. A hostile server may name an address of ours (a router, the cloud's metadata service, a program on this
// machine) and have the gateway ask there in its place. So the address that is really dialled is looked at, after the name was
// resolved and at the last moment (net.Dialer.Control): no name, no rebinding, no redirect and no notation gets around it.
//
//	guard, err := ssrf.New(ssrf.Options{Allow: []string{"10.1.0.0/16", "login.corp.example"}})
//	door := guard.Door("https://mcp.example.com/mcp") // for what that server names
//	if err := door.Check(endpoint); err != nil { … }
//	answer, err := door.HTTP.Get(endpoint)
//
// # What is let through
//
//   - Public addresses, by https.
//   - What the operator allows: addresses, networks, names of hosts (egress.allow), by https.
//   - The host of the server's own URL, as the operator wrote it: a private or loopback address of its own is what the operator
//     meant. A public name that turns private gains nothing by that, as the certificate has to be of that name. Link-local addresses
//     stay shut also then: the metadata services of clouds are there.
//   - Where the operator's URL is on loopback (127.0.0.0/8, ::1, localhost), other ports of loopback too, by http or https:
//     whoever tries a server on this machine has its authorization server there as well.
//
// Of an answer 1 MiB are read, in 10 s from the first byte of the request to the last of the answer. At most three redirects are
// followed, of GET only: what is sent (a code, a token, a secret) goes where it was meant to or nowhere.
//
// # Behind a proxy
//
// Where the operator's environment names a proxy (Options.Proxy), it dials in our place, and nobody here sees which address. Then a host that
// is written as an address goes by the rules above; one that may be an address to somebody else (127.1, 0x7f000001, digits that are not
// those of ASCII) is refused; a name is looked up here, and refused if it leads where we would not go. What cannot be guaranteed: a name
// that only the proxy knows, or that leads elsewhere there, is reached if the proxy reaches it. It is asked for by CONNECT, and nothing is
// said over the tunnel before the other end has shown a certificate for that name, so plain services inside hear the beginning of TLS
// and no more. This machine, and what the environment takes from the proxy (NO_PROXY), is dialled and seen as ever.
package ssrf
