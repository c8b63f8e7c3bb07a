package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
)

// anywhere are addresses that no machine has (RFC 5737 and RFC 3849). The way to them is the default route.
var anywhere = []string{"192.0.2.1:9", "[2001:db8::1]:9"}

var errNoAddress = errors.New("this machine has no address from which it can reach the other nodes")

// LocalAddress returns the address from which this machine sends to its peers (host:port). It takes the route to the first peer that is on
// another machine and whose name it can resolve. If there is none, it takes the default route. The result is a loopback address only if all
// peers are localhost or loopback addresses. LocalAddress sends nothing to the peers, but looks up their names until ctx ends.
func LocalAddress(ctx context.Context, peers []string) (netip.Addr, error) {
	return localAddress(ctx, peers, sourceTo)
}

func localAddress(ctx context.Context, peers []string, source func(context.Context, string) (netip.Addr, error)) (netip.Addr, error) {
	here := len(peers) > 0
	for _, peer := range peers {
		local := isLoopback(peer)
		here = here && local
		if local {
			continue
		}
		// The machine's own name may resolve to a loopback address.
		if a, err := source(ctx, peer); err == nil && !a.IsLoopback() {
			return a, nil
		}
	}
	if here {
		return source(ctx, peers[0])
	}
	for _, peer := range anywhere {
		if a, err := source(ctx, peer); err == nil && !a.IsLoopback() {
			return a, nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return netip.Addr{}, err
	}
	return netip.Addr{}, errNoAddress
}

// isLoopback reports whether a peer is localhost or a loopback address. It looks up no names.
func isLoopback(peer string) bool {
	host, _, _ := net.SplitHostPort(peer)
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// sourceTo returns the address from which this machine would send to a peer. Connecting a UDP socket chooses the address and sends nothing.
func sourceTo(ctx context.Context, peer string) (netip.Addr, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", peer)
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = conn.Close() }()
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok || local.AddrPort().Addr().IsLinkLocalUnicast() {
		return netip.Addr{}, errNoAddress
	}
	return local.AddrPort().Addr().Unmap(), nil
}
