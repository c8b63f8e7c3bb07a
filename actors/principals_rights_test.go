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

// threeProjects has the projects alpha, of server one, and beta, of server two, and gamma of both.
func threeProjects(c *config.Config) {
	withAuth(c)
	c.Projects = []config.Project{{Name: "alpha", Servers: []string{"one"}}, {Name: "beta", Servers: []string{"two"}}, {Name: "gamma"}}
}

func twoServers() map[string]*actortest.Server {
	return map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"b"}}}
}

const listFrame = `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`

// known says who there is.
func (w *web) known(names ...string) {
	all := map[string]*identity.Principal{}
	for _, name := range names {
		who := w.people.called(name)
		all[who.ID] = who
	}
	w.gateway.LoadPrincipals(all)
}

// changed lets everybody know what somebody is from now on.
func (w *web) changed(who *identity.Principal) {
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{who.ID: who})
}

func projects(names ...string) func(*identity.Principal) {
	return func(p *identity.Principal) { p.Projects = append([]string{}, names...) }
}

// soon is the next event that has data; "" when none comes in a while.
func (s *events) soon() string {
	said := make(chan string, 1)
	go func() {
		for {
			if e := s.next(); e.data != "" || !e.ok {
				said <- e.data
				return
			}
		}
	}()
	select {
	case data := <-said:
		return data
	case <-time.After(time.Minute):
		return ""
	}
}

