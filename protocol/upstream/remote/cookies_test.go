package remote

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// testReplica is one of two servers behind a load balancer. It knows only sessions that it started.
type testReplica struct {
	name string
	mu   sync.Mutex
	seen []string // verbs of requests of its session
	lost []string // verbs of requests of other sessions
}

func (s *testReplica) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	session := q.Header.Get("Mcp-Session-Id")
	if strings.Contains(string(body), `"initialize"`) {
		session = s.name
		w.Header().Set("Mcp-Session-Id", session)
	}
	s.mu.Lock()
	if session != s.name {
		s.lost = append(s.lost, q.Method)
		s.mu.Unlock()
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	s.seen = append(s.seen, q.Method)
	s.mu.Unlock()
	switch q.Method {
	case http.MethodPost:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(testResult(body, `{}`))
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	}
}

// testBalancer routes requests to the replica that the cookie names, or in turn if there is no cookie, and sets the
// cookie like AWS ALB, nginx, HAProxy and Traefik.
func testBalancer(t *testing.T, replicas ...http.Handler) http.HandlerFunc {
	proxies := []*httputil.ReverseProxy{}
	for i, replica := range replicas {
		server := httptest.NewServer(replica)
		t.Cleanup(server.Close)
		to, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, &httputil.ReverseProxy{
			FlushInterval: -1,
			ErrorLog:      log.New(io.Discard, "", 0),
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ModifyResponse: func(r *http.Response) error {
				r.Header.Add("Set-Cookie", fmt.Sprintf("node=%d; Path=/; HttpOnly", i))
				return nil
			},
		})
	}
	var turn atomic.Int64
	return func(w http.ResponseWriter, q *http.Request) {
		to := int(turn.Add(1)) % len(proxies)
		if cookie, err := q.Cookie("node"); err == nil && len(cookie.Value) == 1 {
			to = int(cookie.Value[0]-'0') % len(proxies)
		}
		proxies[to].ServeHTTP(w, q)
	}
}

// Behind a load balancer with cookie affinity, every request of a session reaches the replica that started it: POST,
// the GET stream and DELETE. The next link with the same options starts without cookies.
func TestHTTPLinkCookieAffinity(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		a, b := &testReplica{name: "a"}, &testReplica{name: "b"}
		o := Options{URL: serve(testBalancer(t, a, b))}
		for range 2 {
			r := linktest.New(t)
			l := OpenHTTP(o, r.Sink)
			l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
			testEnd(r, 1)
			for i := uint64(2); i < 12; i++ {
				l.Send(testRequest(i))
				if e, ok := testEnd(r, i).(upstream.Received); !ok || e.Status != 200 {
					t.Fatalf("request %d: %v", i, e)
				}
			}
			l.Listen()
			linktest.Wait[upstream.Listening](r, 1)
			l.Close(time.Second)
			linktest.Wait[upstream.Closed](r, 1)
		}
		for _, s := range []*testReplica{a, b} { // a link without cookies starts at the other replica
			s.mu.Lock()
			want := append(slices.Repeat([]string{"POST"}, 11), "GET", "DELETE")
			if !slices.Equal(s.seen, want) || len(s.lost) > 0 {
				t.Errorf("replica %s: requests of its sessions %v, of others %v", s.name, s.seen, s.lost)
			}
			s.mu.Unlock()
		}
	})
}

// testSSEReplica is one of two HTTP+SSE servers behind a load balancer. It refuses POSTs for sessions of the other.
func testSSEReplica(name string, wrong *atomic.Int64) http.Handler {
	answers := make(chan []byte, 16)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			testStream(w, "event: endpoint\ndata: /messages?session="+name+"\n\n")
			for {
				select {
				case answer := <-answers:
					testStream(w, "data: "+string(answer)+"\n\n")
				case <-q.Context().Done():
					return
				}
			}
		}
		if q.URL.Query().Get("session") != name {
			wrong.Add(1)
			http.Error(w, "Session not found", http.StatusNotFound)
			return
		}
		body, _ := io.ReadAll(q.Body)
		w.WriteHeader(http.StatusAccepted)
		answers <- testResult(body, `{}`)
	})
}

func TestSSELinkCookieAffinity(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var wrong atomic.Int64
		r := linktest.New(t)
		l := OpenSSE(Options{URL: serve(testBalancer(t, testSSEReplica("a", &wrong), testSSEReplica("b", &wrong)))}, r.Sink)
		defer func() {
			l.Close(0)
			linktest.Wait[upstream.Closed](r, 1)
		}()
		linktest.Wait[upstream.Opened](r, 1)
		for i := uint64(1); i <= 10; i++ {
			l.Send(testRequest(i))
			r.Until("the answer or the refusal", func(e upstream.Event) bool {
				switch e.(type) {
				case upstream.Received, upstream.Ended:
					return true
				}
				return false
			})
		}
		if n := wrong.Load(); n > 0 {
			t.Errorf("%d requests reached the other replica", n)
		}
	})
}

