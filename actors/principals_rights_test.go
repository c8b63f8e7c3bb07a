package actors

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

// threeProjects configures the projects alpha (server one), beta (server two) and gamma (both).
func threeProjects(c *config.Config) {
	withAuth(c)
	c.Projects = []config.Project{{Name: "alpha", Servers: []string{"one"}}, {Name: "beta", Servers: []string{"two"}}, {Name: "gamma"}}
}

func twoServers() map[string]*actortest.Server {
	return map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"b"}}}
}

const listFrame = `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`

// loadPrincipals passes the named principals to the gateway.
func (w *httpHarness) loadPrincipals(names ...string) {
	all := map[string]*identity.Principal{}
	for _, name := range names {
		who := w.people.get(name)
		all[who.ID] = who
	}
	w.gateway.LoadPrincipals(all)
}

// updatePrincipal passes a changed principal to the gateway.
func (w *httpHarness) updatePrincipal(who *identity.Principal) {
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{who.ID: who})
}

func projects(names ...string) func(*identity.Principal) {
	return func(p *identity.Principal) { p.Projects = append([]string{}, names...) }
}

// dataOrTimeout returns the data of the next event, or "" if none arrives within a minute.
func (s *events) dataOrTimeout() string {
	received := make(chan string, 1)
	go func() {
		for {
			if e := s.next(); e.data != "" || !e.ok {
				received <- e.data
				return
			}
		}
	}()
	select {
	case data := <-received:
		return data
	case <-time.After(time.Minute):
		return ""
	}
}