// What a token loses is lost to its sessions and streams too: with its next message, and at once where it is known before.
func TestAttack41DemotedTokenKeepsNothing(t *testing.T) {
	for what, tells := range map[string]bool{"with the next message": false, "at once": true} {
		w := serveWeb(t, twoServers(), threeProjects)
		w.people.is("alice", projects("alpha", "beta"))
		id := w.opens("alice", "/mcp")
		list := func() string {
			return listOf(w.do("POST", "/mcp", listFrame, by("alice", "Mcp-Session-Id", id)...).body)
		}
		if got := list(); got != "[one_a two_b]" {
			t.Fatalf("before: %s", got)
		}
		stream, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
		filter := `,"notifications":{"toolsListChanged":true}`
		modernStream, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", filter), by("alice", modernHeaders("subscriptions/listen", "")...)...)
		if got := modernStream.data(); !strings.Contains(got, "acknowledged") {
			t.Fatal(got)
		}
		who := w.people.is("alice", projects("beta"))
		if tells {
			w.changed(who)
			for name, s := range map[string]*events{"session": stream, "listen": modernStream} {
				if got := s.soon(); !strings.Contains(got, "notifications/tools/list_changed") {
					t.Errorf("%s, the %s stream: %s", what, name, got)
				}
			}
		}
		if got := list(); got != "[two_b]" {
			t.Errorf("%s: %s", what, got)
		}
		call := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"one_a"}}`, by("alice", "Mcp-Session-Id", id)...)
		if !strings.Contains(call.body, "Tool not found: one_a") {
			t.Errorf("%s: %s", what, call.body)
		}
		if got := w.modernly("alice", "tools/call", "{}", `,"name":"one_a"`); !strings.Contains(got.body, "Tool not found: one_a") {
			t.Errorf("%s, modern: %s", what, got.body)
		}
		if got := stream; !tells {
			if data := got.soon(); !strings.Contains(data, "notifications/tools/list_changed") {
				t.Errorf("%s, its stream: %s", what, data)
			}
		}
		stream.close()
		modernStream.close()
	}
}

// S5.1.4: A stream ends with the credential it was opened with, or the newest that its client has brought since; calls go on.
func TestAttack42StreamAfterExpiry(t *testing.T) {
	server, say := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	const lasts = 4 * time.Second // all that follows has to be there by then
	ends := time.Now().Add(lasts)
	w.people.is("alice", func(p *identity.Principal) { p.Expires = ends })
	w.people.is("bob", func(p *identity.Principal) { p.Expires = ends })
	id, bobs := w.opens("alice", "/mcp"), w.opens("bob", "/mcp")
	stream, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
	bobStream, _ := w.listen("/mcp", by("bob", "Mcp-Session-Id", bobs)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), by("alice", modernHeaders("subscriptions/listen", "")...)...)
	answer := make(chan reply, 1)
	go func() { answer <- w.do("POST", "/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...) }()
	w.people.is("bob", func(p *identity.Principal) { p.Expires = ends.Add(time.Hour) })
	w.lives("bob", bobs) // with a newer token
	over := make(chan string, 2)
	for name, s := range map[string]*events{"the session's": stream, "the one that listens": listening} {
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
				t.Errorf("a stream ended %v too early", early)
			}
		case <-timeout:
			t.Fatal("a stream goes on")
		}
	}
	server.SetTools(true, "slow", "more")
	for e := bobStream.next(); !strings.Contains(e.data, "list_changed"); e = bobStream.next() {
		if !e.ok {
			t.Fatal("the stream of a newer token has ended")
		}
	}
	close(say)
	if got := <-answer; !strings.Contains(got.body, `"content":[]`) {
		t.Errorf("her call: %d %s", got.status, got.body)
	}
}

// One key opens more sessions than there may be: it loses its own, and the others have theirs. Not even streams that it holds keep the others
// out.
func TestAttack43OneKeyWithManySessions(t *testing.T) {
	const most = 40
	w := serveWeb(t, oneTool(), func(c *config.Config) { withAuth(c); c.Limits.MaxSessions = most })
	var honest []string
	for range 3 {
		honest = append(honest, w.opens("alice", "/mcp"), w.opens("bob", "/mcp"))
	}
	open := func() reply { return w.do("POST", "/mcp", initializeFrame, by("mallory")...) }
	for range 10 * most {
		open()
	}
	for i, id := range honest {
		w.lives([]string{"alice", "bob"}[i%2], id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range most { // all of its are held by streams
		r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		id := open().session
		for key, value := range map[string]string{headerWho: "mallory", "Mcp-Session-Id": id, "Accept": "text/event-stream"} {
			r.Header.Set(key, value)
		}
		if resp, err := http.DefaultClient.Do(r); err == nil {
			defer resp.Body.Close()
		}
	}
	if got := open(); got.status != 503 {
		t.Errorf("mallory, whose streams hold all: %d %s", got.status, got.body)
	}
	for i, id := range honest {
		w.lives([]string{"alice", "bob"}[i%2], id)
	}
	for i := range 6 {
		w.lives(fmt.Sprint("new", i), w.opens(fmt.Sprint("new", i), "/mcp"))
	}
}

// Who may use some projects only finds no others: they are as what nobody has, by path, header and _meta, in both eras.
func TestOthersProjectsAreNotThere(t *testing.T) {
	w := serveWeb(t, twoServers(), threeProjects)
	w.people.is("alice", projects("beta", "alpha"))
	w.people.is("bob", projects("beta"))
	w.people.is("carol", projects())
	for who, want := range map[string]string{"alice": "[one_a two_b]", "bob": "[two_b]", "carol": "[]", "dave": "[one_a two_b]"} {
		id := w.opens(who, "/mcp")
		legacy := listOf(w.do("POST", "/mcp", listFrame, by(who, "Mcp-Session-Id", id)...).body)
		if got := listOf(w.modernly(who, "tools/list", "{}", "").body); got != want || legacy != want {
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
			return w.do("POST", "/p/"+project+"/mcp", initializeFrame, by(who)...)
		},
		"header": func(who, project string) reply {
			return w.do("POST", "/mcp", initializeFrame, by(who, "Goblin-Project", project)...)
		},
		"_meta": func(who, project string) reply { return w.do("POST", "/mcp", fmt.Sprintf(meta, project), by(who)...) },
		"sse": func(who, project string) reply {
			return w.do("GET", "/sse", "", by(who, "Goblin-Project", project, "Accept", "text/event-stream")...)
		},
		"modern": func(who, project string) reply {
			return w.do("POST", "/mcp", modern(3, "tools/list", "{}", ""), append(by(who, modernHeaders("tools/list", "")...), "Goblin-Project", project)...)
		},
		"listen": func(who, project string) reply {
			return w.do("POST", "/mcp", modern(3, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`),
				append(by(who, modernHeaders("subscriptions/listen", "")...), "Goblin-Project", project)...)
		},
	} {
		got, want := unnamed(ask("bob", "alpha"), "alpha"), unnamed(ask("bob", "omega"), "omega")
		if got != want || !strings.Contains(got.body, "UNKNOWN_PROJECT") {
			t.Errorf("%s: %+v, of a project that is not %+v", what, got, want)
		}
	}
	if got, want := w.do("POST", "/s/one/mcp", initializeFrame, by("bob")...), w.do("POST", "/s/six/mcp", initializeFrame, by("bob")...); unnamed(got, "one") != unnamed(want, "six") {
		t.Errorf("a server elsewhere: %+v, one that is not: %+v", got, want)
	}
	if r := w.do("POST", "/p/beta/mcp", initializeFrame, by("bob")...); r.status != 200 {
		t.Errorf("his own: %d %s", r.status, r.body)
	}
}

