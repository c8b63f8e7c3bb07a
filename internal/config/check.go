package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// check finds the faults that concern the gateway as a whole.
func (d *decoder) check(c *Config) {
	d.checkAddresses(c)
	for _, f := range []struct {
		path  string
		wrong bool
		say   string
		hint  string
	}{
		{"namespace.separator", c.Namespace.Separator == "" || len(c.Namespace.Separator) > 8 || !isNamePart(c.Namespace.Separator),
			"a separator is one to eight letters, digits, _ or -", ""},
		{"limits.maxBufferedBytes", c.Limits.MaxBufferedBytes < c.Limits.MaxMessageBytes,
			fmt.Sprintf("%s is below maxMessageBytes, %s", formatBytes(c.Limits.MaxBufferedBytes), formatBytes(c.Limits.MaxMessageBytes)),
			"not even one message would fit"},
	} {
		if f.wrong {
			d.complain(d.firstWritten(f.path, "limits.maxMessageBytes"), f.say, f.hint)
		}
	}
	c.inherit()
	d.checkGroups(c)
	d.checkProjects(c)
	d.checkPolicy(c)
	d.checkIdentity(c)
	d.checkAudit(c)
}

func (d *decoder) checkAddresses(c *Config) {
	if len(c.Listen) == 0 {
		d.complain("listen", "no address", "write listen: "+DefaultListen+", or remove the key")
	}
	for i, address := range c.Listen {
		if err := c.CheckListen(address); err != nil {
			d.complain(d.itemPath("listen", i), err.Error(), ListenHint(address, err))
		}
	}
	for i, origin := range c.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			d.complain(d.itemPath("allowedOrigins", i), "not an origin", "write scheme://host or scheme://host:port, one for each; there is no wildcard")
		}
	}
	for i, host := range c.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			d.complain(d.itemPath("allowedHosts", i), "not a host", "write host or host:port, one for each; there is no wildcard")
		}
	}
}

// What is behind the error of CheckListen for an address others can reach.
var (
	errExposed = errors.New("without auth we listen on loopback addresses only")
	errPlain   = errors.New("where others can listen in, keys want TLS")
)

// CheckListen says why we may not listen on address; nil when we may. It takes host:port, where host is localhost or a
// loopback address; elsewhere clients are asked who they are, and speak TLS, with us or with a proxy before us, unless the file says
// that they need not. It does not look anything up.
func (c *Config) CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port", shown(address))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is no port from 0 to 65535", shown(port))
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case strings.EqualFold(host, "localhost"), err == nil && ip.IsLoopback():
		return nil
	case !c.Auth.On():
		return errExposed
	case !c.TLS.On() && !c.TLS.Off && len(c.TrustedProxies) == 0:
		return errPlain
	}
	return nil
}

// ListenHint says what to write where CheckListen has found err.
func ListenHint(address string, err error) string {
	switch {
	case errors.Is(err, errExposed):
		return loopbackHint(address) + "; or let others in with an API key each (goblin-actor key new NAME):\n" +
			"auth: {keys: keys.yaml}\ntls: {cert: tls.crt, key: tls.key}"
	case errors.Is(err, errPlain):
		return "write tls: {cert: tls.crt, key: tls.key}\nor, behind a proxy that speaks TLS, its address: trustedProxies: [10.0.0.1]\n" +
			"or, in a network where nobody listens in: tls: off"
	}
	return loopbackHint(address)
}

// loopbackHint keeps the port of address, if it has one.
func loopbackHint(address string) string {
	port := address
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		port = address[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		return fmt.Sprintf("write 127.0.0.1:%d", n)
	}
	return "write " + DefaultListen
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
