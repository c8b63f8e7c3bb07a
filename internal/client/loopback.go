package client

import "net/netip"

// IsLoopback reports whether host is localhost or a loopback address. No name is resolved: it may resolve elsewhere tomorrow.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
