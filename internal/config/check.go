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

// check reports problems that concern the gateway as a whole.
func (d *decoder) check(c *Config) {
	d.checkAddresses(c)
	for _, f := range []struct {
		path  string
		wrong bool
		say   string
		hint  string
	}{
		{"namespace.separator", c.Namespace.Separator == "" || len(c.Namespace.Separator) > 8 || !isNamePart(c.Namespace.Separator),
			"a separator must be one to eight letters, digits, _ or -", ""},
		{"limits.maxBufferedBytes", c.Limits.MaxBufferedBytes < c.Limits.MaxMessageBytes,
			fmt.Sprintf("maxBufferedBytes, %s, is below maxMessageBytes, %s", formatBytes(c.Limits.MaxBufferedBytes), formatBytes(c.Limits.MaxMessageBytes)),
			"raise maxBufferedBytes, or lower maxMessageBytes"},
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
	d.checkTelemetry(c)
	d.checkCluster(c)
	d.checkRun(c)
}

func (d *decoder) checkAddresses(c *Config) {
	if len(c.Listen) == 0 {
		d.complain("listen", "no address given", "write listen: "+DefaultListen+", or remove the key")
	}
	for i, address := range c.Listen {
		if err := c.CheckListen(address); err != nil {
			d.complain(d.itemPath("listen", i), err.Error(), ListenHint(address, err))
		}
	}
	for i, origin := range c.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			d.complain(d.itemPath("allowedOrigins", i), "not an origin", "write scheme://host or scheme://host:port for each origin; wildcards are not supported")
		}
	}
	for i, host := range c.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			d.complain(d.itemPath("allowedHosts", i), "not a host", "write host or host:port for each host; wildcards are not supported")
		}
	}
}

// Errors of CheckListen for an address that other machines can reach.
var (
	errExposed = errors.New("without auth, the gateway listens on loopback addresses only")
	errPlain   = errors.New("on an address that other machines can reach, API keys need TLS")
)

// CheckListen returns why the gateway may not listen on address, or nil. The address is host:port. A host other than localhost or a loopback
// address needs auth, and TLS here or at a trusted proxy unless the file has `tls: off`. CheckListen does not resolve names.
func (c *Config) CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port", shown(address))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is not a port number (0 to 65535)", shown(port))
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

// ListenHint returns how to fix an address for which CheckListen returned err.
func ListenHint(address string, err error) string {
	switch {
	case errors.Is(err, errExposed):
		return loopbackHint(address) + "; or give each client an API key (goblin-actor key new NAME):\n" +
			"auth: {keys: keys.yaml}\ntls: {cert: tls.crt, key: tls.key}"
	case errors.Is(err, errPlain):
		return "write tls: {cert: tls.crt, key: tls.key}\nor, behind a TLS proxy, its address: trustedProxies: [10.0.0.1]\n" +
			"or, in a network that you trust: tls: off"
	}
	return loopbackHint(address)
}

// loopbackHint suggests a loopback address with the port of address.
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
