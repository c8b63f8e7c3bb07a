package actors

import (
	"bufio"
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

// login sets the token of a login and notifies its pool. An empty token ends the login.
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

func (tokenAdmission) Asks() bool { return true }

func (tokenAdmission) Anonymous() *identity.Principal { return nil }

func (tokenAdmission) AdmitBatch(*identity.Principal, int) *downstream.Refusal { return nil }
func (tokenAdmission) Admit(r *downstream.Request) downstream.Admitted {
	name, named := strings.CutPrefix(string(r.Authorization), "Bearer ")
	if !named {
		return downstream.Admitted{}
	}
	return downstream.Admitted{Who: person(name)}
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

// S5.4.1: a call to a server that needs a login fails with the URL of the login page. After the login it succeeds.
func TestServerNeedsLogin(t *testing.T) {
	v := newTokenServer(t)
	w := startTokenServer(t, v, "", nil)
	w.waitServerState("needs-login")
	session := w.open("/mcp")
	for deadline := time.Now().Add(time.Minute); ; { // its catalog is unknown; a call is answered with the login URL
		got := w.who(session)
		if strings.Contains(got, `"code":-31008`) && strings.Contains(got, `"loginUrl":"http://127.0.0.1:1/login/one"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("before the login: %s", got)
		}
	}
	v.login(sharedLogin, "t1", "all")
	w.waitServerState("ready")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("after the login: %s", got)
	}
	v.login(sharedLogin, "t2", "all") // a new token needs no new connection
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("with the new token: %s", got)
	}
	v.mu.Lock()
	if len(v.owner) != 2 { // one for the catalog and one for the client's class
		t.Errorf("%d connections, want 2", len(v.owner))
	}
	clear(v.principalOf) // the server revokes all tokens
	v.mu.Unlock()
	got := w.who(session)
	for _, want := range []string{`"code":-31008`, "NEEDS_LOGIN", `"loginUrl":"http://127.0.0.1:1/login/one"`, `"server":"one"`} {
		if !strings.Contains(got, want) {
			t.Errorf("without login: %s, want %s", got, want)
		}
	}
	if strings.Contains(got, "secret-place") {
		t.Errorf("the server's challenge reached the client: %s", got)
	}
	if list := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session); !strings.Contains(list.body, "one_who") {
		t.Errorf("the tool is no longer listed: %s", list.body)
	}
	v.login(sharedLogin, "t3", "all")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("after the second login: %s", got)
	}
}

// A call right after the first login succeeds, although the catalog is published only a moment later.
func TestCallRightAfterFirstLogin(t *testing.T) {
	v := newTokenServer(t)
	var cfg config.Config
	w := startTokenServer(t, v, "", nil, func(c *config.Config) { cfg = *c })
	w.waitServerState("needs-login")
	session := w.open("/mcp")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.who(session), `"code":-31008`); {
		if time.Now().After(deadline) {
			t.Fatal("no call was answered with NEEDS_LOGIN")
		}
	}
	cfg.MetaTools = "true" // causes a publication, which delays the next one
	w.gateway.Reload(&cfg)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session).body, "server_status"); {
		if time.Now().After(deadline) {
			t.Fatal("the new configuration did not take effect")
		}
	}
	v.login(sharedLogin, "t1", "all")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("right after the login: %s", got)
	}
}

// S5.4.1: if a modern client supports elicitation by URL, its call waits for the login and then continues.
func TestCallWaitsForLogin(t *testing.T) {
	v := newTokenServer(t)
	w := startTokenServer(t, v, "", nil)
	v.login(sharedLogin, "t1", "all")
	w.waitServerState("ready")
	v.login(sharedLogin, "", "")
	w.waitServerState("needs-login")

	modern := func(extra string) string {
		return w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who",`+extra+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "one_who").body
	}
	first := modern("")
	var answer struct {
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params struct{ Mode, URL, Message string }
			}
		}
	}
	if err := json.Unmarshal([]byte(first), &answer); err != nil || answer.Result.ResultType != "input_required" || len(answer.Result.InputRequests) != 1 {
		t.Fatalf("got %s", first)
	}
	for key, request := range answer.Result.InputRequests {
		if request.Method != "elicitation/create" || request.Params.Mode != "url" || request.Params.URL != "http://127.0.0.1:1/login/one" {
			t.Errorf("elicitation: %+v", request)
		}
		went := make(chan string)
		go func() {
			went <- modern(fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"accept"}},`, answer.Result.RequestState, key))
		}()
		select {
		case early := <-went:
			t.Errorf("answered before the login: %s", early)
		case <-time.After(50 * time.Millisecond):
		}
		v.login(sharedLogin, "t2", "all")
		if got := <-went; !strings.Contains(got, "who=all") {
			t.Errorf("after the login: %s", got)
		}
	}
	v.login(sharedLogin, "", "")
	w.waitServerState("needs-login")
	declined := modern("")
	_ = json.Unmarshal([]byte(declined), &answer)
	for key := range answer.Result.InputRequests {
		got := modern(fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"decline"}},`, answer.Result.RequestState, key))
		if !strings.Contains(got, "-31008") || !strings.Contains(got, "declined") {
			t.Errorf("after declining: %s", got)
		}
	}
	if got := w.modernWho(); !strings.Contains(got, "-31008") { // it does not support elicitation by URL
		t.Errorf("client without elicitation: %s", got)
	}
}

