package downstream

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
)

// hostChecks decides which Host and Origin headers the server accepts. It refuses web pages of other sites: a page whose
// name was rebound to the server's address still sends its own name as Host, and its own Origin (MCP 2025-11-25,
// basic/transports, security warning).
type hostChecks struct {
	allowed atomic.Pointer[allowed]

	mu     sync.RWMutex
	listen []net.Addr // addresses of the listeners given to Serve
}

// allowed holds the origins and hosts that the configuration allows. It is immutable.
type allowed struct {
	origins map[string]bool // lower case: scheme://host[:port]
	hosts   map[string]bool // lower case: host, or host:port
}

func newHostChecks(o Options) *hostChecks {
	c := &hostChecks{}
	c.allow(o.AllowedOrigins, o.AllowedHosts)
	return c
}

func (c *hostChecks) allow(origins, hosts []string) {
	a := &allowed{origins: map[string]bool{}, hosts: map[string]bool{}}
	for _, origin := range origins {
		a.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	for _, host := range hosts {
		a.hosts[strings.ToLower(host)] = true
	}
	c.allowed.Store(a)
}

func (c *hostChecks) listening(a net.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listen = append(c.listen, a)
}

// host reports whether a Host header names this server: localhost, a loopback address, the local address of the
// connection, the address of a listener, or a host that the configuration allows. The port only matters for an allowed
// host that names one, because ports of loopback addresses are often forwarded.
func (c *hostChecks) host(value string, local net.Addr) bool {
	name, _, ok := splitHost(value)
	if !ok {
		return false
	}
	lower, hosts := strings.ToLower(value), c.allowed.Load().hosts
	if hosts[lower] || hosts[name] || hosts["["+name+"]"] {
		return true
	}
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return c.listensOn(name)
	}
	ip = ip.Unmap()
	return ip.IsLoopback() || ip == addrOf(local) || c.listensOn(name)
}

// listensOn reports whether the address of a listener has the given host.
func (c *hostChecks) listensOn(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, a := range c.listen {
		if host, _, err := net.SplitHostPort(a.String()); err == nil && strings.EqualFold(host, name) {
			return true
		}
	}
	return false
}

// origin reports whether an Origin header is acceptable. It may name this server, with the host and port of the Host
// header or with another name of this server and the local port. It may also be allowed by the configuration; foreign is
// then true and the response needs CORS headers.
func (c *hostChecks) origin(value, host string, local net.Addr) (ok, foreign bool) {
	lower := strings.ToLower(value)
	if c.allowed.Load().origins[lower] {
		return true, true
	}
	scheme, rest, found := strings.Cut(lower, "://")
	if !found || scheme != "http" && scheme != "https" {
		return false, false
	}
	if rest == strings.ToLower(host) {
		return true, false
	}
	_, port, valid := splitHost(rest)
	return valid && port != "" && port == portOf(local) && c.host(rest, local), false
}

// splitHost splits a Host header. The name is in lower case and without brackets, the port is "" if absent.
func splitHost(value string) (name, port string, ok bool) {
	if value == "" || strings.ContainsAny(value, " \t/@?#%\\") {
		return "", "", false
	}
	name = value
	if strings.HasPrefix(value, "[") {
		end := strings.IndexByte(value, ']')
		if end < 0 {
			return "", "", false
		}
		name, port = value[1:end], value[end+1:]
		if port != "" && port[0] != ':' {
			return "", "", false
		}
	} else if colon := strings.IndexByte(value, ':'); colon >= 0 {
		name, port = value[:colon], value[colon:]
	}
	port = strings.TrimPrefix(port, ":")
	for _, digit := range []byte(port) {
		if digit < '0' || digit > '9' {
			return "", "", false
		}
	}
	return strings.ToLower(name), port, name != ""
}

func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

func portOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	_, port, _ := net.SplitHostPort(a.String())
	return port
}
