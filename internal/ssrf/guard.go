package ssrf

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Options configure a Guard.
type Options struct {
	// Allow lists addresses, networks and host names that may be reached although they are not public (egress.allow).
	Allow []string

	// Resolver resolves host names; nil = the system's resolver.
	Resolver *net.Resolver

	// Proxy returns the proxy for a request, or nil for a direct connection. A nil Proxy means that all connections
	// are direct. See Environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// Guard decides which addresses may be reached. It is immutable.
type Guard struct {
	networks []netip.Prefix
	hosts    map[string]bool // lower case, without a final dot
	resolver *net.Resolver
	proxy    func(*http.Request) (*url.URL, error)
}

// New returns a Guard. It fails if an entry of Allow is not an address, network or host name.
func New(o Options) (*Guard, error) {
	g := &Guard{hosts: map[string]bool{}, resolver: o.Resolver, proxy: o.Proxy}
	for _, written := range o.Allow {
		if err := g.allow(written); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Guard) allow(written string) error {
	if ip, err := netip.ParseAddr(strings.Trim(written, "[]")); err == nil {
		ip = ip.Unmap()
		g.networks = append(g.networks, netip.PrefixFrom(ip, ip.BitLen()))
		return nil
	}
	if strings.Contains(written, "/") {
		network, err := netip.ParsePrefix(written)
		if err != nil {
			return fmt.Errorf("egress.allow: %q is not a network; write it like 10.0.0.0/8", written)
		}
		g.networks = append(g.networks, network.Masked())
		return nil
	}
	if host := normalizeHost(written); host != "" && !strings.ContainsAny(host, " :@?#*[]") {
		g.hosts[host] = true
		return nil
	}
	return fmt.Errorf("egress.allow: %q is not an address, network or host name; write it like 10.0.0.5, 10.0.0.0/8 or login.corp.example", written)
}

// normalizeHost returns a host name in lower case and without a final dot.
func normalizeHost(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// ownHost is the host of the MCP server's configured URL.
type ownHost struct {
	host     string // normalized
	loopback bool   // written as a loopback address or localhost
}

func parseOwnHost(serverURL string) ownHost {
	u, err := url.Parse(serverURL)
	if err != nil {
		return ownHost{}
	}
	host := normalizeHost(u.Hostname())
	return ownHost{host: host, loopback: isLoopback(host)}
}

// isLoopback reports whether a host is written as this machine. A name that only resolves to loopback is not.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && nonPublicKind(ip) == loopback
}

// refusal returns the kind of ip if it must not be dialed for host, and "" if it may be.
func (g *Guard) refusal(o ownHost, host string, ip netip.Addr) string {
	kind := nonPublicKind(ip)
	if kind == "" || g.hosts[host] {
		return ""
	}
	plainIP := ip.Unmap().WithZone("")
	for _, network := range g.networks {
		if network.Contains(plainIP) {
			return ""
		}
	}
	switch kind {
	case loopback:
		if o.loopback && isLoopback(host) || host == o.host {
			return ""
		}
	case private, shared:
		if host == o.host {
			return ""
		}
	}
	return kind
}
