package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// headerWho is how clients of tests say who they are: finding that out is another room's.
const headerWho = "X-Who"

// people are the principals there are, by name.
type people struct {
	mu  sync.Mutex
	all map[string]*identity.Principal
}

// is makes somebody's principal what it is from now on, and returns it.
func (p *people) is(name string, change func(*identity.Principal)) *identity.Principal {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
	if change != nil {
		change(who)
	}
	if p.all == nil {
		p.all = map[string]*identity.Principal{}
	}
	p.all[name] = who
	return who
}

func (p *people) called(name string) *identity.Principal {
	p.mu.Lock()
	who := p.all[name]
	p.mu.Unlock()
	if who == nil {
		return p.is(name, nil)
	}
	return who
}

// asked puts the principal on what a client sends.
type asked struct {
	downstream.Handler
	people *people
}

func (a asked) ask(o *downstream.Origin) {
	if name := o.Kept.Get(headerWho); name != "" {
		o.Who = a.people.called(name)
	}
}

func (a asked) Post(x *downstream.Exchange)    { a.ask(&x.Origin); a.Handler.Post(x) }
func (a asked) Open(s *downstream.EventStream) { a.ask(&s.Origin); a.Handler.Open(s) }
func (a asked) Delete(x *downstream.Exchange)  { a.ask(&x.Origin); a.Handler.Delete(x) }
func withAuth(c *config.Config)                { c.Auth.Keys = "keys.yaml" }
func by(name string, headers ...string) []string {
	return append([]string{headerWho, name}, headers...)
}

const (
	nobodysID = "1aaaaaaaaaaaaaaaaaaaaaaaaaaa" // as ids of sessions are, and of none
	pingFrame = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// opens opens a session of somebody.
func (w *web) opens(name, path string) string {
	w.t.Helper()
	r := w.do("POST", path, initializeFrame, by(name)...)
	if r.status != 200 || r.session == "" {
		w.t.Fatalf("initialize of %s on %s: %d %s", name, path, r.status, r.body)
	}
	w.do("POST", path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, by(name, "Mcp-Session-Id", r.session)...)
	return r.session
}

// modernly sends a request of a modern client of somebody.
func (w *web) modernly(name, method, capabilities, rest string) reply {
	w.t.Helper()
	return w.do("POST", "/mcp", modern(3, method, capabilities, rest), by(name, modernHeaders(method, rest)...)...)
}

// modernHeaders repeat what a modern request says.
func modernHeaders(method, rest string) []string {
	headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	var params struct{ Name, URI, TaskID string }
	if json.Unmarshal([]byte("{"+strings.TrimPrefix(rest, ",")+"}"), &params) == nil && params.Name != "" {
		headers = append(headers, "Mcp-Name", params.Name)
	}
	return headers
}

// alike says of each request that a session of somebody else's is as one that does not exist.
func (w *web) alike(what, method, path, body, stolen string, headers ...string) {
	w.t.Helper()
	ask := func(id string) reply {
		if path == "/messages" {
			return w.do(method, path+"?sessionId="+id, body, by("mallory", headers...)...)
		}
		return w.do(method, path, body, by("mallory", append(headers, "Mcp-Session-Id", id)...)...)
	}
	if got, want := ask(stolen), ask(nobodysID); got != want || want.status != 404 {
		w.t.Errorf("%s: %+v of another's session, %+v of none", what, got, want)
	}
}

// lives fails when a session does not answer its own principal.
func (w *web) lives(name, session string) {
	w.t.Helper()
	if got := w.do("POST", "/mcp", pingFrame, by(name, "Mcp-Session-Id", session)...); got.status != 200 {
		w.t.Errorf("the session of %s: %d %s", name, got.status, got.body)
	}
}

// eventually waits until something is so.
func (w *web) eventually(what string, so func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(deadline) {
			w.t.Fatal("never: " + what)
		}
		time.Sleep(time.Millisecond)
	}
}

func oneTool() map[string]*actortest.Server {
	return map[string]*actortest.Server{"one": {Tools: []string{"ask"}}}
}

// S5.1.3: Whoever has stolen the id of a session gets the bytes that an id of none gets, whatever they send.
func TestAttack28StolenSessionID(t *testing.T) {
	w := serveWeb(t, oneTool(), withAuth)
	id := w.opens("alice", "/mcp")
	for what, body := range map[string]string{
		"a ping": pingFrame, "a list": `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, "initialize": initializeFrame,
		"a call":         `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_ask"}}`,
		"a notification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"an answer":      `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"a batch":        `[` + pingFrame + `]`,
	} {
		w.alike(what, "POST", "/mcp", body, id)
		w.alike(what+" on another path", "POST", "/s/one/mcp", body, id)
		w.alike(what+" of a version nobody speaks", "POST", "/mcp", body, id, "MCP-Protocol-Version", "1999-01-01")
	}
	if got := w.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", id); got.status != 404 {
		t.Errorf("nobody in particular: %d %s", got.status, got.body)
	}
	w.lives("alice", id)
}