// A session that was opened in a project stays in it: when its principal may use that no more, there is no such project.
func TestASessionLosesItsProject(t *testing.T) {
	w := serveWeb(t, twoServers(), threeProjects)
	w.people.is("alice", projects("alpha", "beta"))
	got := w.do("POST", "/mcp", initializeFrame, by("alice", "Goblin-Project", "alpha")...)
	list := func() string {
		return w.do("POST", "/mcp", listFrame, by("alice", "Mcp-Session-Id", got.session)...).body
	}
	if got := listOf(list()); got != "[one_a]" {
		t.Fatal(got)
	}
	w.people.is("alice", projects("beta"))
	if got := list(); !strings.Contains(got, "Unknown project: alpha") {
		t.Errorf("without it: %s", got)
	}
	w.people.is("alice", projects("alpha"))
	if got := listOf(list()); got != "[one_a]" {
		t.Errorf("with it again: %s", got)
	}
}

// S5.1.4: Who is revoked has nothing any more, in the middle of whatever it does, and nobody else loses anything.
func TestARevokedPrincipalEnds(t *testing.T) {
	server, say := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	w.known("alice", "bob")
	id, others := w.opens("alice", "/mcp"), w.opens("bob", "/mcp")
	stream, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), by("alice", modernHeaders("subscriptions/listen", "")...)...)
	hers, his := make(chan reply, 2), make(chan reply, 1)
	go func() { hers <- w.do("POST", "/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...) }()
	go func() { hers <- w.modernly("alice", "tools/call", "{}", `,"name":"one_slow"`) }()
	go func() { his <- w.do("POST", "/mcp", slowCall, by("bob", "Mcp-Session-Id", others)...) }()
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
	w.eventually("the server is told of both calls", func() bool { return len(server.Received("notifications/cancelled")) == 2 })
	for what, got := range map[string]reply{
		"her session":    w.do("POST", "/mcp", pingFrame, by("alice", "Mcp-Session-Id", id)...),
		"a new session":  w.do("POST", "/mcp", initializeFrame, by("alice")...),
		"a modern call":  w.modernly("alice", "tools/call", "{}", `,"name":"one_slow"`),
		"a new listener": w.modernly("alice", "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`),
	} {
		if got.status != 401 || !strings.Contains(got.body, "UNAUTHENTICATED") {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	close(say)
	if got := <-his; !strings.Contains(got.body, `"content":[]`) {
		t.Errorf("his call: %d %s", got.status, got.body)
	}
	w.lives("bob", others)
	w.changed(w.people.is("alice", nil)) // a new key of that name
	w.opens("alice", "/mcp")
}

// S5.1.4: Attack 19: a key is stolen, and its owner gets another one of the same name. Both changes are told so close after each other that nobody hears
// of the first one alone: what the thief has under way ends all the same.
func TestAttack19RotatedKey(t *testing.T) {
	server, _ := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	w.known("alice")
	id := w.opens("alice", "/mcp")
	stream, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
	listening, _ := w.post("/mcp", modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`), by("alice", modernHeaders("subscriptions/listen", "")...)...)
	stolen := make(chan reply, 2)
	go func() { stolen <- w.do("POST", "/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...) }()
	go func() { stolen <- w.modernly("alice", "tools/call", "{}", `,"name":"one_slow"`) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": w.people.is("alice", func(who *identity.Principal) { who.Holder = identity.Held(who.ID, 2) })})
	for range 2 {
		select {
		case got := <-stolen:
			if !strings.Contains(got.body, "UNAUTHENTICATED") {
				t.Errorf("a call of the thief: %d %s", got.status, got.body)
			}
		case <-time.After(time.Minute):
			t.Fatal("a call of the thief goes on")
		}
	}
	for _, s := range []*events{stream, listening} {
		for e := s.next(); e.ok; e = s.next() {
		}
	}
	if got := w.do("POST", "/mcp", pingFrame, by("alice", "Mcp-Session-Id", id)...); got.status != 404 {
		t.Errorf("the old session: %d %s", got.status, got.body)
	}
	w.lives("alice", w.opens("alice", "/mcp"))
}
