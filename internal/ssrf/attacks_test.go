package ssrf

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const public = "https://mcp.example/mcp" // URL of a configured server

// inside starts a program on this machine that must not be reached, and counts its connections.
func inside(t *testing.T) (port string, came *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	came = &atomic.Int32{}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port, came
}

// get requests a URL on behalf of a server, with a timeout.
func get(t *testing.T, g *Guard, server, url string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.ClientFor(server).HTTP.Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

// A server names the cloud metadata service, by a name that resolves to it or in any notation of its address.
func TestAttack70MetadataAddress(t *testing.T) {
	var asked atomic.Int32
	port, came := inside(t)
	for name, c := range map[string]struct {
		server, url string
		resolver    *net.Resolver
	}{
		"by name":                  {public, "https://metadata.evil.example/latest", resolverOf(t, &asked, "169.254.169.254")},
		"by the server's own name": {public, "https://mcp.example/latest", resolverOf(t, &asked, "169.254.169.254")},
		"literal":                  {public, "https://169.254.169.254/latest", nil},
		"mapped":                   {public, "https://[::ffff:169.254.169.254]/latest", nil},
		"mapped, in hex":           {public, "https://[::ffff:a9fe:a9fe]/latest", nil},
		"loopback by name":         {public, "https://localhost.evil.example:" + port, resolverOf(t, &asked, "127.0.0.1")},
		"loopback by name, of a server on loopback": {"http://127.0.0.1:1/mcp", "https://localhost.evil.example:" + port, resolverOf(t, &asked, "127.0.0.1")},
		"loopback, mapped":                          {public, "https://[::ffff:127.0.0.1]:" + port, nil},
		"unspecified":                               {public, "https://0.0.0.0:" + port, nil},
	} {
		g, err := New(Options{Resolver: c.resolver})
		if err != nil {
			t.Fatal(err)
		}
		if err := get(t, g, c.server, c.url); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, want %v", name, err, ErrForbidden)
		}
	}
	if came.Load() != 0 {
		t.Errorf("the internal program was reached %d times", came.Load())
	}
}

// A name resolves to a public address when it is checked and to a private one when it is dialed.
func TestAttack70Rebinding(t *testing.T) {
	var asked atomic.Int32
	port, came := inside(t)
	g, err := New(Options{Resolver: resolverOf(t, &asked, "192.88.99.1", "127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = get(t, g, public, "https://rebind.evil.example:"+port)
	}
	if err := get(t, g, public, "https://rebind.evil.example:"+port); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want %v", err, ErrForbidden)
	}
	if came.Load() != 0 {
		t.Error("the internal program was reached through the name")
	}
}

// A document on the internet, or on the server's own host, redirects to an internal address.
func TestAttack70Redirect(t *testing.T) {
	port, came := inside(t)
	var target string
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }))
	defer outside.Close()
	g, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target = range []string{"https://169.254.169.254/latest", "http://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/", "https://192.168.0.1:" + port} {
		if err := get(t, g, outside.URL, outside.URL); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, want %v", target, err, ErrForbidden)
		}
	}
	if came.Load() != 0 {
		t.Error("the internal program was reached through the redirect")
	}
}

func TestRedirects(t *testing.T) {
	var hops int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) < hops+1 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}
	}))
	defer server.Close()
	g, _ := New(Options{})
	for n, want := range map[int]bool{0: true, 3: true, 4: false} {
		hops = n
		if err := get(t, g, server.URL, server.URL+"/"); (err == nil) != want {
			t.Errorf("%d redirects: %v", n, err)
		}
	}
	for _, status := range []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		poster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", status) }))
		_, err := g.ClientFor(poster.URL).HTTP.Post(poster.URL, "text/plain", strings.NewReader("secret"))
		if !errors.Is(err, ErrForbidden) {
			t.Errorf("POST answered with %d: %v", status, err)
		}
		poster.Close()
	}
}

// checkDialed refuses an address that it cannot parse.
func TestCheckDialedRefusesInvalidAddresses(t *testing.T) {
	g, _ := New(Options{})
	for _, dialled := range []string{"", "nowhere", "/run/a.sock", "localhost:80"} {
		if err := g.ClientFor(public).checkDialed("x.example", dialled); !errors.Is(err, ErrForbidden) {
			t.Errorf("checkDialed(%q): got %v", dialled, err)
		}
	}
	err := g.ClientFor(public).checkDialed("x.example", "10.0.0.1:443")
	var address *AddressError
	if !errors.As(err, &address) || address.IP != netip.MustParseAddr("10.0.0.1") || address.Hint() == "" {
		t.Errorf("got %v", err)
	}
}
