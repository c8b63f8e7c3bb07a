package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// tokenServer is an MCP server that requires a token, and issues the tokens of its clients.
type tokenServer struct {
	*httptest.Server
	mu             sync.Mutex
	principalOf    map[string]string // principal by token
	tokens         map[message.LoginKey]string
	pools          map[message.LoginKey]kernel.Reference
	callers        []string // principals of the calls, in order
	sharedSessions []string // sessions that were used by two principals
	owner          map[string]string
}

func newTokenServer(t *testing.T) *tokenServer {
	v := &tokenServer{principalOf: map[string]string{}, tokens: map[message.LoginKey]string{}, pools: map[message.LoginKey]kernel.Reference{}, owner: map[string]string{}}
	v.Server = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.Close)
	return v
}

func (v *tokenServer) serve(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	who, ok := v.principalOf[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x.test/secret-place"`)
		http.Error(w, "authentication required", http.StatusUnauthorized)
		return
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && v.owner[id] != who {
		v.sharedSessions = append(v.sharedSessions, v.owner[id]+" and "+who)
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := `{}`
	switch m.Method {
	case "server/discover":
		http.Error(w, "no", http.StatusNotFound)
		return
	case "initialize":
		id := fmt.Sprint("s", len(v.owner))
		v.owner[id] = who
		w.Header().Set("Mcp-Session-Id", id)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"who","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		v.callers = append(v.callers, who)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"who=%s"}]}`, who)
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// laneCredentials are the credentials of one login.
type laneCredentials struct {
	v   *tokenServer
	key message.LoginKey
}

func (l laneCredentials) Authorization() string {
	l.v.mu.Lock()
	defer l.v.mu.Unlock()
	if token := l.v.tokens[l.key]; token != "" {
		return "Bearer " + token
	}
	return ""
}

func (laneCredentials) Refused(string, int, []string) <-chan upstream.Verdict {
	answer := make(chan upstream.Verdict, 1)
	answer <- upstream.Verdict{Err: errors.New("not logged in")}
	return answer
}

func (v *tokenServer) logins(p kernel.Self, _ config.Server, key message.LoginKey) pool.Login {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pools[key] = p.Reference()
	return pool.Login{Credentials: laneCredentials{v, key}}
}

// login sets the token of a login and notifies its pool. An empty token ends the login. The parameter who is the principal
// that the server sees.
func (v *tokenServer) login(key message.LoginKey, token, who string) {
	v.mu.Lock()
	was := v.tokens[key]
	delete(v.principalOf, was)
	v.tokens[key] = token
	phase := message.LoginNone
	if token != "" {
		v.principalOf[token], phase = who, message.LoginPresent
	}
	ref := v.pools[key]
	v.mu.Unlock()
	ref.Tell(message.LoginChanged{Login: key, Phase: phase, Reason: "logged out"})
}

// tokenAdmission admits every client that has a token. The token is the principal's name.
type tokenAdmission struct{}

func (tokenAdmission) ChecksAll() bool { return true }

func (tokenAdmission) Anonymous() *identity.Principal { return nil }

func (tokenAdmission) AdmitBatch(*identity.Principal, int) *downstream.Refusal { return nil }

func (tokenAdmission) Admit(r *downstream.Request) downstream.Admitted {
	name, named := strings.CutPrefix(string(r.Authorization), "Bearer ")
	if !named {
		return downstream.Admitted{}
	}
	return downstream.Admitted{Principal: person(name)}
}

var sharedLogin = message.LoginKey{Entry: "one"}

// startTokenServer is like startHTTP, with one server that needs a login.
func startTokenServer(t *testing.T, v *tokenServer, state string, change func(*config.Server, *Options), set ...func(*config.Config)) *httpHarness {
	t.Helper()
	cfg := config.Default()
	cfg.MetaTools = "false"
	server := config.DefaultServer()
	server.Name, server.Written, server.URLs, server.Isolation, server.Protocol = "one", "one", []string{v.URL}, "class", "legacy"
	log := slog.New(slog.DiscardHandler)
	o := Options{Version: "test", Log: log, Logins: v.logins, State: state, LoginURL: func(k message.LoginKey) string { return "http://127.0.0.1:1/login/" + k.Entry }}
	if change != nil {
		change(&server, &o)
	}
	cfg.Servers = []config.Server{server}
	for _, f := range set {
		f(&cfg)
	}
	g, err := Start(&cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := downstream.NewServer(g.Front(), downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.Budget(), Admission: tokenAdmission{}}, log)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := errors.Join(g.Stop(ctx, time.Second), s.Shutdown(ctx)); err != nil {
			t.Errorf("stop: %v", err)
		}
		<-served
	})
	t.Cleanup(stop)
	w := &httpHarness{t: t, url: "http://" + l.Addr().String(), gateway: g}
	w.settle(g, 1)
	return w
}

func (w *httpHarness) waitServerState(want string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		s, err := w.gateway.Status(w.t.Context())
		if err == nil && len(s.Servers) == 1 && s.Servers[0].State == want {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the server's state did not become %s: %+v, %v", want, s, err)
		}
	}
}
