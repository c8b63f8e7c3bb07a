package actors

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/config"
)

// Attack 58: the calls of two users, who send their own header along, go to the server on one connection.
func TestAttack58ForwardedHeaderShared(t *testing.T) {
	server := newTeller(t)
	w := serveWeb(t, nil, forwarding(server.URL, "legacy"))
	var running sync.WaitGroup
	for _, user := range []string{"alice", "bob"} {
		for range 4 {
			session := w.open("/mcp")
			running.Go(func() {
				for range 25 {
					if got := w.who(session, "X-User", user); !strings.Contains(got, "who=user "+user+" ") {
						t.Errorf("%s is taken for another: %s", user, got)
					}
				}
			})
		}
	}
	running.Wait()
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.mixed) > 0 {
		t.Errorf("connections are shared: %v", server.mixed[:min(3, len(server.mixed))])
	}
}

// Attack 59: what a client says of itself to us reaches a server, which could use it here in the client's place.
func TestAttack59ClientsTokenReachesServer(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	teller := newTeller(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("Authorization")]++
		mu.Unlock()
		teller.serve(w, r)
	}))
	defer server.Close()
	for _, era := range []string{"legacy", "modern"} {
		w := serveWeb(t, nil, func(c *config.Config) {
			forwarding(server.URL, era)(c)
			c.Servers[len(c.Servers)-1].ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who"}}
			other := config.DefaultServer() // to which it is sent on
			other.Name, other.Written, other.URLs, other.Order, other.Disabled = "two", "two", []string{"http://127.0.0.1:1/"}, 1, true
			other.ForwardHeaders = []config.ForwardHeader{{From: "Authorization", To: "Authorization"}}
			c.Servers = append(c.Servers, other)
		})
		session := w.open("/mcp")
		for i := range 10 {
			for _, headers := range [][]string{{}, {"X-User", fmt.Sprint("u", i)}} {
				headers = append(headers, "Authorization", "Bearer of-the-client")
				_ = w.who(session, headers...)
				_ = w.modernWho(headers...)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen[""] == 0 {
		t.Errorf("the server saw %v", seen)
	}
}
