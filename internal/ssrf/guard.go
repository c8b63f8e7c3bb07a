package ssrf

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Options say what the operator allows.
type Options struct {
	// Allow are addresses, networks and names of hosts that may be reached although they are not public (egress.allow).
	Allow []string

	// Resolver finds the addresses of names; nil = the system's.
	Resolver *net.Resolver

	// Proxy says through which proxy a request goes, as Environment does: nil = directly. Without it all do.
	Proxy func(*http.Request) (*url.URL, error)
}

// Guard knows what the operator allows. Immutable.
type Guard struct {
	networks []netip.Prefix
	hosts    map[string]bool // lower case, without a final dot
	resolver *net.Resolver
	proxy    func(*http.Request) (*url.URL, error)
}

// New makes a Guard. An entry that is no address, network or name is an error.
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
			return fmt.Errorf("egress.allow: %q is no network; write one like 10.0.0.0/8", written)
		}
		g.networks = append(g.networks, network.Masked())
		return nil
	}
	if host := plain(written); host != "" && !strings.ContainsAny(host, " :@?#*[]") {
		g.hosts[host] = true
		return nil
	}
	return fmt.Errorf("egress.allow: %q is no address, network or name of a host; write one like 10.0.0.5, 10.0.0.0/8 or login.corp.example", written)
}

// plain is a host's name as names are compared.
func plain(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// own is what the operator wrote of the server that names addresses.
type own struct {
	host     string // plain
	loopback bool   // it is on this machine, by its notation
}

func ownOf(serverURL string) own {
	u, err := url.Parse(serverURL)
	if err != nil {
		return own{}
	}
	host := plain(u.Hostname())
	return own{host: host, loopback: isLoopback(host)}
}

// isLoopback reports whether a host is written as this machine. A name that only resolves to it is not.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && kindOf(ip) == loopback
}

// judge says why ip may not be dialled for host; "" = it may.
func (g *Guard) judge(o own, host string, ip netip.Addr) string {
	kind := kindOf(ip)
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
