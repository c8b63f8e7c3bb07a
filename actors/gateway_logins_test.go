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

// vault is a server that wants tokens, and who hands them out.
type vault struct {
	*httptest.Server
	mu     sync.Mutex
	good   map[string]string // whose each token is
	tokens map[message.LoginKey]string
	pools  map[message.LoginKey]kernel.Reference
	seen   []string // whose each call was
	mixed  []string // sessions that were used by two
	owner  map[string]string
}

func newVault(t *testing.T) *vault {
	v := &vault{good: map[string]string{}, tokens: map[message.LoginKey]string{}, pools: map[message.LoginKey]kernel.Reference{}, owner: map[string]string{}}
	v.Server = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.Close)
	return v
}

func (v *vault) serve(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	who, ok := v.good[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x.test/secret-place"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && v.owner[id] != who {
		v.mixed = append(v.mixed, v.owner[id]+" and "+who)
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
		v.seen = append(v.seen, who)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"who=%s"}]}`, who)
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// lane is the credentials of one login.
type lane struct {
	v   *vault
	key message.LoginKey
}

func (l lane) Authorization() string {
	l.v.mu.Lock()
	defer l.v.mu.Unlock()
	if token := l.v.tokens[l.key]; token != "" {
		return "Bearer " + token
	}
	return ""
}

func (lane) Refused(string, int, []string) <-chan upstream.Verdict {
	answer := make(chan upstream.Verdict, 1)
	answer <- upstream.Verdict{Err: errors.New("nobody is logged in")}
	return answer
}

func (v *vault) logins(p kernel.Self, _ config.Server, key message.LoginKey) pool.Login {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pools[key] = p.Reference()
	return pool.Login{Credentials: lane{v, key}}
}

// login gives a login a token; an empty one takes it away.
func (v *vault) login(key message.LoginKey, token, who string) {
	v.mu.Lock()
	was := v.tokens[key]
	delete(v.good, was)
	v.tokens[key] = token
	phase := message.LoginNone
	if token != "" {
		v.good[token], phase = who, message.LoginPresent
	}
	ref := v.pools[key]
	v.mu.Unlock()
	ref.Tell(message.LoginChanged{Login: key, Phase: phase, Reason: "logged out"})
}

// byToken takes everybody who has a token for who it names.
type byToken struct{}

func (byToken) Asks() bool { return true }

func (byToken) Anonymous() *identity.Principal { return nil }

func (byToken) AdmitBatch(*identity.Principal, int) *downstream.Refusal { return nil }
func (byToken) Admit(r *downstream.Request) downstream.Admitted {
	name, named := strings.CutPrefix(string(r.Authorization), "Bearer ")
	if !named {
		return downstream.Admitted{}
	}
	return downstream.Admitted{Who: person(name)}
}

var sharedLogin = message.LoginKey{Entry: "one"}

// serveVault is serveWeb with a server that wants a login.
func serveVault(t *testing.T, v *vault, state string, change func(*config.Server, *Options), set ...func(*config.Config)) *web {
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
	s := downstream.NewServer(g.Front(), downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.Budget(), Admission: byToken{}}, log)
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
	w := &web{t: t, url: "http://" + l.Addr().String(), gateway: g}
	w.settle(g, 1)
	return w
}

func (w *web) state(want string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		s, err := w.gateway.Status(w.t.Context())
		if err == nil && len(s.Servers) == 1 && s.Servers[0].State == want {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the server is not %s: %+v, %v", want, s, err)
		}
	}
}

// S5.4.1.
func TestServerThatWantsALogin(t *testing.T) {
	v := newVault(t)
	w := serveVault(t, v, "", nil)
	w.state("needs-login")
	session := w.open("/mcp")
	for deadline := time.Now().Add(time.Minute); ; { // nobody knows what it has, and who asks is led to the login
		got := w.who(session)
		if strings.Contains(got, `"code":-31008`) && strings.Contains(got, `"loginUrl":"http://127.0.0.1:1/login/one"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("before anybody has logged in: %s", got)
		}
	}
	v.login(sharedLogin, "t1", "all")
	w.state("ready")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("after the login: %s", got)
	}
	v.login(sharedLogin, "t2", "all") // another token: no reconnect
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("with a new token: %s", got)
	}
	v.mu.Lock()
	if len(v.owner) != 2 { // the catalog's, and the class's
		t.Errorf("%d connections, want 2", len(v.owner))
	}
	clear(v.good) // the server forgets the token
	v.mu.Unlock()
	got := w.who(session)
	for _, want := range []string{`"code":-31008`, "NEEDS_LOGIN", `"loginUrl":"http://127.0.0.1:1/login/one"`, `"server":"one"`} {
		if !strings.Contains(got, want) {
			t.Errorf("without login: %s, want %s", got, want)
		}
	}
	if strings.Contains(got, "secret-place") {
		t.Errorf("the challenge reached a client: %s", got)
	}
	if list := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session); !strings.Contains(list.body, "one_who") {
		t.Errorf("the catalog is gone: %s", list.body)
	}
	v.login(sharedLogin, "t3", "all")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("after the second login: %s", got)
	}
}