// When a token loses rights, its sessions and streams lose them too: at once if the gateway is notified, otherwise with the
// next message.
func TestAttack41DemotedTokenKeepsNothing(t *testing.T) {
	for what, notify := range map[string]bool{"with the next message": false, "at once": true} {
		w := startHTTP(t, twoServers(), threeProjects)
		w.people.set("alice", projects("alpha", "beta"))
		id := w.openAs("alice", "/mcp")
		list := func() string {
			return listOf(w.do("POST", "/mcp", listFrame, asUser("alice", "Mcp-Session-Id", id)...).body)
		}
		if got := list(); got != "[one_a two_b]" {
			t.Fatalf("before: %s", got)
		}
		stream, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
		filter := `,"notifications":{"toolsListChanged":true}`
		modernStream, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", filter), asUser("alice", modernHeaders("subscriptions/listen", "")...)...)
		if got := modernStream.data(); !strings.Contains(got, "acknowledged") {
			t.Fatal(got)
		}
		who := w.people.set("alice", projects("beta"))
		if notify {
			w.updatePrincipal(who)
			for name, s := range map[string]*events{"session": stream, "listen": modernStream} {
				if got := s.dataOrTimeout(); !strings.Contains(got, "notifications/tools/list_changed") {
					t.Errorf("%s, the %s stream: %s", what, name, got)
				}
			}
		}
		if got := list(); got != "[two_b]" {
			t.Errorf("%s: %s", what, got)
		}
		call := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"one_a"}}`, asUser("alice", "Mcp-Session-Id", id)...)
		if !strings.Contains(call.body, "Tool not found: one_a") {
			t.Errorf("%s: %s", what, call.body)
		}
		if got := w.modernAs("alice", "tools/call", "{}", `,"name":"one_a"`); !strings.Contains(got.body, "Tool not found: one_a") {
			t.Errorf("%s, modern: %s", what, got.body)
		}
		if got := stream; !notify {
			if data := got.dataOrTimeout(); !strings.Contains(data, "notifications/tools/list_changed") {
				t.Errorf("%s, its stream: %s", what, data)
			}
		}
		stream.close()
		modernStream.close()
	}
}

// S5.1.4: a stream ends when its credential expires, or the newest one that its client has used since. Running calls continue.
func TestAttack42StreamAfterExpiry(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	const lasts = 4 * time.Second // the steps below must take less time
	ends := time.Now().Add(lasts)
	w.people.set("alice", func(p *identity.Principal) { p.Expires = ends })
	w.people.set("bob", func(p *identity.Principal) { p.Expires = ends })
	id, bobs := w.openAs("alice", "/mcp"), w.openAs("bob", "/mcp")
	stream, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
	bobStream, _ := w.listen("/mcp", asUser("bob", "Mcp-Session-Id", bobs)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), asUser("alice", modernHeaders("subscriptions/listen", "")...)...)
	answer := make(chan reply, 1)
	go func() { answer <- w.do("POST", "/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...) }()
	w.people.set("bob", func(p *identity.Principal) { p.Expires = ends.Add(time.Hour) })
	w.checkAlive("bob", bobs) // bob has sent a newer token
	over := make(chan string, 2)
	for name, s := range map[string]*events{"session": stream, "subscription": listening} {
		go func() {
			for e := s.next(); e.ok; e = s.next() {
			}
			over <- name
		}()
	}
	timeout := time.After(time.Minute)
	for range 2 {
		select {
		case <-over:
			if early := time.Until(ends); early > 0 {
				t.Errorf("a stream ended %v before the credential expired", early)
			}
		case <-timeout:
			t.Fatal("a stream is still open after the credential has expired")
		}
	}
	server.SetTools(true, "slow", "more")
	for e := bobStream.next(); !strings.Contains(e.data, "list_changed"); e = bobStream.next() {
		if !e.ok {
			t.Fatal("the stream of a client with a newer token ended")
		}
	}
	close(say)
	if got := <-answer; !strings.Contains(got.body, `"content":[]`) {
		t.Errorf("her call: %d %s", got.status, got.body)
	}
}

// When one key opens more sessions than the limit, its own sessions are closed, and other principals keep theirs. Streams that the
// key holds open do not lock other principals out.
func TestAttack43OneKeyWithManySessions(t *testing.T) {
	const most = 40
	w := startHTTP(t, oneTool(), func(c *config.Config) { withAuth(c); c.Limits.MaxSessions = most })
	var honest []string
	for range 3 {
		honest = append(honest, w.openAs("alice", "/mcp"), w.openAs("bob", "/mcp"))
	}
	open := func() reply { return w.do("POST", "/mcp", initializeFrame, asUser("mallory")...) }
	for range 10 * most {
		open()
	}
	for i, id := range honest {
		w.checkAlive([]string{"alice", "bob"}[i%2], id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range most { // all of its sessions hold streams
		r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		id := open().session
		for key, value := range map[string]string{principalHeader: "mallory", "Mcp-Session-Id": id, "Accept": "text/event-stream"} {
			r.Header.Set(key, value)
		}
		if resp, err := http.DefaultClient.Do(r); err == nil {
			defer resp.Body.Close()
		}
	}
	if got := open(); got.status != 503 {
		t.Errorf("mallory, whose sessions all have streams: %d %s", got.status, got.body)
	}
	for i, id := range honest {
		w.checkAlive([]string{"alice", "bob"}[i%2], id)
	}
	for i := range 6 {
		w.checkAlive(fmt.Sprint("new", i), w.openAs(fmt.Sprint("new", i), "/mcp"))
	}
}

// A project that a principal may not use looks like one that does not exist, whether it is named by path, header or _meta,
// in both eras.
func TestHiddenProjectsAreUnknown(t *testing.T) {
	w := startHTTP(t, twoServers(), threeProjects)
	w.people.set("alice", projects("beta", "alpha"))
	w.people.set("bob", projects("beta"))
	w.people.set("carol", projects())
	for who, want := range map[string]string{"alice": "[one_a two_b]", "bob": "[two_b]", "carol": "[]", "dave": "[one_a two_b]"} {
		id := w.openAs(who, "/mcp")
		legacy := listOf(w.do("POST", "/mcp", listFrame, asUser(who, "Mcp-Session-Id", id)...).body)
		if got := listOf(w.modernAs(who, "tools/list", "{}", "").body); got != want || legacy != want {
			t.Errorf("%s sees %s, in a session %s; want %s", who, got, legacy, want)
		}
	}
	unnamed := func(r reply, name string) reply {
		r.body = strings.ReplaceAll(r.body, name, "PROJECT")
		return r
	}
	meta := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"},"_meta":{"goblin-actor/project":"%s"}}}`
	for what, ask := range map[string]func(who, project string) reply{
		"path": func(who, project string) reply {
			return w.do("POST", "/p/"+project+"/mcp", initializeFrame, asUser(who)...)
		},
		"header": func(who, project string) reply {
			return w.do("POST", "/mcp", initializeFrame, asUser(who, "Goblin-Project", project)...)
		},
		"_meta": func(who, project string) reply {
			return w.do("POST", "/mcp", fmt.Sprintf(meta, project), asUser(who)...)
		},
		"sse": func(who, project string) reply {
			return w.do("GET", "/sse", "", asUser(who, "Goblin-Project", project, "Accept", "text/event-stream")...)
		},
		"modern": func(who, project string) reply {
			return w.do("POST", "/mcp", modern(3, "tools/list", "{}", ""), append(asUser(who, modernHeaders("tools/list", "")...), "Goblin-Project", project)...)
		},
		"listen": func(who, project string) reply {
			return w.do("POST", "/mcp", modern(3, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`),
				append(asUser(who, modernHeaders("subscriptions/listen", "")...), "Goblin-Project", project)...)
		},
	} {
		got, want := unnamed(ask("bob", "alpha"), "alpha"), unnamed(ask("bob", "omega"), "omega")
		if got != want || !strings.Contains(got.body, "UNKNOWN_PROJECT") {
			t.Errorf("%s: %+v for a hidden project, %+v for an unknown one", what, got, want)
		}
	}
	if got, want := w.do("POST", "/s/one/mcp", initializeFrame, asUser("bob")...), w.do("POST", "/s/six/mcp", initializeFrame, asUser("bob")...); unnamed(got, "one") != unnamed(want, "six") {
		t.Errorf("%+v for a hidden server, %+v for an unknown one", got, want)
	}
	if r := w.do("POST", "/p/beta/mcp", initializeFrame, asUser("bob")...); r.status != 200 {
		t.Errorf("his own project: %d %s", r.status, r.body)
	}
}

// A session stays in the project in which it was opened. If its principal loses access to the project, the project is unknown to the
// session.
func TestSessionLosesProject(t *testing.T) {
	w := startHTTP(t, twoServers(), threeProjects)
	w.people.set("alice", projects("alpha", "beta"))
	got := w.do("POST", "/mcp", initializeFrame, asUser("alice", "Goblin-Project", "alpha")...)
	list := func() string {
		return w.do("POST", "/mcp", listFrame, asUser("alice", "Mcp-Session-Id", got.session)...).body
	}
	if got := listOf(list()); got != "[one_a]" {
		t.Fatal(got)
	}
	w.people.set("alice", projects("beta"))
	if got := list(); !strings.Contains(got, "Unknown project: alpha") {
		t.Errorf("without the project: %s", got)
	}
	w.people.set("alice", projects("alpha"))
	if got := listOf(list()); got != "[one_a]" {
		t.Errorf("with the project again: %s", got)
	}
}

// S5.1.4: revoking a principal ends its calls, streams and sessions at once. Others are not affected.
func TestRevokedPrincipalEnds(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	w.loadPrincipals("alice", "bob")
	id, others := w.openAs("alice", "/mcp"), w.openAs("bob", "/mcp")
	stream, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), asUser("alice", modernHeaders("subscriptions/listen", "")...)...)
	hers, his := make(chan reply, 2), make(chan reply, 1)
	go func() { hers <- w.do("POST", "/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...) }()
	go func() { hers <- w.modernAs("alice", "tools/call", "{}", `,"name":"one_slow"`) }()
	go func() { his <- w.do("POST", "/mcp", slowCall, asUser("bob", "Mcp-Session-Id", others)...) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 3 })
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": nil})
	for range 2 {
		if got := <-hers; !strings.Contains(got.body, "UNAUTHENTICATED") {
			t.Errorf("her call: %d %s", got.status, got.body)
		}
	}
	for _, s := range []*events{stream, listening} {
		for e := s.next(); e.ok; e = s.next() {
		}
	}
	w.eventually("the server gets both cancellations", func() bool { return len(server.Received("notifications/cancelled")) == 2 })
	for what, got := range map[string]reply{
		"her session":   w.do("POST", "/mcp", pingFrame, asUser("alice", "Mcp-Session-Id", id)...),
		"a new session": w.do("POST", "/mcp", initializeFrame, asUser("alice")...),
		"a modern call": w.modernAs("alice", "tools/call", "{}", `,"name":"one_slow"`),
		"a new stream":  w.modernAs("alice", "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`),
	} {
		if got.status != 401 || !strings.Contains(got.body, "UNAUTHENTICATED") {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	close(say)
	if got := <-his; !strings.Contains(got.body, `"content":[]`) {
		t.Errorf("his call: %d %s", got.status, got.body)
	}
	w.checkAlive("bob", others)
	w.updatePrincipal(w.people.set("alice", nil)) // a new key of that name
	w.openAs("alice", "/mcp")
}

// S5.1.4: Attack 19: a stolen key is replaced by another one of the same name. The thief's calls and streams end, even if the gateway
// is notified of both changes at once and never sees a time without a key of that ID.
func TestAttack19RotatedKey(t *testing.T) {
	server, _ := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	w.loadPrincipals("alice")
	id := w.openAs("alice", "/mcp")
	stream, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), asUser("alice", modernHeaders("subscriptions/listen", "")...)...)
	stolen := make(chan reply, 2)
	go func() { stolen <- w.do("POST", "/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...) }()
	go func() { stolen <- w.modernAs("alice", "tools/call", "{}", `,"name":"one_slow"`) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": w.people.set("alice", func(who *identity.Principal) { who.Holder = identity.Held(who.ID, 2) })})
	for range 2 {
		select {
		case got := <-stolen:
			if !strings.Contains(got.body, "UNAUTHENTICATED") {
				t.Errorf("the thief's call: %d %s", got.status, got.body)
			}
		case <-time.After(time.Minute):
			t.Fatal("the thief's call is still running")
		}
	}
	for _, s := range []*events{stream, listening} {
		for e := s.next(); e.ok; e = s.next() {
		}
	}
	if got := w.do("POST", "/mcp", pingFrame, asUser("alice", "Mcp-Session-Id", id)...); got.status != 404 {
		t.Errorf("the old session: %d %s", got.status, got.body)
	}
	w.checkAlive("alice", w.openAs("alice", "/mcp"))
}
