package ssrf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// lookupTimeout limits the resolution of a name before it is passed to a proxy.
const lookupTimeout = 2 * time.Second

// Environment returns the proxy that the environment configures for a request (HTTPS_PROXY, NO_PROXY). Connections to
// servers use the same proxy.
func Environment(r *http.Request) (*url.URL, error) { return http.ProxyFromEnvironment(r) }

// transportFor returns the transport for a request. It checks the host of a proxied request, because the transport
// dials only the proxy.
func (d *Client) transportFor(r *http.Request) (*http.Transport, error) {
	proxy, err := d.proxyFor(r)
	if err != nil || proxy == nil {
		return d.direct, err
	}
	return d.proxied, d.checkProxied(r.Context(), r.URL.Hostname())
}

// proxyFor returns the proxy for a request; nil = direct. This machine is always reached directly: for a proxy, its
// names would mean the proxy's machine.
func (d *Client) proxyFor(r *http.Request) (*url.URL, error) {
	if d.guard.proxy == nil || isLoopback(normalizeHost(r.URL.Hostname())) {
		return nil, nil
	}
	proxy, err := d.guard.proxy(r)
	if err != nil {
		return nil, fmt.Errorf("proxy settings in the environment: %w", err)
	}
	return proxy, nil
}

// errNoProxy indicates a bug: the unchecked transport must dial nothing but a proxy.
var errNoProxy = errors.New("no proxy for the request")

// requireProxy is proxyFor for the unchecked transport. It never returns nil without an error.
func (d *Client) requireProxy(r *http.Request) (*url.URL, error) {
	proxy, err := d.proxyFor(r)
	if err == nil && proxy == nil {
		err = errNoProxy
	}
	return proxy, err
}

// checkProxied checks a host before it is passed to a proxy: its notation, and the addresses that it resolves to here.
// A name that does not resolve here is left to the proxy.
func (d *Client) checkProxied(ctx context.Context, written string) error {
	host := normalizeHost(written)
	if _, err := netip.ParseAddr(host); err == nil || d.guard.hosts[host] {
		return nil // an address, which check has already checked, or a host that the operator allows at any address
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || isDisguised(host) {
		return fmt.Errorf("%w: %q is neither a public host name nor an IP address in standard notation", ErrForbidden, shorten(written))
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	resolver := d.guard.resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, ip := range addresses {
		if kind := d.guard.refusal(d.own, host, ip); kind != "" {
			return &AddressError{written, ip, kind}
		}
	}
	return nil
}

// isDisguised reports whether other software may read a host name as an address: 127.1, 2130706433, 0x7f000001, or
// digits outside ASCII, which net/http converts.
func isDisguised(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
}
