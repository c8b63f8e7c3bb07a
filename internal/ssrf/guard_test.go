package ssrf

import (
	"errors"
	"net/netip"
	"testing"
)

func TestNonPublicKind(t *testing.T) {
	for _, c := range []struct {
		ip     string
		public bool
	}{
		{"8.8.8.8", true}, {"1.1.1.1", true}, {"2606:4700::1111", true}, {"64:ff9b::808:808", true}, {"2002:808:808::1", true}, {"::ffff:8.8.8.8", true},
		{"172.15.255.255", true}, {"172.32.0.0", true}, {"100.63.255.255", true}, {"100.128.0.0", true}, {"169.253.255.255", true}, {"223.255.255.255", true},
		{"0.0.0.0", false}, {"0.1.2.3", false}, {"10.0.0.1", false}, {"100.64.0.1", false}, {"127.0.0.1", false}, {"127.255.255.254", false}, {"169.254.169.254", false},
		{"172.16.0.1", false}, {"172.31.255.255", false}, {"192.168.1.1", false}, {"198.18.0.1", false}, {"224.0.0.1", false}, {"255.255.255.255", false}, {"240.0.0.1", false}, {"192.0.0.8", false},
		{"::", false}, {"::1", false}, {"fe80::1", false}, {"fe80::1%eth0", false}, {"fd00::1", false}, {"fc00::1", false}, {"ff02::1", false}, {"fec0::1", false}, {"2001:db8::1", false},
		{"::ffff:127.0.0.1", false}, {"::ffff:169.254.169.254", false}, {"::ffff:10.0.0.1", false}, {"::127.0.0.1", false}, {"::ffff:0:127.0.0.1", false},
		{"64:ff9b::7f00:1", false}, {"64:ff9b::a9fe:a9fe", false}, {"64:ff9b:1::808:808", false}, {"2002:7f00:1::1", false}, {"2002:a00:1::", false}, {"2001:0:808:808::1", false}, {"100::1", false},
	} {
		if got := nonPublicKind(netip.MustParseAddr(c.ip)); (got == "") != c.public {
			t.Errorf("nonPublicKind(%s) = %q, want public %t", c.ip, got, c.public)
		}
	}
	if nonPublicKind(netip.Addr{}) == "" {
		t.Error("the zero address must not count as public")
	}
}

func TestAllow(t *testing.T) {
	g, err := New(Options{Allow: []string{"10.1.0.0/16", "192.168.0.7", "fd00::/8", "[fd12::1]", "Login.Corp.Example.", "169.254.1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		server, host, ip string
		allowed          bool
	}{
		{"https://mcp.example/mcp", "a.example", "8.8.8.8", true},
		{"https://mcp.example/mcp", "a.example", "10.1.2.3", true},
		{"https://mcp.example/mcp", "a.example", "::ffff:10.1.2.3", true},
		{"https://mcp.example/mcp", "a.example", "10.2.2.3", false},
		{"https://mcp.example/mcp", "a.example", "192.168.0.7", true},
		{"https://mcp.example/mcp", "a.example", "192.168.0.8", false},
		{"https://mcp.example/mcp", "login.corp.example", "10.2.2.3", true},
		{"https://mcp.example/mcp", "xlogin.corp.example", "10.2.2.3", false},
		{"https://mcp.example/mcp", "a.example", "169.254.1.1", true},
		// The operator's own host may be private, but not link-local.
		{"https://mcp.example/mcp", "mcp.example", "10.2.2.3", true},
		{"https://mcp.example/mcp", "mcp.example", "100.64.1.1", true},
		{"https://mcp.example/mcp", "mcp.example", "127.0.0.1", true},
		{"https://mcp.example/mcp", "mcp.example", "169.254.169.254", false},
		{"https://10.9.9.9/mcp", "10.9.9.9", "10.9.9.9", true},
		{"https://10.9.9.9/mcp", "10.9.9.8", "10.9.9.8", false},
		// The authorization server of a server on loopback may be on loopback, too, but at no private address.
		{"http://localhost:1/mcp", "127.0.0.1", "127.0.0.1", true},
		{"http://127.0.0.1:1/mcp", "localhost", "::1", true},
		{"http://127.0.0.1:1/mcp", "rebind.example", "127.0.0.1", false},
		{"http://127.0.0.1:1/mcp", "192.168.1.1", "192.168.1.1", false},
		{"https://mcp.example/mcp", "localhost", "127.0.0.1", false},
	} {
		if got := g.refusal(parseOwnHost(c.server), c.host, netip.MustParseAddr(c.ip)); (got == "") != c.allowed {
			t.Errorf("refusal for server %s of host %s at %s: got %q, want allowed %t", c.server, c.host, c.ip, got, c.allowed)
		}
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "10.0.0/8", "https://x.example", "a b", "x:80", "*.example"} {
		if _, err := New(Options{Allow: []string{wrong}}); err == nil {
			t.Errorf("New accepts %q", wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	g, _ := New(Options{})
	for _, c := range []struct {
		server, url string
		allowed     bool
	}{
		{"https://mcp.example/mcp", "https://login.example/x", true},
		{"https://mcp.example/mcp", "HTTPS://login.example/x", true},
		{"https://mcp.example/mcp", "http://login.example/x", false},
		{"https://mcp.example/mcp", "http://localhost/x", false},
		{"https://mcp.example/mcp", "https://169.254.169.254/latest", false},
		{"https://mcp.example/mcp", "https://[::ffff:169.254.169.254]/latest", false},
		{"https://mcp.example/mcp", "https://[::ffff:a9fe:a9fe]/latest", false},
		{"https://mcp.example/mcp", "https://user:pw@login.example", false},
		{"https://mcp.example/mcp", "javascript:alert(1)", false},
		{"https://mcp.example/mcp", "file:///etc/passwd", false},
		{"https://mcp.example/mcp", "https:login.example", false},
		{"https://mcp.example/mcp", "https://", false},
		{"https://mcp.example/mcp", "/relative", false},
		{"https://mcp.example/mcp", "", false},
		{"https://mcp.example/mcp", "https://a b/", false},
		{"http://127.0.0.1:80/mcp", "http://localhost:99/x", true},
		{"http://127.0.0.1:80/mcp", "http://10.0.0.1/x", false},
		{"http://10.0.0.1:80/mcp", "http://10.0.0.1/x", false},
	} {
		if err := g.ClientFor(c.server).Check(c.url); (err == nil) != c.allowed || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("Check for server %s of URL %s: got %v, want allowed %t", c.server, c.url, err, c.allowed)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("https://mcp.example/mcp", "https://login.example/x")
	f.Add("http://[::1]/", "http://[::ffff:127.0.0.1]:1/")
	g, _ := New(Options{Allow: []string{"10.0.0.0/8"}})
	f.Fuzz(func(t *testing.T, server, named string) {
		door := g.ClientFor(server)
		if err := door.Check(named); err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("unexpected kind of error: %v", err)
		}
	})
}
