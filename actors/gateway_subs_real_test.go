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

// clockProcess is set for this test program when it is started as a server.
const clockProcess = "GOBLIN_TEST_CLOCK"

// It is no test but a server on stdin and stdout, whose resource changes every second.
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

// subscribed is a legacy client that hears of the clock; headers are pairs.
func (w *web) subscribed(headers ...string) (session string, stream *events) {
	w.t.Helper()
	session = w.open("/mcp")
	headers = append(headers, "Mcp-Session-Id", session)
	stream, _ = w.listen("/mcp", headers...)
	if r := w.do("POST", "/mcp", subscribeClock, headers...); !strings.Contains(r.body, `"result":{}`) {
		w.t.Fatalf("subscribe: %d %s", r.status, r.body)
	}
	return session, stream
}

// listens is a modern client that does.
func (w *web) listens(headers ...string) *events {
	w.t.Helper()
	stream, resp := w.post("/mcp", modern(9, "subscriptions/listen", "{}", listenToClock), append(headers, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")...)
	if got := stream.data(); resp.StatusCode != 200 || !strings.Contains(got, "clock://now") {
		w.t.Fatalf("listen: %d %s", resp.StatusCode, got)
	}
	return stream
}

// hears reads on until an update comes.
func (s *events) hears() bool {
	for got := s.data(); got != ""; got = s.data() {
		if strings.Contains(got, "resources/updated") && strings.Contains(got, "clock://now") {
			return true
		}
	}
	return false
}

// connections waits until there are as many to servers.
func (w *web) connections(want int) {
	w.t.Helper()
	got := 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		picture, err := w.gateway.Status(w.t.Context())
		if got = len(picture.Backends); err == nil && got == want {
			return
		}
	}
	w.t.Fatalf("%d connections, want %d", got, want)
}

// Each client subscribes at a process of its own, hears what that tells, and takes it along when it leaves. Both eras, on both sides.
func TestSubscriptionsOfProcesses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			w := serveWeb(t, nil, func(c *config.Config) {
				s := config.DefaultServer()
				s.Name, s.Written, s.Command, s.Args, s.Protocol = "one", "one", program, []string{"-test.run=^TestClockProcess$"}, era
				s.Env, s.Isolation, s.MaxBackends = map[string]string{clockProcess: "1"}, "session", 64
				c.Servers = append(c.Servers, s)
			})
			first, a := w.subscribed()
			_, b := w.subscribed()
			m := w.listens()
			w.connections(4)
			for name, stream := range map[string]*events{"the first": a, "the second": b, "the modern one": m} {
				for range 2 { // its subscription is not over with the first
					if !stream.hears() {
						t.Errorf("%s client hears nothing", name)
					}
				}
			}
			w.do("DELETE", "/mcp", "", "Mcp-Session-Id", first)
			w.connections(3)
			if !b.hears() || !m.hears() {
				t.Error("the others hear nothing any more")
			}
		})
	}
}

// noted is what came to a server behind HTTP: whose the connections were that it was subscribed to on.
type noted struct {
	mu   sync.Mutex
	subs []string
	list []string // likewise, where it was asked to tell of changed lists
}

func (n *noted) of(who string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.subs {
		if w == who {
			count++
		}
	}
	return count
}

// serveClock serves the clock behind something that notes X-Who of each subscription.
func serveClock(t *testing.T) (address string, n *noted) {
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
	n = &noted{}
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
			n.list = append(n.list, strings.Join(r.Header.Values("X-Who"), "+"))
			n.mu.Unlock()
		}
		if m.Method == "resources/subscribe" || len(m.Params.Notifications.ResourceSubscriptions) > 0 {
			n.mu.Lock()
			n.subs = append(n.subs, strings.Join(r.Header.Values("X-Who"), "+"))
			n.mu.Unlock()
		}
		behind.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	return s.URL + "/mcp", n
}

// Who sends headers subscribes with these, those who send the same together, those who send none where the gateway lists. A reload of the
// settings ends what was subscribed to by the old ones.
func TestSubscriptionsWithForwardedHeaders(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			address, server := serveClock(t)
			var first config.Config
			w := serveWeb(t, nil, func(c *config.Config) {
				forwarding(address, era)(c)
				first = *c
			})
			streams := map[string]*events{}
			_, streams["alice"] = w.subscribed("X-User", "alice")
			streams["alice, modern"] = w.listens("X-User", "alice")
			session, bob := w.subscribed("X-User", "bob")
			_, streams["none"] = w.subscribed()
			for name, stream := range streams {
				if !stream.hears() {
					t.Errorf("%s hears nothing", name)
				}
			}
			if !bob.hears() {
				t.Error("bob hears nothing")
			}
			for _, who := range []string{"user alice", "user bob", "gateway"} {
				if n := server.of(who); n != 1 {
					t.Errorf("subscribed to %d times with %q, want once", n, who)
				}
			}
			w.gateway.Reload(changed(first, func(s *config.Server) {
				s.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who", Prefix: "person "}}
			}))
			for got := streams["alice, modern"].data(); ; got = streams["alice, modern"].data() {
				if got == "" {
					t.Error("the stream ends without its result")
				}
				if got == "" || strings.Contains(got, `"id":9,"result"`) {
					break
				}
			}
			w.connections(1)
			w.settle(w.gateway, 1)
			if !streams["none"].hears() {
				t.Error("who has sent no headers hears nothing after a reload")
			}
			if r := w.do("POST", "/mcp", subscribeClock, "Mcp-Session-Id", session, "X-User", "bob"); !strings.Contains(r.body, `"result":{}`) {
				t.Errorf("subscribe after a reload: %s", r.body)
			}
			for range 2 { // the word that something may have changed is the first
				if !bob.hears() {
					t.Error("bob hears nothing after a reload")
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if slices.ContainsFunc(server.list, func(who string) bool { return who != "gateway" }) {
				t.Errorf("asked to tell of lists with %q", server.list)
			}
			if n := len(server.subs); !slices.Contains(server.subs, "person bob") || slices.Contains(server.subs[3:], "user alice") || n > 5 {
				t.Errorf("subscribed to with %q", server.subs)
			}
		})
	}
}
