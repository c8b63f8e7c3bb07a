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
	timeAtMost      = 10 * time.Second // for a request, with its redirects and the response body
	dialAtMost      = 5 * time.Second
	redirectsAtMost = 3
	headerAtMost    = 64 << 10
	shownBytes      = 200 // bytes of foreign text in an error
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
	return fmt.Sprintf("%s has the address %s, which is %s; a server must not send the gateway there", e.Host, e.IP, e.Kind)
}

// Hint returns the configuration that allows the host.
func (e *AddressError) Hint() string {
	return fmt.Sprintf("if this is intended, add to the configuration: egress: {allow: [%q]}", e.Host)
}

// Unwrap returns ErrForbidden.
func (*AddressError) Unwrap() error { return ErrForbidden }

// Client sends requests to URLs that an MCP server names. It is safe for concurrent use.
type Door struct {
	// HTTP follows the rules of this package.
	HTTP *http.Client

	guard   *Guard
	own     own
	direct  *http.Transport // checks the dialed address
	proxied *http.Transport // dials only the proxy
}

// ClientFor returns a client for URLs that the MCP server at serverURL names. serverURL is the URL in the configuration.
func (g *Guard) Door(serverURL string) *Door {
	d := &Door{guard: g, own: ownOf(serverURL)}
	d.direct, d.proxied = transport(d.dial), transport((&net.Dialer{Timeout: dialAtMost}).DialContext)
	d.proxied.Proxy = d.certainProxy
	d.HTTP = &http.Client{Transport: checked{d}, CheckRedirect: redirect, Timeout: timeAtMost}
	return d
}

func transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialAtMost,
		MaxResponseHeaderBytes: headerAtMost,
		DisableKeepAlives:      true, // requests are rare, and net/http must not resend one because an idle connection was closed
	}
}

// Check reports what is wrong with a URL that the server names, as far as possible without resolving its host.
func (d *Door) Check(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%w: %q is not a URL", ErrForbidden, shortened(raw))
	}
	return d.check(u)
}

// shortened truncates foreign text for an error.
func shortened(s string) string { return status.Cut(s, shownBytes) }

func (d *Door) check(u *url.URL) error {
	host := plain(u.Hostname())
	switch {
	case host == "" || u.Opaque != "":
		return fmt.Errorf("%w: %q has no host", ErrForbidden, shortened(u.Redacted()))
	case u.User != nil:
		return fmt.Errorf("%w: %q contains a user name", ErrForbidden, shortened(u.Redacted()))
	case u.Scheme != "https" && (u.Scheme != "http" || !d.own.loopback || !isLoopback(host)):
		return fmt.Errorf("%w: %q does not use https", ErrForbidden, shortened(u.Redacted()))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if kind := d.guard.judge(d.own, host, ip); kind != "" {
			return &AddressError{u.Hostname(), ip, kind}
		}
	}
	return nil
}

// dial connects to the host, unless its address is refused.
func (d *Door) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialAtMost, Resolver: d.guard.resolver, Control: func(_, dialled string, _ syscall.RawConn) error {
		return d.control(host, dialled)
	}}
	return dialer.DialContext(ctx, network, address)
}

// checkDialed checks the address that is dialed, after name resolution and before any byte is sent.
func (d *Door) control(host, dialled string) error {
	to, err := netip.ParseAddrPort(dialled)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrForbidden, dialled)
	}
	if kind := d.guard.judge(d.own, plain(host), to.Addr()); kind != "" {
		return &AddressError{host, to.Addr(), kind}
	}
	return nil
}

// redirect limits redirects, and refuses them for requests with a body. The transport checks their targets.
func redirect(_ *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case first.Method != http.MethodGet:
		return fmt.Errorf("%w: %s answered with a redirect, which is not followed because it would forward secrets", ErrForbidden, first.URL.Redacted())
	case len(via) > redirectsAtMost:
		return fmt.Errorf("%w: %s redirects more than %d times", ErrForbidden, first.URL.Redacted(), redirectsAtMost)
	}
	return nil
}

// checkingTransport checks every request, including redirected ones, and limits the response body.
type checked struct{ door *Door }

// RoundTrip implements http.RoundTripper.
func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.door.check(r.URL); err != nil {
		return nil, err
	}
	way, err := c.door.way(r)
	if err != nil {
		return nil, err
	}
	answer, err := way.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &bounded{answer.Body, bodyAtMost}
	return answer, nil
}