// An id that a client chooses opens nothing, and one that it gives to somebody else leads them nowhere.
func TestAttack29ChosenSessionID(t *testing.T) {
	server := &actortest.Server{Tools: []string{"ask"}}
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	if got := w.do("POST", "/mcp", initializeFrame, by("mallory", "Mcp-Session-Id", nobodysID)...); got.status != 404 || got.session != "" {
		t.Errorf("initialize with an id of its own: %+v", got)
	}
	trap := w.opens("mallory", "/mcp")
	got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_ask","arguments":{"secret":1}}}`, by("alice", "Mcp-Session-Id", trap)...)
	if got.status != 404 || len(server.Received("tools/call")) != 0 {
		t.Errorf("alice in a session of mallory's: %d %s, and the server was asked %d times", got.status, got.body, len(server.Received("tools/call")))
	}
}

// S5.1.3: Nobody ends the session of another.
func TestAttack30DeleteOfAnothersSession(t *testing.T) {
	w := serveWeb(t, oneTool(), withAuth)
	id := w.opens("alice", "/mcp")
	w.alike("DELETE", "DELETE", "/mcp", "", id)
	w.lives("alice", id)
	if got := w.do("DELETE", "/mcp", "", by("alice", "Mcp-Session-Id", id)...); got.status != 204 {
		t.Errorf("her own: %d %s", got.status, got.body)
	}
}

// S5.1.3: Nobody listens on the session of another.
func TestAttack31StreamOfAnothersSession(t *testing.T) {
	w := serveWeb(t, oneTool(), withAuth)
	id := w.opens("alice", "/mcp")
	mine, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
	defer mine.close()
	for _, session := range []string{id, nobodysID} {
		stolen, resp := w.listen("/mcp", by("mallory", "Mcp-Session-Id", session)...)
		if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "" && resp.ContentLength != 0 {
			t.Errorf("GET of %s: %d %v", session, resp.StatusCode, resp.Header)
		}
		stolen.close()
	}
}

// S5.1.3: What a session has said is replayed to nobody else, whatever event they name.
func TestAttack32ResumptionOfAnothersStream(t *testing.T) {
	server, say := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.opens("alice", "/mcp")
	go func() { say <- "secret"; close(say) }()
	s, _ := w.post("/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...)
	prime := s.next()
	for e := prime; e.ok; e = s.next() {
	}
	w.alike("GET with Last-Event-ID", "GET", "/mcp", "", id, "Accept", "text/event-stream", "Last-Event-ID", prime.id)
	got := w.do("GET", "/mcp", "", by("alice", "Accept", "text/event-stream", "Mcp-Session-Id", id, "Last-Event-ID", prime.id)...)
	if got.status != 200 || !strings.Contains(got.body, "secret") {
		t.Errorf("her own: %d %s", got.status, got.body)
	}
}

// S5.1.3: Nobody sends messages into a session of HTTP+SSE of another, nor has anything said on its stream.
func TestAttack33MessagesToAnothersStream(t *testing.T) {
	w := serveWeb(t, oneTool(), withAuth)
	s, _ := w.listen("/sse", by("alice")...)
	first := s.next()
	_, id, ok := strings.Cut(first.data, "sessionId=")
	if !ok {
		t.Fatalf("%+v", first)
	}
	w.alike("before initialize", "POST", "/messages", initializeFrame, id)
	if got := w.do("POST", "/messages?sessionId="+id, initializeFrame, by("alice")...); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.alike("a ping", "POST", "/messages", `{"jsonrpc":"2.0","id":"mallory's","method":"ping"}`, id)
	w.do("POST", "/messages?sessionId="+id, `{"jsonrpc":"2.0","id":"hers","method":"ping"}`, by("alice")...)
	for got := ""; !strings.Contains(got, "hers"); got = s.data() {
		if strings.Contains(got, "mallory") || strings.Contains(got, "not found") {
			t.Errorf("on her stream: %s", got)
		}
	}
}

// S5.1.3: Nobody cancels the call of another: not in its session, not by its id from elsewhere.
func TestAttack34CancelOfAnothersCall(t *testing.T) {
	server, say := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	id, other := w.opens("alice", "/mcp"), w.opens("mallory", "/mcp")
	answer := make(chan reply, 2)
	go func() { answer <- w.do("POST", "/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...) }()
	rest := `,"name":"one_slow"`
	go func() { answer <- w.modernly("alice", "tools/call", "{}", rest) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	for _, request := range []string{"7", "3"} {
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + request + `}}`
		w.alike("cancelled", "POST", "/mcp", cancel, id)
		w.do("POST", "/mcp", cancel, by("mallory", "Mcp-Session-Id", other)...)
		w.do("POST", "/mcp", cancel, by("mallory", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled")...)
	}
	close(say)
	for range 2 {
		if got := <-answer; got.status != 200 || !strings.Contains(got.body, `"content":[]`) {
			t.Errorf("her call: %d %s", got.status, got.body)
		}
	}
	if n := len(server.Received("notifications/cancelled")); n != 0 {
		t.Errorf("the server was told %d times to cancel", n)
	}
}

// listOf are the tools that somebody sees, sorted.
func listOf(body string) string {
	var r struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return body
	}
	var names []string
	for _, tool := range r.Result.Tools {
		names = append(names, tool.Name)
	}
	return fmt.Sprint(names)
}
