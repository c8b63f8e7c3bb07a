package actors

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/demo"
)

// clockProcess is the environment variable that makes this test program run as a server.
const clockProcess = "GOBLIN_TEST_CLOCK"

// TestClockProcess is not a test but a server on stdio, whose resource changes every second.
func TestClockProcess(t *testing.T) {
	if os.Getenv(clockProcess) == "" {
		t.Skip("this is the server of TestSubscriptionsOfProcesses")
	}
	_ = demo.ServeStdio(t.Context(), demo.NewClock(), os.Stdin, os.Stdout, slog.New(slog.DiscardHandler))
	os.Exit(0)
}

const (
	subscribeClock = `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"resource://one/clock://now"}}`
	listenToClock  = `,"notifications":{"resourceSubscriptions":["resource://one/clock://now"]}`
)

// subscribe opens a legacy session that is subscribed to the clock. The headers are pairs of name and value.
func (w *httpHarness) subscribe(headers ...string) (session string, stream *events) {
	w.t.Helper()
	session = w.open("/mcp")
	headers = append(headers, "Mcp-Session-Id", session)
	stream, _ = w.listen("/mcp", headers...)
	if r := w.do("POST", "/mcp", subscribeClock, headers...); !strings.Contains(r.body, `"result":{}`) {
		w.t.Fatalf("subscribe: %d %s", r.status, r.body)
	}
	return session, stream
}

// subscribeModern opens a modern subscription stream for the clock.
func (w *httpHarness) subscribeModern(headers ...string) *events {
	w.t.Helper()
	stream, resp := w.post("/mcp", modern(9, "subscriptions/listen", "{}", listenToClock), append(headers, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")...)
	if got := stream.data(); resp.StatusCode != 200 || !strings.Contains(got, "clock://now") {
		w.t.Fatalf("listen: %d %s", resp.StatusCode, got)
	}
	return stream
}

// receivesUpdate reads the stream until an update of the clock arrives. It reports false if the stream ends first.
func (s *events) receivesUpdate() bool {
	for got := s.data(); got != ""; got = s.data() {
		if strings.Contains(got, "resources/updated") && strings.Contains(got, "clock://now") {
			return true
		}
	}
	return false
}

// waitConnections waits until the gateway has that many connections to servers.
func (w *httpHarness) waitConnections(want int) {
	w.t.Helper()
	got := 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		snapshot, err := w.gateway.Status(w.t.Context())
		if got = len(snapshot.Backends); err == nil && got == want {
			return
		}
	}
	w.t.Fatalf("%d connections, want %d", got, want)
}

// With isolation by session, each client subscribes at its own process and gets its updates. The process ends with the client. Tested
// with both eras of clients and servers.
func TestSubscriptionsOfProcesses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			w := startHTTP(t, nil, func(c *config.Config) {
				s := config.DefaultServer()
				s.Name, s.Written, s.Command, s.Args, s.Protocol = "one", "one", program, []string{"-test.run=^TestClockProcess$"}, era
				s.Env, s.Isolation, s.MaxBackends = map[string]string{clockProcess: "1"}, "session", 64
				c.Servers = append(c.Servers, s)
			})
			first, a := w.subscribe()
			_, b := w.subscribe()
			m := w.subscribeModern()
			w.waitConnections(4)
			for name, stream := range map[string]*events{"the first": a, "the second": b, "the modern one": m} {
				for range 2 { // the subscription continues after the first update
					if !stream.receivesUpdate() {
						t.Errorf("%s client gets no updates", name)
					}
				}
			}
			w.do("DELETE", "/mcp", "", "Mcp-Session-Id", first)
			w.waitConnections(3)
			if !b.receivesUpdate() || !m.receivesUpdate() {
				t.Error("the other clients get no more updates")
			}
		})
	}
}

