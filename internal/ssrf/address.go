package ssrf

import "net/netip"

// nonPublic lists networks that are not on the public internet, or that an MCP server must not name, with a
// description of each.
var nonPublic = []struct {
	network netip.Prefix
	kind    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), shared},
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), reserved},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), reserved},
	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("::/96"), reserved},           // IPv4-compatible (deprecated)
	{netip.MustParsePrefix("::ffff:0:0:0/96"), reserved}, // IPv4-translated (RFC 2765)
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local NAT64 address"},
	{netip.MustParsePrefix("100::/64"), reserved},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001:db8::/32"), reserved},
	{netip.MustParsePrefix("3fff::/20"), reserved},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

// Kinds of nonPublic addresses that the code names more than once. refusal permits the first three for the operator's
// own server.
const (
	private  = "a private address"
	shared   = "a shared address (CGNAT)"
	loopback = "a loopback address"
	reserved = "a reserved address"
)

// Networks whose addresses embed an IPv4 address, to which a router forwards the packets.
var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // the last four bytes
	sixToV4 = netip.MustParsePrefix("2002::/16")    // the four bytes after the first two
)

// nonPublicKind describes an address that is not public. It returns "" for a public address.
func nonPublicKind(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() {
		return "an invalid address"
	}
	for _, c := range nonPublic {
		if c.network.Contains(ip) {
			return c.kind
		}
	}
	b := ip.As16()
	switch {
	case ip.Is4():
		return ""
	case nat64.Contains(ip):
		return nonPublicKind(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToV4.Contains(ip):
		return nonPublicKind(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return ""
}