// The configured and the server's cookies are sent in one header. For equal names, the configured value wins. Another link
// with the same options has its own cookies.
func TestHTTPLinkCookieHeader(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		got := make(chan []string, 8)
		o := Options{Headers: map[string]string{"cookie": "team=red; mine=1"}, URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			got <- q.Header["Cookie"]
			w.Header().Add("Set-Cookie", "lb=x; Path=/; HttpOnly")
			w.Header().Add("Set-Cookie", "team=blue")
			w.Header().Add("Set-Cookie", "other=1; Domain=example.com")
			w.Header().Add("Set-Cookie", "elsewhere=1; Path=/elsewhere")
			w.Header().Add("Set-Cookie", "long="+strings.Repeat("x", maxCookieBytes))
			_, _ = w.Write(testResult(body, `{}`))
		})}
		for range 2 {
			l, r := testOpen(t, o)
			for i, want := range []string{"team=red; mine=1", "team=red; mine=1; lb=x"} {
				l.Send(testRequest(uint64(i) + 1))
				testEnd(r, uint64(i)+1)
				if header := <-got; len(header) != 1 || header[0] != want {
					t.Errorf("request %d: Cookie = %q, want %q", i+1, header, want)
				}
			}
		}
	})
}

// A cookie in the refusal of Streamable HTTP is sent with the request for the event stream.
func TestAutoLinkKeepsCookies(t *testing.T) {
	got := make(chan string, 1)
	r := linktest.New(t)
	l := OpenAuto(Options{URL: testPlain(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			w.Header().Set("Set-Cookie", "node=7")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		got <- q.Header.Get("Cookie")
		w.WriteHeader(http.StatusNotFound)
	})}, new(Dialect), r.Sink)
	l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
	if cookie := <-got; cookie != "node=7" {
		t.Errorf("GET with Cookie %q", cookie)
	}
	testEnd(r, 1)
	l.Close(0)
	linktest.Wait[upstream.Closed](r, 1)
}

// The number of cookies, their size and the total are bounded. The newest ones are kept.
func TestCookieLimits(t *testing.T) {
	take := func(c *cookies, value string) { c.take("/mcp", slices.Values([]string{value})) }
	c := newCookies(url.URL{Scheme: "http", Host: "a.example:8080"}, nil)
	for i := range 10_000 {
		take(c, fmt.Sprintf("c%d=v", i))
	}
	header := c.header("/mcp", "")
	if n := strings.Count(header, "="); n != maxCookies || len(c.stored) != maxCookies || !strings.HasSuffix(header, "; c9999=v") {
		t.Errorf("%d cookies sent, %d kept: %.100s", n, len(c.stored), header)
	}
	for i := range 100 {
		take(c, fmt.Sprintf("c%d=%s", i, strings.Repeat("x", 3000)))
	}
	if header = c.header("/mcp", ""); len(header) > maxCookieTotal+2*len(c.stored) || !strings.Contains(header, "c99=") {
		t.Errorf("a header of %d bytes", len(header))
	}
	for i := range 100 {
		take(c, fmt.Sprintf("c%d=; Max-Age=0", i))
	}
	if header = c.header("/mcp", ""); header != "" || c.some.Load() {
		t.Errorf("after all cookies were deleted: %q", header)
	}
}

func TestCookieScope(t *testing.T) {
	for _, test := range []struct{ set, path, want string }{
		{"a=1", "/mcp", "a=1"},
		{"a=1", "/mcp/x", "a=1"},
		{"a=1; Path=/mcp", "/messages?x=/mcp", ""},
		{"a=1; Path=/mcp", "/mcp?x=1", "a=1"},
		{"a=1; Domain=a.example", "/mcp", "a=1"},
		{"a=1; Domain=.EXAMPLE", "/mcp", "a=1"}, // a public suffix: only this origin gets it back
		{"a=1; Domain=b.example", "/mcp", ""},
		{"a=1; Secure", "/mcp", ""},
		{"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/mcp", ""},
		{"a=\"q\"; SameSite=Strict", "/mcp", "a=\"q\""},
		{"a=b\x00c", "/mcp", ""},
		{"=1", "/mcp", ""},
		{"", "/mcp", ""},
	} {
		c := newCookies(url.URL{Scheme: "http", Host: "A.example:8080"}, nil)
		c.take("/mcp", slices.Values([]string{test.set}))
		if got := c.header(test.path, ""); got != test.want {
			t.Errorf("%q, then %s: %q, want %q", test.set, test.path, got, test.want)
		}
	}
}
