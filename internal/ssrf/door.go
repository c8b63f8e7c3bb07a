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
	timeAtMost      = 10 * time.Second // of a request, with its redirects and its body
	dialAtMost      = 5 * time.Second
	redirectsAtMost = 3
	headerAtMost    = 64 << 10
	shownBytes      = 200 // of what others have written
)

var (
	// ErrForbidden is in the chain of an error when an address is not to be reached, or not in that way.
	ErrForbidden = errors.New("refused by the egress guard")
	// ErrTooLarge is returned by the body of an answer that is longer than 1 MiB.
	ErrTooLarge = errors.New("the answer is longer than 1 MiB")
)

// AddressError says that the address of a host may not be dialled.
type AddressError struct {
	Host string     // as the URL has it
	IP   netip.Addr // what it is, or turned out to be
	Kind string     // such as "a private address"
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is at %s, which is %s: a server may not send the gateway there", e.Host, e.IP, e.Kind)
}

// Hint says what a person can do.
func (e *AddressError) Hint() string {
	return fmt.Sprintf("if that is meant, add it to the configuration: egress: {allow: [%q]}", e.Host)
}

func (*AddressError) Unwrap() error { return ErrForbidden }

// Door is the way to what one server names. Its methods may be called from any goroutine.
type Door struct {
	// HTTP is a client that goes by the rules of this package.
	HTTP *http.Client

	guard   *Guard
	own     own
	direct  *http.Transport // sees where names lead
	proxied *http.Transport // sees the proxy
}

// Door returns the way to what the server behind a URL names. The URL is as the operator wrote it.
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
		DisableKeepAlives:      true, // requests are rare, and none is sent again because a connection had grown old
	}
}

// Check says what is wrong with a URL that the server names, as far as it shows without resolving names.
func (d *Door) Check(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%w: %q is no URL", ErrForbidden, shortened(raw))
	}
	return d.check(u)
}

// shortened is foreign text for an error.
func shortened(s string) string { return status.Cut(s, shownBytes) }

func (d *Door) check(u *url.URL) error {
	host := plain(u.Hostname())
	switch {
	case host == "" || u.Opaque != "":
		return fmt.Errorf("%w: %q names no host", ErrForbidden, shortened(u.Redacted()))
	case u.User != nil:
		return fmt.Errorf("%w: %q holds a user", ErrForbidden, shortened(u.Redacted()))
	case u.Scheme != "https" && (u.Scheme != "http" || !d.own.loopback || !isLoopback(host)):
		return fmt.Errorf("%w: %q is not https", ErrForbidden, shortened(u.Redacted()))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if kind := d.guard.judge(d.own, host, ip); kind != "" {
			return &AddressError{u.Hostname(), ip, kind}
		}
	}
	return nil
}

// dial connects to where the name leads, unless that is shut.
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

// control sees the address that is really dialled, after all names and before a byte is sent.
func (d *Door) control(host, dialled string) error {
	to, err := netip.ParseAddrPort(dialled)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrForbidden, dialled)
	}
	if kind := d.guard.judge(d.own, plain(host), to.Addr()); kind != "" {
		return &AddressError{host, to.Addr(), kind}
	}
	return nil
}

// redirect lets few redirects through, and none of what carries something. Where they lead is checked like any other request.
func redirect(_ *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case first.Method != http.MethodGet:
		return fmt.Errorf("%w: %s answers with a redirect, which is not followed as it would take secrets along", ErrForbidden, first.URL.Redacted())
	case len(via) > redirectsAtMost:
		return fmt.Errorf("%w: %s is redirected more than %d times", ErrForbidden, first.URL.Redacted(), redirectsAtMost)
	}
	return nil
}

// checked checks each request, redirected ones too, and bounds its answer.
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
