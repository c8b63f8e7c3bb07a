package auth

import (
	"net/netip"
	"strings"

	"goblin-actor/protocol/downstream"
)

// maxHops limits the proxies of one list that are examined.
const maxHops = 32

// trusts reports whether an address belongs to a trusted proxy.
func trusts(proxies []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// forwardedFor returns the client address that a trusted proxy reports: the last address of its list that is not a
// trusted proxy, since any client could have written the entries before it. client is the zero Addr if the proxy
// reports none. ok is false if its headers contradict each other or are malformed.
func forwardedFor(r *downstream.Request, proxies []netip.Prefix) (client netip.Addr, ok bool) {
	var lists, forwarded, realIP []string
	r.Values("x-forwarded-for", func(v []byte) { lists = append(lists, string(v)) })
	r.Values("forwarded", func(v []byte) { forwarded = append(forwarded, string(v)) })
	r.Values("x-real-ip", func(v []byte) { realIP = append(realIP, string(v)) })
	if len(forwarded) > 1 || len(realIP) > 1 {
		return client, false
	}
	var found []netip.Addr
	if lists != nil { // several header lines form one list (RFC 9110, section 5.3): some proxies add a line of their own
		a, ok := lastUntrusted(strings.Split(strings.Join(lists, ","), ","), proxies)
		if !ok {
			return client, false
		}
		found = append(found, a)
	}
	if forwarded != nil {
		hops, ok := parseForwarded(forwarded[0])
		if !ok {
			return client, false
		}
		a, ok := lastUntrusted(hops, proxies)
		if !ok {
			return client, false
		}
		found = append(found, a)
	}
	if found == nil && realIP != nil { // many proxies forward X-Real-IP as the client sent it, so the lists take precedence
		a, ok := lastUntrusted(realIP, proxies)
		return a, ok
	}
	switch {
	case len(found) == 0:
		return client, true
	case len(found) == 2 && found[0] != found[1]:
		return client, false
	}
	return found[0], true
}

// lastUntrusted walks a list of hops from its end to the first untrusted address. If there is none, it returns the last
// address that it has examined. At a hop that hides its address it stops and returns the proxy that reported the hop.
func lastUntrusted(hops []string, proxies []netip.Prefix) (last netip.Addr, ok bool) {
	for n := 0; n < len(hops) && n < maxHops; n++ {
		hop := strings.TrimSpace(hops[len(hops)-1-n])
		if strings.EqualFold(hop, "unknown") || strings.HasPrefix(hop, "_") {
			return last, true
		}
		a, ok := parseHop(hop)
		if !ok {
			return netip.Addr{}, false
		}
		if last = a; !trusts(proxies, a) {
			break
		}
	}
	return last, true
}

// parseHop parses an address with an optional port. IPv6 addresses may have brackets.
func parseHop(hop string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]")); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(hop)
	return a.Addr().Unmap().WithZone(""), err == nil
}

// parseForwarded returns the for parameter of each element (RFC 7239, section 4), or "unknown" for an element without one.
func parseForwarded(value string) (hops []string, ok bool) {
	for {
		hop := "unknown"
		for {
			name, rest, found := strings.Cut(value, "=")
			name = strings.TrimSpace(name)
			if !found || name == "" || strings.ContainsAny(name, " \t\";,") {
				return nil, false
			}
			text, rest, ok := cutValue(strings.TrimLeft(rest, " \t"))
			if !ok {
				return nil, false
			}
			if strings.EqualFold(name, "for") {
				if hop != "unknown" {
					return nil, false
				}
				hop = text
			}
			value = rest
			if value == "" || value[0] != ';' {
				break
			}
			value = value[1:]
		}
		if hops = append(hops, hop); value == "" {
			return hops, true
		}
		value = value[1:] // skip the comma
	}
}

// cutValue splits off a token or a quoted string. rest is empty or starts with a comma or semicolon.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		value = strings.TrimRight(s[:end], " \t")
		return value, s[end:], value != "" && !strings.ContainsAny(value, "\" \t")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			rest = strings.TrimLeft(s[i+1:], " \t")
			return b.String(), rest, rest == "" || rest[0] == ';' || rest[0] == ','
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			fallthrough
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
