package client

import "net/netip"

// IsLoopback reports whether host is localhost or a loopback address. It does not resolve names, because their
// addresses may change.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
