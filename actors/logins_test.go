package actors

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

// S5.4.1: a call to a server that needs a login fails with the URL of the login page. After the login it succeeds.
func TestServerNeedsLogin(t *testing.T) {
	v := newTokenServer(t)
	w := startTokenServer(t, v, "", nil)
	w.waitServerState("needs-login")
	session := w.open("/mcp")
	for deadline := time.Now().Add(time.Minute); ; { // the catalog is unknown, so a call is answered with the login URL
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
	if len(v.owner) != 2 { // one for the catalog and one for the client class
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
	cfg.MetaTools = "true" // makes the registry publish, which delays its next publication
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

// A login at a server that the principal's roles hide is refused like one at a server that does not exist, unless the principal is
// an operator.
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

// A login is also refused if no project of the principal includes the server, or if none of its roles applies there.
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

// A message about the login of a group's member goes to the server that stands for the member, if this node runs it, or else to the
// group. The principal's roles must include the group.
func TestLoginOfAMember(t *testing.T) {
	s := newState(&config.Config{
		Servers: []config.Server{{Name: "first", Group: "both", Hop: "b"}, {Name: "second", Group: "both", Hop: "a"}, {Name: "second", MemberOf: "both"}},
		Policy:  config.Policy{Present: true, Roles: []config.Role{{Name: "reader", Servers: []string{"both"}}, {Name: "other", Servers: []string{"second"}}}},
	}, kernel.Reference{})
	refs := childReferences(t, 2)
	s.servers.pools["both"], s.servers.pools["second"] = refs[0], refs[1]
	for _, c := range []struct {
		entry, rights string
		to            kernel.Reference
	}{{"first", "reader", refs[0]}, {"second", "reader", refs[1]}, {"second", "other", kernel.Reference{}}, {"third", "reader", kernel.Reference{}}} {
		who := &identity.Principal{ID: "key:a", Via: identity.ViaKey, Rights: c.rights}
		out := step(s, time.Now(), message.RequestLogin{Entry: c.entry, Who: who, Begin: &message.BeginLogin{Reply: make(chan message.LoginStarted, 1)}}, nil)
		if len(out) != 1 || out[0].To != c.to {
			t.Errorf("%s by %s: %+v", c.entry, c.rights, out)
		}
	}
}