// requestLog records the X-Who header of the connections on which a server on HTTP got subscriptions.
type requestLog struct {
	mu                sync.Mutex
	subscriptions     []string
	listSubscriptions []string // likewise, for streams with list changes
}

func (n *requestLog) count(who string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.subscriptions {
		if w == who {
			count++
		}
	}
	return count
}

// serveClock serves the clock on HTTP and logs the X-Who header of each subscription.
func serveClock(t *testing.T) (address string, n *requestLog) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- demo.ServeHTTP(t.Context(), demo.NewClock(), l, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { <-done })
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Addr().String()})
	behind.FlushInterval = -1
	behind.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	n = &requestLog{}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		var m struct {
			Method string
			Params struct {
				Notifications struct {
					ResourcesListChanged  bool
					ResourceSubscriptions []string
				}
			}
		}
		_ = json.Unmarshal(raw, &m)
		if m.Params.Notifications.ResourcesListChanged {
			n.mu.Lock()
			n.listSubscriptions = append(n.listSubscriptions, strings.Join(r.Header.Values("X-Who"), "+"))
			n.mu.Unlock()
		}
		if m.Method == "resources/subscribe" || len(m.Params.Notifications.ResourceSubscriptions) > 0 {
			n.mu.Lock()
			n.subscriptions = append(n.subscriptions, strings.Join(r.Header.Values("X-Who"), "+"))
			n.mu.Unlock()
		}
		behind.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	return s.URL + "/mcp", n
}

// Forwarded headers separate subscriptions: clients with the same header values share one, and clients without headers use the
// gateway's own connection. A reload that changes the forwarded headers replaces the subscriptions.
func TestSubscriptionsWithForwardedHeaders(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			address, server := serveClock(t)
			var first config.Config
			w := startHTTP(t, nil, func(c *config.Config) {
				forwarding(address, era)(c)
				first = *c
			})
			streams := map[string]*events{}
			_, streams["alice"] = w.subscribe("X-User", "alice")
			streams["alice, modern"] = w.subscribeModern("X-User", "alice")
			session, bob := w.subscribe("X-User", "bob")
			_, streams["none"] = w.subscribe()
			for name, stream := range streams {
				if !stream.receivesUpdate() {
					t.Errorf("%s gets no updates", name)
				}
			}
			if !bob.receivesUpdate() {
				t.Error("bob gets no updates")
			}
			for _, who := range []string{"user alice", "user bob", "gateway"} {
				if n := server.count(who); n != 1 {
					t.Errorf("%d subscriptions with %q, want 1", n, who)
				}
			}
			w.gateway.Reload(withFirstServer(first, func(s *config.Server) {
				s.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who", Prefix: "person "}}
			}))
			for got := streams["alice, modern"].data(); ; got = streams["alice, modern"].data() {
				if got == "" {
					t.Error("the stream ended without a result")
				}
				if got == "" || strings.Contains(got, `"id":9,"result"`) {
					break
				}
			}
			w.waitConnections(1)
			w.settle(w.gateway, 1)
			if !streams["none"].receivesUpdate() {
				t.Error("the client without headers gets no updates after the reload")
			}
			if r := w.do("POST", "/mcp", subscribeClock, "Mcp-Session-Id", session, "X-User", "bob"); !strings.Contains(r.body, `"result":{}`) {
				t.Errorf("subscribe after the reload: %s", r.body)
			}
			for range 2 { // the first update is only sent because one may have been missed
				if !bob.receivesUpdate() {
					t.Error("bob gets no updates after the reload")
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if slices.ContainsFunc(server.listSubscriptions, func(who string) bool { return who != "gateway" }) {
				t.Errorf("list changes were requested with %q, want only the gateway", server.listSubscriptions)
			}
			if n := len(server.subscriptions); !slices.Contains(server.subscriptions, "person bob") || slices.Contains(server.subscriptions[3:], "user alice") || n > 5 {
				t.Errorf("subscriptions with %q", server.subscriptions)
			}
		})
	}
}