// Who has logged in may call at once, also where nobody knew before what the server has: the catalog says so a moment later.
func TestCallRightAfterTheFirstLogin(t *testing.T) {
	v := newVault(t)
	var cfg config.Config
	w := serveVault(t, v, "", nil, func(c *config.Config) { cfg = *c })
	w.state("needs-login")
	session := w.open("/mcp")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.who(session), `"code":-31008`); {
		if time.Now().After(deadline) {
			t.Fatal("nobody is led to the login")
		}
	}
	cfg.MetaTools = "true" // which is published, so that the next change has to wait
	w.gateway.Reload(&cfg)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session).body, "server_status"); {
		if time.Now().After(deadline) {
			t.Fatal("the new configuration is not in force")
		}
	}
	v.login(sharedLogin, "t1", "all")
	if got := w.who(session); !strings.Contains(got, "who=all") {
		t.Errorf("right after the login: %s", got)
	}
}

// S5.4.1: A call of a client that can show its user a page waits for the login and goes on.
func TestCallWaitsForALogin(t *testing.T) {
	v := newVault(t)
	w := serveVault(t, v, "", nil)
	v.login(sharedLogin, "t1", "all")
	w.state("ready")
	v.login(sharedLogin, "", "")
	w.state("needs-login")

	modern := func(extra string) string {
		return w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who",`+extra+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "one_who").body
	}
	asked := modern("")
	var answer struct {
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params struct{ Mode, URL, Message string }
			}
		}
	}
	if err := json.Unmarshal([]byte(asked), &answer); err != nil || answer.Result.ResultType != "input_required" || len(answer.Result.InputRequests) != 1 {
		t.Fatalf("got %s", asked)
	}
	for key, request := range answer.Result.InputRequests {
		if request.Method != "elicitation/create" || request.Params.Mode != "url" || request.Params.URL != "http://127.0.0.1:1/login/one" {
			t.Errorf("asked: %+v", request)
		}
		went := make(chan string)
		go func() {
			went <- modern(fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"accept"}},`, answer.Result.RequestState, key))
		}()
		select {
		case early := <-went:
			t.Errorf("before the login: %s", early)
		case <-time.After(50 * time.Millisecond):
		}
		v.login(sharedLogin, "t2", "all")
		if got := <-went; !strings.Contains(got, "who=all") {
			t.Errorf("after the login: %s", got)
		}
	}
	v.login(sharedLogin, "", "")
	w.state("needs-login")
	declined := modern("")
	_ = json.Unmarshal([]byte(declined), &answer)
	for key := range answer.Result.InputRequests {
		got := modern(fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"decline"}},`, answer.Result.RequestState, key))
		if !strings.Contains(got, "-31008") || !strings.Contains(got, "declined") {
			t.Errorf("declined: %s", got)
		}
	}
	if got := w.modernWho(); !strings.Contains(got, "-31008") { // it cannot show a page
		t.Errorf("client without pages: %s", got)
	}
}

