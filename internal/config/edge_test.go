package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressAndIdentityChecks(t *testing.T) {
	for file, want := range map[string]string{
		"publicUrl: https://mcp.example.com":                              "",
		"publicUrl: https://mcp.example.com:8443/gateway":                 "",
		"publicUrl: mcp.example.com":                                      "publicUrl: not a URL",
		"publicUrl: ftp://mcp.example.com":                                "publicUrl: not a URL",
		"publicUrl: https://user:pw@mcp.example.com":                      "publicUrl: not a URL",
		"publicUrl: https://mcp.example.com/?x=1":                         "publicUrl: not a URL",
		"publicUrl: https://*.example.com":                                "publicUrl: not a URL",
		"tls: {cert: c}":                                                  "tls: cert and key must be set together",
		"tls: {key: k}":                                                   "tls: cert and key must be set together",
		"auth: {keys: k}\ntrustedProxies: [127.0.0.1, 10.0.0.0/8, '::1']": "",
		"auth: {keys: k}\ntrustedProxies: [proxy.example]":                "trustedProxies[0]: neither an address nor a network",
		"auth:":                     "auth: no value given",
		"auth: {keys: }":            "auth.keys: no value given",
		"auth: {}":                  "auth: no keys given",
		"auth: {keys: ''}":          "",
		"auth: {keys: '${NONE:-}'}": "auth: no keys given",
		"auth: {keys: '${NONE}'}":   "auth.keys: variable NONE is not set",
		"audit: {required: true}":   "audit: required is set, but there is no file",
		"auth: {keys: k}\ntrustedProxies: [127.0.0.1, 0.0.0.0/0]": "trustedProxies[1]: this includes every address",
	} {
		_, report := Parse("goblin.yaml", []byte(file+"\n"), func(string) (string, bool) { return "", false })
		err := report.Err()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	_, report := Parse("goblin.yaml", []byte("trustedProxies: 127.0.0.1\n"), func(string) (string, bool) { return "", false })
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].Message, "no effect without auth") {
		t.Errorf("warnings %v, want one: no effect without auth", report.Warnings)
	}
	forwards := "mcpServers: {a: {url: 'http://127.0.0.1:1/mcp', forwardHeaders: [{from: X-A}, {from: authorization}]}}\n"
	for file, want := range map[string]int{forwards: 0, forwards + "auth: {keys: k}": 1, "tls: {}": 1, "tls: {cert: ''}": 1, "tls:": 0, "tls: off": 0, "tls: {cert: c, key: k}": 0} {
		if _, report := Parse("goblin.yaml", []byte(file+"\n"), nil); len(report.Faults) > 0 || len(report.Warnings) != want {
			t.Errorf("%s: %v %v, want %d warnings", file, report.Faults, report.Warnings, want)
		}
	}
	c := Config{PublicURL: "https://mcp.example.com:8443/x", AllowedHosts: []string{"a"}, TrustedProxies: []string{"::ffff:10.0.0.1", "10.1.2.3/8", "::ffff:10.0.0.0/104", "2001:db8::1"}}
	if got := fmt.Sprint(c.Hosts()); got != "[mcp.example.com:8443 a]" {
		t.Errorf("Hosts() = %s, want [mcp.example.com:8443 a]", got)
	}
	if got := fmt.Sprint(c.Proxies()); got != "[10.0.0.1/32 10.0.0.0/8 10.0.0.0/8 2001:db8::1/128]" {
		t.Errorf("Proxies() = %s, want four networks without host bits", got)
	}
}

func TestBeside(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home) // the home directory on Windows
	for _, c := range []struct{ config, file, want string }{
		{"", "keys.yaml", "keys.yaml"},
		{"goblin.yaml", "keys.yaml", "keys.yaml"},
		{filepath.Join("a", "goblin.yaml"), "keys.yaml", filepath.Join("a", "keys.yaml")},
		{filepath.Join("a", "goblin.yaml"), "~/keys.yaml", filepath.Join(home, "keys.yaml")},
		{filepath.Join("a", "goblin.yaml"), "~keys.yaml", filepath.Join("a", "~keys.yaml")},
		{filepath.Join("a", "goblin.yaml"), filepath.Join(home, "k"), filepath.Join(home, "k")},
		{filepath.Join("a", "goblin.yaml"), "", ""},
	} {
		if got := (&Config{Path: c.config}).Beside(c.file); got != c.want {
			t.Errorf("path %q in config %q resolves to %q, want %q", c.file, c.config, got, c.want)
		}
	}
}
