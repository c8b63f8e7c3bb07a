package downstream

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
)

// hostChecks decides which Host and Origin headers we answer to. It keeps browsers of strangers out: a page whose name
// was rebound to our address still sends its own name as Host, and its own Origin
// (MCP 2025-11-25, basic/transports, security warning).
type hostChecks struct {
	allowed atomic.Pointer[allowed]

	mu     sync.RWMutex
	listen []net.Addr // what Serve was given
}

// allowed is what the configuration allows besides. Immutable.
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

// host reports whether a Host header names us: a loopback name or address, the address the connection came in on,
// what we listen on, or what the configuration allows. Any port will do for loopback (forwarded ports are common there);
// an allowed host with a port must match it.
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

// listensOn reports whether one of the listeners' addresses has that host.
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

// origin reports whether an Origin header is ours (same host and port as Host, or another name of ours with a port we
// listen on) or allowed. foreign: it is another site's, so the answer needs CORS headers.
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

// splitHost cuts a Host value; the name is lower case and without brackets, the port "" when absent.
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
