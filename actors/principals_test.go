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

// principalHeader names the principal of a test client, in place of real authentication.
const principalHeader = "X-Who"

// people holds the principals by name.
type people struct {
	mu  sync.Mutex
	all map[string]*identity.Principal
}

// set replaces a principal and returns it. The function change modifies the default principal of that name.
func (p *people) set(name string, change func(*identity.Principal)) *identity.Principal {
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

// get returns the principal of that name, and creates it if necessary.
func (p *people) get(name string) *identity.Principal {
	p.mu.Lock()
	who := p.all[name]
	p.mu.Unlock()
	if who == nil {
		return p.set(name, nil)
	}
	return who
}

// identifyingHandler sets the principal of each request from principalHeader.
type identifyingHandler struct {
	downstream.Handler
	people *people
}

func (a identifyingHandler) identify(o *downstream.Origin) {
	if name := o.Forwarded.Get(principalHeader); name != "" {
		o.Principal = a.people.get(name)
	}
}

func (a identifyingHandler) Post(x *downstream.Exchange)    { a.identify(&x.Origin); a.Handler.Post(x) }
func (a identifyingHandler) Open(s *downstream.EventStream) { a.identify(&s.Origin); a.Handler.Open(s) }
func (a identifyingHandler) Delete(x *downstream.Exchange) {
	a.identify(&x.Origin)
	a.Handler.Delete(x)
}
func withAuth(c *config.Config) { c.Auth.Keys = "keys.yaml" }

// asUser returns headers that identify the client as that principal.
func asUser(name string, headers ...string) []string {
	return append([]string{principalHeader, name}, headers...)
}

const (
	unknownSessionID = "1aaaaaaaaaaaaaaaaaaaaaaaaaaa" // a valid session ID of no session
	pingFrame        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// openAs opens a session as a principal.
func (w *httpHarness) openAs(name, path string) string {
	w.t.Helper()
	r := w.do("POST", path, initializeFrame, asUser(name)...)
	if r.status != 200 || r.session == "" {
		w.t.Fatalf("initialize of %s on %s: %d %s", name, path, r.status, r.body)
	}
	w.do("POST", path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, asUser(name, "Mcp-Session-Id", r.session)...)
	return r.session
}

// modernAs sends a modern request as a principal.
func (w *httpHarness) modernAs(name, method, capabilities, rest string) reply {
	w.t.Helper()
	return w.do("POST", "/mcp", modern(3, method, capabilities, rest), asUser(name, modernHeaders(method, rest)...)...)
}

// modernHeaders returns the headers that must repeat a modern request's method and name.
func modernHeaders(method, rest string) []string {
	headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	var params struct{ Name, URI, TaskID string }
	if json.Unmarshal([]byte("{"+strings.TrimPrefix(rest, ",")+"}"), &params) == nil && params.Name != "" {
		headers = append(headers, "Mcp-Name", params.Name)
	}
	return headers
}

// checkHidden checks that mallory gets the same response for another principal's session as for an unknown one.
func (w *httpHarness) checkHidden(what, method, path, body, stolen string, headers ...string) {
	w.t.Helper()
	ask := func(id string) reply {
		if path == "/messages" {
			return w.do(method, path+"?sessionId="+id, body, asUser("mallory", headers...)...)
		}
		return w.do(method, path, body, asUser("mallory", append(headers, "Mcp-Session-Id", id)...)...)
	}
	if got, want := ask(stolen), ask(unknownSessionID); got != want || want.status != 404 {
		w.t.Errorf("%s: %+v for another's session, %+v for an unknown one", what, got, want)
	}
}

// checkAlive fails the test if a session does not answer its own principal.
func (w *httpHarness) checkAlive(name, session string) {
	w.t.Helper()
	if got := w.do("POST", "/mcp", pingFrame, asUser(name, "Mcp-Session-Id", session)...); got.status != 200 {
		w.t.Errorf("the session of %s: %d %s", name, got.status, got.body)
	}
}

// eventually waits until the function so returns true. It fails the test after a minute.
func (w *httpHarness) eventually(what string, so func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(deadline) {
			w.t.Fatal("did not happen: " + what)
		}
		time.Sleep(time.Millisecond)
	}
}

func oneTool() map[string]*actortest.Server {
	return map[string]*actortest.Server{"one": {Tools: []string{"ask"}}}
}

// S5.1.3: a stolen session ID gets the same responses as an unknown one, whatever the request.
func TestAttack28StolenSessionID(t *testing.T) {
	w := startHTTP(t, oneTool(), withAuth)
	id := w.openAs("alice", "/mcp")
	for what, body := range map[string]string{
		"a ping": pingFrame, "a list": `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, "initialize": initializeFrame,
		"a call":         `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_ask"}}`,
		"a notification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"an answer":      `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"a batch":        `[` + pingFrame + `]`,
	} {
		w.checkHidden(what, "POST", "/mcp", body, id)
		w.checkHidden(what+" on another path", "POST", "/s/one/mcp", body, id)
		w.checkHidden(what+" with an unknown version", "POST", "/mcp", body, id, "MCP-Protocol-Version", "1999-01-01")
	}
	if got := w.do("POST", "/mcp", pingFrame, "Mcp-Session-Id", id); got.status != 404 {
		t.Errorf("without a principal: %d %s", got.status, got.body)
	}
	w.checkAlive("alice", id)
}

// A client cannot open a session with an ID of its own choice. A session ID that a client passes on to another principal does not work
// for that principal.
func TestAttack29ChosenSessionID(t *testing.T) {
	server := &actortest.Server{Tools: []string{"ask"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	if got := w.do("POST", "/mcp", initializeFrame, asUser("mallory", "Mcp-Session-Id", unknownSessionID)...); got.status != 404 || got.session != "" {
		t.Errorf("initialize with a chosen session ID: %+v", got)
	}
	trap := w.openAs("mallory", "/mcp")
	got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_ask","arguments":{"secret":1}}}`, asUser("alice", "Mcp-Session-Id", trap)...)
	if got.status != 404 || len(server.Received("tools/call")) != 0 {
		t.Errorf("alice in mallory's session: %d %s, and the server got %d calls", got.status, got.body, len(server.Received("tools/call")))
	}
}

// S5.1.3: a client cannot end another principal's session.
func TestAttack30DeleteOfAnothersSession(t *testing.T) {
	w := startHTTP(t, oneTool(), withAuth)
	id := w.openAs("alice", "/mcp")
	w.checkHidden("DELETE", "DELETE", "/mcp", "", id)
	w.checkAlive("alice", id)
	if got := w.do("DELETE", "/mcp", "", asUser("alice", "Mcp-Session-Id", id)...); got.status != 204 {
		t.Errorf("her own session: %d %s", got.status, got.body)
	}
}

// S5.1.3: a client cannot open a stream of another principal's session.
func TestAttack31StreamOfAnothersSession(t *testing.T) {
	w := startHTTP(t, oneTool(), withAuth)
	id := w.openAs("alice", "/mcp")
	mine, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
	defer mine.close()
	for _, session := range []string{id, unknownSessionID} {
		stolen, resp := w.listen("/mcp", asUser("mallory", "Mcp-Session-Id", session)...)
		if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "" && resp.ContentLength != 0 {
			t.Errorf("GET of %s: %d %v", session, resp.StatusCode, resp.Header)
		}
		stolen.close()
	}
}

// S5.1.3: events of a session are not replayed to other principals, whatever event ID they send.
func TestAttack32ResumptionOfAnothersStream(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.openAs("alice", "/mcp")
	go func() { say <- "secret"; close(say) }()
	s, _ := w.post("/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...)
	prime := s.next()
	for e := prime; e.ok; e = s.next() {
	}
	w.checkHidden("GET with Last-Event-ID", "GET", "/mcp", "", id, "Accept", "text/event-stream", "Last-Event-ID", prime.id)
	got := w.do("GET", "/mcp", "", asUser("alice", "Accept", "text/event-stream", "Mcp-Session-Id", id, "Last-Event-ID", prime.id)...)
	if got.status != 200 || !strings.Contains(got.body, "secret") {
		t.Errorf("her own session: %d %s", got.status, got.body)
	}
}

// S5.1.3: a client cannot send messages to another principal's HTTP+SSE session, or cause messages on its stream.
func TestAttack33MessagesToAnothersStream(t *testing.T) {
	w := startHTTP(t, oneTool(), withAuth)
	s, _ := w.listen("/sse", asUser("alice")...)
	first := s.next()
	_, id, ok := strings.Cut(first.data, "sessionId=")
	if !ok {
		t.Fatalf("%+v", first)
	}
	w.checkHidden("before initialize", "POST", "/messages", initializeFrame, id)
	if got := w.do("POST", "/messages?sessionId="+id, initializeFrame, asUser("alice")...); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.checkHidden("a ping", "POST", "/messages", `{"jsonrpc":"2.0","id":"mallory's","method":"ping"}`, id)
	w.do("POST", "/messages?sessionId="+id, `{"jsonrpc":"2.0","id":"hers","method":"ping"}`, asUser("alice")...)
	for got := ""; !strings.Contains(got, "hers"); got = s.data() {
		if strings.Contains(got, "mallory") || strings.Contains(got, "not found") {
			t.Errorf("her stream carried %s", got)
		}
	}
}

// S5.1.3: a client cannot cancel another principal's call, neither through its session nor by request ID from elsewhere.
func TestAttack34CancelOfAnothersCall(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	id, other := w.openAs("alice", "/mcp"), w.openAs("mallory", "/mcp")
	answer := make(chan reply, 2)
	go func() { answer <- w.do("POST", "/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...) }()
	rest := `,"name":"one_slow"`
	go func() { answer <- w.modernAs("alice", "tools/call", "{}", rest) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	for _, request := range []string{"7", "3"} {
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + request + `}}`
		w.checkHidden("a cancellation", "POST", "/mcp", cancel, id)
		w.do("POST", "/mcp", cancel, asUser("mallory", "Mcp-Session-Id", other)...)
		w.do("POST", "/mcp", cancel, asUser("mallory", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled")...)
	}
	close(say)
	for range 2 {
		if got := <-answer; got.status != 200 || !strings.Contains(got.body, `"content":[]`) {
			t.Errorf("her call: %d %s", got.status, got.body)
		}
	}
	if n := len(server.Received("notifications/cancelled")); n != 0 {
		t.Errorf("the server got %d cancellations, want none", n)
	}
}

// listOf returns the names of the tools in a tools/list response, or the body if it is not one.
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
