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

// lookupAtMost is how long it may take to look where a name leads that a proxy is about to be asked for.
const lookupAtMost = 2 * time.Second

// Environment is the Options.Proxy of the environment (HTTPS_PROXY, NO_PROXY): the links to servers go by the same.
func Environment(r *http.Request) (*url.URL, error) { return http.ProxyFromEnvironment(r) }

// way is how a request gets to where it goes. What goes through a proxy is checked here, as the proxy is all that is dialled.
func (d *Door) way(r *http.Request) (*http.Transport, error) {
	proxy, err := d.proxyOf(r)
	if err != nil || proxy == nil {
		return d.direct, err
	}
	return d.proxied, d.checkProxied(r.Context(), r.URL.Hostname())
}

// proxyOf says through which proxy a request goes; nil = directly. This machine is reached directly in all its notations: to a proxy
// they would mean the proxy's.
func (d *Door) proxyOf(r *http.Request) (*url.URL, error) {
	if d.guard.proxy == nil || isLoopback(plain(r.URL.Hostname())) {
		return nil, nil
	}
	proxy, err := d.guard.proxy(r)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment: %w", err)
	}
	return proxy, nil
}

// errNoProxy would be a fault of ours: nothing may be dialled unseen but a proxy.
var errNoProxy = errors.New("there is no proxy to go through")

// certainProxy is proxyOf for the transport that dials without a look.
func (d *Door) certainProxy(r *http.Request) (*url.URL, error) {
	proxy, err := d.proxyOf(r)
	if err == nil && proxy == nil {
		err = errNoProxy
	}
	return proxy, err
}

// checkProxied looks at the host that a proxy is about to be asked for: how it is written, and where it leads from here. A name that is
// not known here is the proxy's to judge; so is one that leads elsewhere there.
func (d *Door) checkProxied(ctx context.Context, written string) error {
	host := plain(written)
	if _, err := netip.ParseAddr(host); err == nil || d.guard.hosts[host] {
		return nil // check has looked at it
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || isDisguised(host) {
		return fmt.Errorf("%w: %q is neither a name of the internet nor an address as one writes it", ErrForbidden, shortened(written))
	}
	ctx, cancel := context.WithTimeout(ctx, lookupAtMost)
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
		if kind := d.guard.judge(d.own, host, ip); kind != "" {
			return &AddressError{written, ip, kind}
		}
	}
	return nil
}

// isDisguised reports whether a host that we take for a name may be an address to somebody else: 127.1, 2130706433, 0x7f000001, or such
// in digits that are not those of ASCII, to which net/http turns them.
func isDisguised(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
}
