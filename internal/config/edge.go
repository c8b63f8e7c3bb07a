package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"goblin-actor/internal/ssrf"
)

// Beside resolves a path of the configuration against the directory of its file. A leading ~ is the home directory.
func (c *Config) Beside(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if path == "" || filepath.IsAbs(path) || c.Path == "" {
		return path
	}
	return filepath.Join(filepath.Dir(c.Path), path)
}

// Proxies returns trustedProxies as networks.
func (c *Config) Proxies() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxies {
		if network, ok := parseNetwork(text); ok {
			networks = append(networks, network)
		}
	}
	return networks
}

// parseNetwork parses an address or a network. ok is false for invalid text and for networks that contain every address.
func parseNetwork(text string) (network netip.Prefix, ok bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	if err == nil && network.Addr().Is4In6() && network.Bits() >= 96 {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network.Masked(), err == nil && network.Bits() > 0
}

// Hosts returns the Host header values to accept besides loopback names and the listen addresses.
func (c *Config) Hosts() []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		return append([]string{u.Host}, c.AllowedHosts...)
	}
	return c.AllowedHosts
}

// checkAuthKeys reports an auth section without keys. Its lines may be commented out by mistake, or a variable in it
// may be empty. An explicit `keys: ""` is allowed.
func (d *decoder) checkAuthKeys(c *Config) {
	wrong := func(f *Finding) bool { return strings.HasPrefix(f.Path, "auth") }
	keys, written := d.report.origins["auth.keys"]
	meant := written && len(keys.refs) == 0
	if d.written("auth") && !c.Auth.On() && !meant && !slices.ContainsFunc(d.report.Faults, wrong) {
		d.complain("auth", "no keys given, so clients would not be authenticated", "write auth: {keys: keys.yaml}, or remove the section")
	}
}

// checkIdentity checks how clients reach the gateway and authenticate.
func (d *decoder) checkIdentity(c *Config) {
	d.checkAuthKeys(c)
	for i, text := range c.TrustedProxies {
		if network, ok := parseNetwork(text); !ok {
			fault := "neither an address nor a network"
			if network.IsValid() {
				fault = "this includes every address, so any client could claim to have another address"
			}
			d.complain(d.itemPath("trustedProxies", i), fault, "write the proxy's address, such as 10.0.0.5, or its network, such as 10.0.0.0/24")
		}
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(c.PublicURL, "*\\ ")) {
		d.complain("publicUrl", "not a URL that clients can use", "write https://host, https://host:port or https://host/path, without a query")
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		d.complain("tls", "cert and key must be set together", "write tls: {cert: tls.crt, key: tls.key}")
	}
	if o, ok := d.report.origins["tls"]; ok && !c.TLS.On() && !c.TLS.Off && c.TLS.Key == "" {
		d.warn(o.line, o.column, "tls", "no certificate given, so the gateway serves plain HTTP", "write tls: {cert: tls.crt, key: tls.key}, or tls: off if that is intended")
	}
	if len(c.TrustedProxies) > 0 && !c.Auth.On() {
		o := d.report.origins["trustedProxies"]
		d.warn(o.line, o.column, "trustedProxies", "has no effect without auth; proxied requests are refused", "write auth: {keys: keys.yaml}")
	}
	for i, text := range c.Egress.Allow {
		if _, err := ssrf.New(ssrf.Options{Allow: []string{text}}); err != nil {
			d.complain(d.itemPath("egress.allow", i), "not an address, a network or a host name", "write an address such as 10.0.0.5, a network such as 10.0.0.0/8, or a host name such as login.corp.example")
		}
	}
	d.checkForwardedKeys(c)
	d.checkFiles(c)
}

// checkForwardedKeys warns if a server would receive the clients' API keys for this gateway. The operator of the server could use them here.
func (d *decoder) checkForwardedKeys(c *Config) {
	if !c.Auth.On() {
		return
	}
	for _, s := range c.Servers {
		for i, h := range s.ForwardHeaders {
			if !strings.EqualFold(h.From, "Authorization") {
				continue
			}
			at := place{path: "mcpServers"}.key(s.Written).key("forwardHeaders").item(i).key("from").path
			o := d.report.origins[at]
			d.warn(o.line, o.column, at, "forwarding Authorization sends clients' gateway API keys to the server, because with auth clients authenticate in that header",
				"let clients send the server's token in a separate header: {from: X-Server-Token, to: Authorization}")
		}
	}
}

// checkFiles warns if a file of keys, certificates or credentials does not exist.
func (d *decoder) checkFiles(c *Config) {
	if d.read == nil {
		return
	}
	for _, f := range []struct{ path, file, hint string }{
		{"auth.keys", c.Auth.Keys, "create it with goblin-actor key new NAME; until then all clients are rejected"},
		{"tls.cert", c.TLS.Cert, "create it, or correct its name; the gateway does not start without it"},
		{"tls.key", c.TLS.Key, "create it, or correct its name; the gateway does not start without it"},
		{"cluster.tls.cert", c.Cluster.TLS.Cert, "create it, or correct its name; the gateway does not start without it"},
		{"cluster.tls.key", c.Cluster.TLS.Key, "create it, or correct its name; the gateway does not start without it"},
		{"cluster.tls.ca", c.Cluster.TLS.CA, "create it, or correct its name; the gateway does not start without it"},
		{"cluster.nats.credentials", c.Cluster.NATS.Credentials, "create it, or correct its name; the gateway does not start without it"},
	} {
		if f.file == "" {
			continue
		}
		if _, err := os.Stat(c.Beside(f.file)); errors.Is(err, fs.ErrNotExist) {
			o := d.report.origins[f.path]
			d.warn(o.line, o.column, f.path, "no such file", f.hint)
		}
	}
}