// S5.4.1: after a restart, the catalog from the state file is listed even while the server needs a login.
func TestCatalogWithoutLogin(t *testing.T) {
	v, state := newTokenServer(t), t.TempDir()+"/state"
	w := startTokenServer(t, v, state, nil)
	v.login(sharedLogin, "t1", "all")
	w.waitServerState("ready")
	session := w.open("/mcp")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Fatal(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.gateway.Stop(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	v.login(sharedLogin, "", "")
	again := startTokenServer(t, v, state, nil)
	again.waitServerState("needs-login")
	session = again.open("/mcp")
	if list := again.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session); !strings.Contains(list.body, "one_who") {
		t.Errorf("the tool is no longer listed: %s", list.body)
	}
	if got := again.who(session); !strings.Contains(got, "-31008") {
		t.Errorf("a call: %s", got)
	}
}

// S5.4.1: a legacy client that supports elicitation by URL gets an elicitation during its call, which continues after the
// login.
func TestLegacyCallWaitsForLogin(t *testing.T) {
	v := newTokenServer(t)
	w := startTokenServer(t, v, "", nil)
	v.login(sharedLogin, "t1", "all")
	w.waitServerState("ready")
	v.login(sharedLogin, "", "")
	w.waitServerState("needs-login")
	opened := w.do("POST", "/mcp", strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":{"elicitation":{"url":{}}}`, 1))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who"}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {opened.session}}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	next := func() string {
		for events.Scan() {
			if data, is := strings.CutPrefix(events.Text(), "data: "); is && strings.HasPrefix(data, "{") {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", events.Err())
		return ""
	}
	var question struct {
		ID     json.RawMessage
		Method string
		Params struct{ Mode, URL, ElicitationID string }
	}
	if raw := next(); json.Unmarshal([]byte(raw), &question) != nil || question.Method != "elicitation/create" || question.Params.Mode != "url" ||
		question.Params.URL != "http://127.0.0.1:1/login/one" || question.Params.ElicitationID == "" {
		t.Fatalf("elicitation: %s", raw)
	}
	w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, question.ID), "Mcp-Session-Id", opened.session)
	v.login(sharedLogin, "t2", "all")
	if got := next(); !strings.Contains(got, "who=all") {
		t.Errorf("after the login: %s", got)
	}
}

