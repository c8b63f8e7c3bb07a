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

// Beside is where a file is that the configuration names: beside its own file, or below the home directory with ~.
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

// Proxies are trustedProxies as networks.
func (c *Config) Proxies() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxies {
		if network, ok := parseNetwork(text); ok {
			networks = append(networks, network)
		}
	}
	return networks
}

// parseNetwork reads an address, or a network; not all addresses there are.
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

// Hosts are the values of the Host header that are answered besides loopback names and what we listen on.
func (c *Config) Hosts() []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		return append([]string{u.Host}, c.AllowedHosts...)
	}
	return c.AllowedHosts
}

// checkAsks refuses a section that is to ask clients who they are, and asks nobody: its lines may be comments, a variable in it may be empty. Who
// writes keys: "" means it.
func (d *decoder) checkAsks(c *Config) {
	wrong := func(f *Finding) bool { return strings.HasPrefix(f.Path, "auth") }
	keys, written := d.report.origins["auth.keys"]
	meant := written && len(keys.refs) == 0
	if d.written("auth") && !c.Auth.On() && !meant && !slices.ContainsFunc(d.report.Faults, wrong) {
		d.complain("auth", "it names no keys, so nobody would be asked who they are", "write auth: {keys: keys.yaml}, or remove the section")
	}
}

// checkIdentity finds what is wrong with how clients reach us and say who they are.
func (d *decoder) checkIdentity(c *Config) {
	d.checkAsks(c)
	for i, text := range c.TrustedProxies {
		if network, ok := parseNetwork(text); !ok {
			fault := "neither an address nor a network"
			if network.IsValid() {
				fault = "it is every address there is, so whoever asks could say for whom"
			}
			d.complain(d.itemPath("trustedProxies", i), fault, "write 127.0.0.1 or 10.0.0.0/8, one for each")
		}
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(c.PublicURL, "*\\ ")) {
		d.complain("publicUrl", "not a URL that clients could reach us by", "write https://host, https://host:port or https://host/path, without query")
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		d.complain("tls", "a certificate and its key go together", "write tls: {cert: tls.crt, key: tls.key}")
	}
	if o, ok := d.report.origins["tls"]; ok && !c.TLS.On() && !c.TLS.Off && c.TLS.Key == "" {
		d.warn(o.line, o.column, "tls", "it names no certificate, so plain HTTP is spoken", "write tls: {cert: tls.crt, key: tls.key}, or tls: off if that is meant")
	}
	if len(c.TrustedProxies) > 0 && !c.Auth.On() {
		o := d.report.origins["trustedProxies"]
		d.warn(o.line, o.column, "trustedProxies", "has no effect without auth: what comes through a proxy is refused", "write auth: {keys: keys.yaml}")
	}
	for i, text := range c.Egress.Allow {
		if _, err := ssrf.New(ssrf.Options{Allow: []string{text}}); err != nil {
			d.complain(d.itemPath("egress.allow", i), "neither an address, nor a network, nor the name of a host", "write 10.0.0.5, 10.0.0.0/8 or login.corp.example, one for each")
		}
	}
	d.checkForwardedKeys(c)
	d.checkFiles(c)
}

// checkForwardedKeys warns where servers get the keys by which clients are let in here: whoever runs such a server could come with them.
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
			d.warn(o.line, o.column, at, "it hands this gateway's own keys to the server: under auth that is what clients send there",
				"have clients send what is the server's in a header of its own: {from: X-Server-Token, to: Authorization}")
		}
	}
}

// checkFiles warns of files that are named and not there.
func (d *decoder) checkFiles(c *Config) {
	if d.read == nil {
		return
	}
	for _, f := range []struct{ path, file, hint string }{
		{"auth.keys", c.Auth.Keys, "goblin-actor key new NAME makes it; until then nobody is let in"},
		{"tls.cert", c.TLS.Cert, "the gateway does not start without it"},
		{"tls.key", c.TLS.Key, "the gateway does not start without it"},
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
