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
			one := &c.Servers[len(c.Servers)-1]
			one.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who"}}
			one.Auth.Type = "none"          // where a login of ours could be, a link would refuse to be opened with another one
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

// S5.4.3: Attack 57: of two principals who are logged in at a server, each as himself, one is served with the other's login.
func TestAttack57PrincipalsCrossed(t *testing.T) {
	v := newVault(t)
	w := serveVault(t, v, "", func(s *config.Server, _ *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
	})
	v.login(sharedLogin, "catalog", "catalog")
	w.state("ready")
	users := []string{"alice", "bob"}
	for _, user := range users { // the first call finds out that there is no login
		key := message.LoginKey{Entry: "one", Lane: "key:" + user}
		if got := w.modernWho("Authorization", "Bearer "+user); !strings.Contains(got, "-31008") {
			t.Fatalf("%s has no login, and is served: %s", user, got)
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
	if len(v.mixed) > 0 {
		t.Errorf("connections are shared: %v", v.mixed[:min(3, len(v.mixed))])
	}
	for _, who := range v.seen {
		if who == "catalog" {
			t.Error("a call was made with the login of the catalog")
			break
		}
	}
}
