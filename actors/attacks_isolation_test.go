package actors

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// Attack 58: calls of two users with different forwarded headers must not use one connection.
func TestAttack58ForwardedHeaderShared(t *testing.T) {
	server := newHeaderServer(t)
	w := startHTTP(t, nil, forwarding(server.URL, "legacy"))
	var running sync.WaitGroup
	for _, user := range []string{"alice", "bob"} {
		for range 4 {
			session := w.open("/mcp")
			running.Go(func() {
				for range 25 {
					if got := w.who(session, "X-User", user); !strings.Contains(got, "who=user "+user+" ") {
						t.Errorf("%s was served as another user: %s", user, got)
					}
				}
			})
		}
	}
	running.Wait()
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.sharedSessions) > 0 {
		t.Errorf("shared connections: %v", server.sharedSessions[:min(3, len(server.sharedSessions))])
	}
}

// Attack 59: a client's credential for the gateway must not reach a server, which could use it to impersonate the client.
func TestAttack59ClientsTokenReachesServer(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	teller := newHeaderServer(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("Authorization")]++
		mu.Unlock()
		teller.serve(w, r)
	}))
	defer server.Close()
	for _, era := range []string{"legacy", "modern"} {
		w := startHTTP(t, nil, func(c *config.Config) {
			forwarding(server.URL, era)(c)
			one := &c.Servers[len(c.Servers)-1]
			one.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who"}}
			one.Auth.Type = "none"          // a link with a login would refuse another Authorization header
			other := config.DefaultServer() // a server to which Authorization is forwarded
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

// S5.4.3: Attack 57: two principals have their own logins at a server. Neither may be served with the other's login.
func TestAttack57PrincipalsCrossed(t *testing.T) {
	v := newTokenServer(t)
	w := startTokenServer(t, v, "", func(s *config.Server, _ *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
	})
	v.login(sharedLogin, "catalog", "catalog")
	w.waitServerState("ready")
	users := []string{"alice", "bob"}
	for _, user := range users { // the first call creates the login, which has no token yet
		key := message.LoginKey{Entry: "one", Lane: "key:" + user}
		if got := w.modernWho("Authorization", "Bearer "+user); !strings.Contains(got, "-31008") {
			t.Fatalf("%s was served without a login: %s", user, got)
		}
		v.login(key, "token of "+user, user)
	}
	var running sync.WaitGroup
	for _, user := range users {
		for range 2 {
			r := w.do("POST", "/mcp", initializeFrame, "Authorization", "Bearer "+user)
			running.Go(func() {
				for i := range 100 {
					got := ""
					if i%2 == 0 {
						got = w.modernWho("Authorization", "Bearer "+user)
					} else {
						got = w.who(r.session, "Authorization", "Bearer "+user)
					}
					if !strings.Contains(got, "who="+user) {
						t.Errorf("%s: %s", user, got)
						return
					}
				}
			})
		}
	}
	running.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.sharedSessions) > 0 {
		t.Errorf("shared connections: %v", v.sharedSessions[:min(3, len(v.sharedSessions))])
	}
	for _, who := range v.callers {
		if who == "catalog" {
			t.Error("a call used the catalog's login")
			break
		}
	}
}
