package ssrf

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"goblin-actor/internal/status"
)

const (
	requestTimeout = 10 * time.Second // time limit for a request, with its redirects and the response body
	dialTimeout    = 5 * time.Second
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
	maxShownBytes  = 200 // maximum bytes of a server's text in an error
)

var (
	// ErrForbidden is wrapped by the error for a URL or an address that must not be reached.
	ErrForbidden = errors.New("refused by the egress guard")
	// ErrTooLarge is returned by a response body that is longer than 1 MiB.
	ErrTooLarge = errors.New("the response is larger than 1 MiB")
)

// AddressError is returned for a host whose address must not be dialed.
type AddressError struct {
	Host string     // as in the URL
	IP   netip.Addr // the address, or the one that the name resolved to
	Kind string     // such as "a private address"
}

// Error names the host, its address and the address's kind.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%s has the address %s, which is %s; a server must not make the gateway connect there", e.Host, e.IP, e.Kind)
}

// Hint returns the configuration that allows the host.
func (e *AddressError) Hint() string {
	return fmt.Sprintf("if this is intended, add to the configuration: egress: {allow: [%q]}", e.Host)
}

// Unwrap returns ErrForbidden.
func (*AddressError) Unwrap() error { return ErrForbidden }

// Client sends requests to URLs that an MCP server names. It is safe for concurrent use.
type Client struct {
	// HTTP follows the rules of this package.
	HTTP *http.Client

	guard   *Guard
	own     ownHost
	direct  *http.Transport // checks the dialed address
	proxied *http.Transport // dials only the proxy
}

// ClientFor returns a client for URLs that the MCP server at serverURL names. serverURL is the URL in the configuration.
func (g *Guard) ClientFor(serverURL string) *Client {
	d := &Client{guard: g, own: parseOwnHost(serverURL)}
	d.direct, d.proxied = transport(d.dial), transport((&net.Dialer{Timeout: dialTimeout}).DialContext)
	d.proxied.Proxy = d.requireProxy
	d.HTTP = &http.Client{Transport: checkingTransport{d}, CheckRedirect: redirect, Timeout: requestTimeout}
	return d
}

func transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableKeepAlives:      true, // requests are rare, and net/http must not resend one because an idle connection was closed
	}
}

// Check returns an error if a URL that the server names must not be requested. It does not resolve the host.
func (d *Client) Check(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%w: %q is not a URL", ErrForbidden, shorten(raw))
	}
	return d.check(u)
}

// shorten truncates a server's text to maxShownBytes for an error.
func shorten(s string) string { return status.Cut(s, maxShownBytes) }

func (d *Client) check(u *url.URL) error {
	host := normalizeHost(u.Hostname())
	switch {
	case host == "" || u.Opaque != "":
		return fmt.Errorf("%w: %q has no host", ErrForbidden, shorten(u.Redacted()))
	case u.User != nil:
		return fmt.Errorf("%w: %q contains a user name", ErrForbidden, shorten(u.Redacted()))
	case u.Scheme != "https" && (u.Scheme != "http" || !d.own.loopback || !isLoopback(host)):
		return fmt.Errorf("%w: %q does not use https", ErrForbidden, shorten(u.Redacted()))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if kind := d.guard.refusal(d.own, host, ip); kind != "" {
			return &AddressError{u.Hostname(), ip, kind}
		}
	}
	return nil
}

// dial connects to the host, unless its address is refused.
func (d *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout, Resolver: d.guard.resolver, Control: func(_, dialled string, _ syscall.RawConn) error {
		return d.checkDialed(host, dialled)
	}}
	return dialer.DialContext(ctx, network, address)
}

// checkDialed checks the address that is dialed, after name resolution and before any byte is sent.
func (d *Client) checkDialed(host, dialled string) error {
	to, err := netip.ParseAddrPort(dialled)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrForbidden, dialled)
	}
	if kind := d.guard.refusal(d.own, normalizeHost(host), to.Addr()); kind != "" {
		return &AddressError{host, to.Addr(), kind}
	}
	return nil
}

// redirect limits redirects, and refuses them for requests other than GET, which carry secrets. The transport checks
// their targets.
func redirect(_ *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case first.Method != http.MethodGet:
		return fmt.Errorf("%w: %s answered with a redirect, which is not followed because it would forward secrets", ErrForbidden, first.URL.Redacted())
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: %s redirects more than %d times", ErrForbidden, first.URL.Redacted(), maxRedirects)
	}
	return nil
}

// checkingTransport checks every request, including redirected ones, and limits the response body.
type checkingTransport struct{ client *Client }

// RoundTrip implements http.RoundTripper.
func (c checkingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.client.check(r.URL); err != nil {
		return nil, err
	}
	via, err := c.client.transportFor(r)
	if err != nil {
		return nil, err
	}
	answer, err := via.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limitedBody{answer.Body, maxBodyBytes}
	return answer, nil
}