// A principal with its own login is served while the shared login, which lists the catalog, is missing. The catalog then
// comes from the state file.
func TestOwnLoginWithoutSharedLogin(t *testing.T) {
	v, state := newTokenServer(t), t.TempDir()+"/state"
	lanes := func(s *config.Server, _ *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
	}
	w := startTokenServer(t, v, state, lanes)
	v.login(sharedLogin, "catalog", "catalog")
	w.waitServerState("ready")
	if got := w.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "-31008") {
		t.Fatal(got)
	}
	v.login(message.LoginKey{Entry: "one", Lane: "key:alice"}, "token of alice", "alice")
	if got := w.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "who=alice") {
		t.Fatal(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.gateway.Stop(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	v.login(sharedLogin, "", "")
	again := startTokenServer(t, v, state, lanes)
	again.waitServerState("needs-login")
	if got := again.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "who=alice") {
		t.Errorf("with her own login: %s", got)
	}
	if got := again.modernWho("Authorization", "Bearer bob"); !strings.Contains(got, "-31008") {
		t.Errorf("without a login: %s", got)
	}
}

// A login at a server that the principal's roles hide is refused like one at a server that is not configured.
func TestAttack44LoginAtAHiddenServer(t *testing.T) {
	s := newState(&config.Config{
		Servers: []config.Server{{Name: "files"}, {Name: "vault"}},
		Policy:  config.Policy{Present: true, Roles: []config.Role{{Name: "reader", Servers: []string{"files"}}, {Name: "boss", Servers: []string{"files"}, Admin: "act"}}},
	}, kernel.Reference{})
	refs := childReferences(t, 2)
	s.servers.pools["files"], s.servers.pools["vault"] = refs[0], refs[1]
	for _, c := range []struct {
		rights, server string
		admin          identity.Admin
		there          bool
	}{
		{"reader", "files", identity.AdminNone, true}, {"reader", "vault", identity.AdminNone, false}, {"reader", "gone", identity.AdminNone, false},
		{"-", "files", identity.AdminNone, false}, {"boss", "vault", identity.AdminAct, true},
	} {
		who := &identity.Principal{ID: "key:a", Via: identity.ViaKey, Rights: c.rights, Admin: c.admin}
		want := message.RequestLogin{Entry: c.server, Who: who, Begin: &message.BeginLogin{Reply: make(chan message.LoginStarted, 1)}}
		out := step(s, time.Now(), want, nil)
		if _, refused := out[0].Act.(abandonLogin); len(out) != 1 || refused == c.there {
			t.Errorf("%s at %s: %+v", c.rights, c.server, out)
		}
	}
}

// A login is refused, too, if no project of the principal includes the server, or if none of its roles applies there.
func TestAttack44LoginOutsideOfProjects(t *testing.T) {
	alpha := config.Project{Name: "alpha", Servers: []string{"files"}}
	open := newState(&config.Config{Servers: []config.Server{{Name: "files"}, {Name: "vault"}}, Projects: []config.Project{alpha}}, kernel.Reference{})
	closed := newState(&config.Config{
		Servers: []config.Server{{Name: "files"}, {Name: "vault"}}, Projects: []config.Project{alpha},
		Policy: config.Policy{Present: true, Roles: []config.Role{{Name: "reader", Projects: []string{"alpha"}}}},
	}, kernel.Reference{})
	refs := childReferences(t, 2)
	for _, c := range []struct {
		s        *state
		rights   string
		projects []string
		server   string
		there    bool
	}{
		{open, "", nil, "vault", true}, {open, "", []string{"alpha"}, "files", true}, {open, "", []string{"alpha"}, "vault", false}, {open, "", []string{"gone"}, "files", false},
		{closed, "reader", nil, "files", true}, {closed, "reader", nil, "vault", false}, {closed, "reader", []string{"alpha"}, "files", true},
	} {
		c.s.servers.pools["files"], c.s.servers.pools["vault"] = refs[0], refs[1]
		who := &identity.Principal{ID: "key:a", Via: identity.ViaKey, Rights: c.rights, Projects: c.projects}
		out := step(c.s, time.Now(), message.RequestLogin{Entry: c.server, Who: who, Begin: &message.BeginLogin{Reply: make(chan message.LoginStarted, 1)}}, nil)
		if _, refused := out[0].Act.(abandonLogin); len(out) != 1 || refused == c.there {
			t.Errorf("%q in %v at %s: %+v", c.rights, c.projects, c.server, out)
		}
	}
}