// S5.4.1: What a server offered is listed also when the gateway begins without a login.
func TestCatalogWithoutLogin(t *testing.T) {
	v, state := newVault(t), t.TempDir()+"/state"
	w := serveVault(t, v, state, nil)
	v.login(sharedLogin, "t1", "all")
	w.state("ready")
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
	again := serveVault(t, v, state, nil)
	again.state("needs-login")
	session = again.open("/mcp")
	if list := again.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", session); !strings.Contains(list.body, "one_who") {
		t.Errorf("the catalog is gone: %s", list.body)
	}
	if got := again.who(session); !strings.Contains(got, "-31008") {
		t.Errorf("a call: %s", got)
	}
}

// S5.4.1: A legacy client that can show its user a page is asked in the middle of its call, which goes on after the login.
func TestLegacyCallWaitsForALogin(t *testing.T) {
	v := newVault(t)
	w := serveVault(t, v, "", nil)
	v.login(sharedLogin, "t1", "all")
	w.state("ready")
	v.login(sharedLogin, "", "")
	w.state("needs-login")
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
		t.Fatalf("the stream has ended: %v", events.Err())
		return ""
	}
	var question struct {
		ID     json.RawMessage
		Method string
		Params struct{ Mode, URL, ElicitationID string }
	}
	if raw := next(); json.Unmarshal([]byte(raw), &question) != nil || question.Method != "elicitation/create" || question.Params.Mode != "url" ||
		question.Params.URL != "http://127.0.0.1:1/login/one" || question.Params.ElicitationID == "" {
		t.Fatalf("asked: %s", raw)
	}
	w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, question.ID), "Mcp-Session-Id", opened.session)
	v.login(sharedLogin, "t2", "all")
	if got := next(); !strings.Contains(got, "who=all") {
		t.Errorf("after the login: %s", got)
	}
}

// Whoever has a login of his own is served also while nobody has logged in for the catalog: that is the one of before.
func TestLaneWithoutTheCatalogsLogin(t *testing.T) {
	v, state := newVault(t), t.TempDir()+"/state"
	lanes := func(s *config.Server, _ *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
	}
	w := serveVault(t, v, state, lanes)
	v.login(sharedLogin, "catalog", "catalog")
	w.state("ready")
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
	again := serveVault(t, v, state, lanes)
	again.state("needs-login")
	if got := again.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "who=alice") {
		t.Errorf("with a login of her own: %s", got)
	}
	if got := again.modernWho("Authorization", "Bearer bob"); !strings.Contains(got, "-31008") {
		t.Errorf("without: %s", got)
	}
}

// A server that somebody's roles keep from him is not there for him to log in at either: he gets what he gets for one that is not configured.
func TestAttack44LoginAtAHiddenServer(t *testing.T) {
	s := newState(&config.Config{
		Servers: []config.Server{{Name: "files"}, {Name: "vault"}},
		Policy:  config.Policy{Present: true, Roles: []config.Role{{Name: "reader", Servers: []string{"files"}}, {Name: "boss", Servers: []string{"files"}, Admin: "act"}}},
	}, kernel.Reference{})
	refs := children(t, 2)
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

// Nor is one that is in none of the projects of whoever asks, or in which no role of his counts.
func TestAttack44LoginOutsideOfProjects(t *testing.T) {
	alpha := config.Project{Name: "alpha", Servers: []string{"files"}}
	open := newState(&config.Config{Servers: []config.Server{{Name: "files"}, {Name: "vault"}}, Projects: []config.Project{alpha}}, kernel.Reference{})
	closed := newState(&config.Config{
		Servers: []config.Server{{Name: "files"}, {Name: "vault"}}, Projects: []config.Project{alpha},
		Policy: config.Policy{Present: true, Roles: []config.Role{{Name: "reader", Projects: []string{"alpha"}}}},
	}, kernel.Reference{})
	refs := children(t, 2)
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
