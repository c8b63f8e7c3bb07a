package ssrf

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"goblin-actor/internal/authtest"
)

// tunnels is a proxy that tunnels every CONNECT to one program.
type tunnels struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // host:port
}

func newTunnels(t *testing.T, to string) *tunnels {
	p := &tunnels{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Host)
		p.mu.Unlock()
		authtest.Tunnel(w, r, to)
	}))
	t.Cleanup(p.Close)
	return p
}

// of returns a proxy function that uses the proxy for all hosts except the given ones.
func (p *tunnels) of(not ...string) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if slices.Contains(not, r.URL.Hostname()) {
			return nil, nil
		}
		return url.Parse(p.URL)
	}
}

func (p *tunnels) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// secureSite starts the server behind the proxy, with a certificate for example.com.
func secureSite(t *testing.T, do http.HandlerFunc) (to string, trust func(*Client)) {
	site := httptest.NewTLSServer(do)
	t.Cleanup(site.Close)
	return site.Listener.Addr().String(), func(d *Client) {
		d.proxied.TLSClientConfig.RootCAs = site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
}

// noNames is a resolver that resolves no names.
var noNames = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no names here") }}

// A request through a proxy succeeds whether or not its name resolves here, and requires HTTPS.
func TestThroughAProxy(t *testing.T) {
	to, trust := secureSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	var asked atomic.Int32
	for name, resolver := range map[string]*net.Resolver{"known here": resolverOf(t, &asked, "192.88.99.1"), "known to the proxy": noNames} {
		proxy := newTunnels(t, to)
		g, _ := New(Options{Resolver: resolver, Proxy: proxy.of()})
		d := g.ClientFor(public)
		trust(d)
		answer, err := d.HTTP.Post("https://example.com/token", "text/plain", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusTeapot || !slices.Equal(proxy.heard(), []string{"example.com:443"}) {
			t.Errorf("%s: got status %d, proxy got requests for %v", name, answer.StatusCode, proxy.heard())
		}
		if err := get(t, g, public, "http://example.com/"); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s, without TLS: got %v, want ErrForbidden", name, err)
		}
	}
}

// The proxy gets no requests that the guard forbids: for addresses in any notation, names that resolve to them here,
// and redirects.
func TestAttack70ThroughAProxy(t *testing.T) {
	var asked atomic.Int32
	target := "https://10.0.0.1/"
	to, trust := secureSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	proxy := newTunnels(t, to)
	closed, open := resolverOf(t, &asked, "169.254.169.254"), resolverOf(t, &asked, "192.88.99.1")
	for url, resolver := range map[string]*net.Resolver{
		"https://169.254.169.254/latest": noNames, "https://[::ffff:169.254.169.254]/": noNames, "https://192.168.0.1/": noNames, "https://[fd00::1]/": noNames,
		"https://metadata.evil.example/": closed, "https://mcp.example/": closed,
		"https://127.1/": noNames, "https://2130706433/": noNames, "https://0x7f000001/": noNames, "https://0177.0.0.01/": noNames, "https://１２７.0.0.1/": noNames,
		"https://a.localhost/": noNames, "https://localhost./": closed, "https://127.0.0.1:1/": noNames,
	} {
		g, _ := New(Options{Resolver: resolver, Proxy: proxy.of()})
		if err := get(t, g, public, url); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, want %v", url, err, ErrForbidden)
		}
	}
	g, _ := New(Options{Resolver: open, Proxy: proxy.of()})
	for _, target = range []string{"https://10.0.0.1/", "https://127.1/"} {
		d := g.ClientFor(public)
		trust(d)
		if _, err := d.HTTP.Get("https://example.com/"); !errors.Is(err, ErrForbidden) {
			t.Errorf("redirect to %s: got %v, want %v", target, err, ErrForbidden)
		}
	}
	if heard := proxy.heard(); !slices.Equal(heard, []string{"example.com:443", "example.com:443"}) {
		t.Errorf("the proxy got requests for %v", heard)
	}
}

// Hosts that the environment excludes from the proxy are dialed and checked directly, including the proxy's own address.
func TestHostsExcludedFromProxy(t *testing.T) {
	port, came := inside(t)
	proxy := newTunnels(t, "127.0.0.1:"+port)
	var asked atomic.Int32
	g, _ := New(Options{Resolver: resolverOf(t, &asked, "127.0.0.1"), Proxy: proxy.of("direct.example"), Allow: []string{"allowed.example"}})
	if err := get(t, g, public, "https://direct.example:"+port); !errors.Is(err, ErrForbidden) {
		t.Errorf("excluded name: got %v, want ErrForbidden", err)
	}
	if err := get(t, g, public, proxy.URL); !errors.Is(err, ErrForbidden) {
		t.Errorf("the proxy's own address: got %v", err)
	}
	local := httptest.NewServer(http.NotFoundHandler())
	defer local.Close()
	if err := get(t, g, local.URL, local.URL); err != nil {
		t.Errorf("server on this machine: got %v", err)
	}
	if heard := proxy.heard(); len(heard) != 0 || came.Load() != 0 {
		t.Errorf("the proxy got requests for %v, the program was reached %d times", heard, came.Load())
	}
	if err := get(t, g, public, "https://allowed.example"); err == nil || errors.Is(err, ErrForbidden) || !slices.Equal(proxy.heard(), []string{"allowed.example:443"}) {
		t.Errorf("allowed host: got %v, the proxy got requests for %v", err, proxy.heard())
	}
}

// An invalid proxy setting is an error. The request must not bypass the proxy.
func TestBrokenProxy(t *testing.T) {
	broken := errors.New("invalid proxy address")
	g, _ := New(Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, broken }})
	if err := get(t, g, public, "https://example.com/"); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the proxy setting", err)
	}
}
