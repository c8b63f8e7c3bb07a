package actors

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// headerServer is an HTTP server that supports both eras. Its tool returns the request's X-Who header and session.
type headerServer struct {
	*httptest.Server
	mu             sync.Mutex
	sessions       map[string]string // X-Who of the initialize, by session
	sharedSessions []string          // sessions that were used with two values of X-Who
	calls          int
	fail           func(w http.ResponseWriter) // answers the first call instead; nil = an ordinary response
}

func newHeaderServer(t *testing.T) *headerServer {
	s := &headerServer{sessions: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *headerServer) serve(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who, session := strings.Join(r.Header.Values("X-Who"), "+"), r.Header.Get("Mcp-Session-Id")
	if was, known := s.sessions[session]; known && was != who {
		s.sharedSessions = append(s.sharedSessions, was+" and "+who)
	}
	result := `{}`
	modern := r.Header.Get("Mcp-Protocol-Version") == protocol.Version20260728
	switch m.Method {
	case "initialize":
		session = fmt.Sprint("s", len(s.sessions)+1)
		s.sessions[session] = who
		w.Header().Set("Mcp-Session-Id", session)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"},"ttlMs":0,"cacheScope":"public"}`
	case "tools/list":
		result = `{"resultType":"complete","tools":[{"name":"who","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"ttlMs":0,"cacheScope":"public"}`
	case "tools/call":
		if s.calls++; s.calls == 1 && s.fail != nil {
			s.fail(w)
			return
		}
		result = fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"who=%s session=%s"}]}`, who, session)
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !modern {
		result = strings.Replace(result, `"resultType":"complete",`, "", 1)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// who calls the tool of a headerServer or tokenServer as a legacy client.
func (w *httpHarness) who(session string, headers ...string) string {
	r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who"}}`, append(headers, "Mcp-Session-Id", session)...)
	return r.body
}

// modernWho calls the tool as a modern client.
func (w *httpHarness) modernWho(headers ...string) string {
	r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		append(headers, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "one_who")...)
	return r.body
}

// forwarding returns a function that adds a server with a URL, to which the header X-User is forwarded as X-Who.
func forwarding(url, era string) func(*config.Config) {
	return func(c *config.Config) {
		s := config.DefaultServer()
		s.Name, s.Written, s.URLs, s.Isolation, s.Protocol, s.MaxBackends = "one", "one", []string{url}, "class", era, 64
		s.Headers = map[string]string{"x-who": "gateway"}
		s.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who", Prefix: "user "}}
		c.Servers = append(c.Servers, s)
	}
}

// Forwarded headers are taken from each request, even within one session, in both eras on both sides. No connection is used
// with two values.
func TestForwardedHeaders(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			server := newHeaderServer(t)
			w := startHTTP(t, nil, forwarding(server.URL, era))
			a, b := w.open("/mcp"), w.open("/mcp")
			for name, c := range map[string]struct{ got, want string }{
				"alice":                  {w.who(a, "X-User", "alice"), "who=user alice "},
				"bob":                    {w.who(b, "X-User", "bob"), "who=user bob "},
				"other value in session": {w.who(a, "X-User", "carol"), "who=user carol "},
				"none":                   {w.who(a), "who=gateway "},
				"alice, modern":          {w.modernWho("X-User", "alice"), "who=user alice "},
				"bob, modern":            {w.modernWho("x-user", "bob"), "who=user bob "},
				"none, modern":           {w.modernWho(), "who=gateway "},
				"target header":          {w.who(a, "X-Who", "mallory"), "who=gateway "},
			} {
				if !strings.Contains(c.got, c.want) {
					t.Errorf("%s: %s, want %s", name, c.got, c.want)
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if len(server.sharedSessions) > 0 {
				t.Errorf("shared connections: %v", server.sharedSessions)
			}
			snapshot, err := w.gateway.Status(t.Context())
			if text, _ := json.Marshal(snapshot); err != nil || strings.Contains(string(text), "alice") {
				t.Errorf("the status contains a header's value (%v)", err)
			}
		})
	}
}

// With isolation by session, all calls of a session go to the session's own process. The catalog comes from a separate process.
func TestIsolationBySession(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"id"}, Resources: []string{"file:///x"}}
		var mu sync.Mutex
		numbers := map[*pipe.Peer]int{}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			mu.Lock()
			defer mu.Unlock()
			if numbers[p] == 0 {
				numbers[p] = len(numbers) + 1
			}
			_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"content":[{"type":"text","text":"process %d"}]}`, numbers[p])))
		}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
		defer h.close()
		h.initialize()
		call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"one_id"}}`
		first, second := h.roundTrip(call), h.roundTrip(call)
		if first != second || server.Opened() != 2 {
			t.Errorf("%s, then %s; %d processes, want 2", first, second, server.Opened())
		}
		if got := h.roundTrip(modernCall(9, `{}`, "")); !strings.Contains(got, "Tool not found") && !strings.Contains(got, "process 2") {
			t.Errorf("a modern client: %s", got)
		}
	})(t)
}

// A client's connections end with its session.
func TestConnectionsEndWithTheirSession(t *testing.T) {
	server := &actortest.Server{Tools: []string{"who"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
	a, b := w.open("/mcp"), w.open("/mcp")
	if w.who(a); !strings.Contains(w.who(b), "echo") {
		t.Fatal("no answer")
	}
	w.waitConnections(3)
	w.do("DELETE", "/mcp", "", "Mcp-Session-Id", a)
	w.waitConnections(2)
	if !strings.Contains(w.who(b), "echo") {
		t.Error("the other client lost its connection")
	}
}

// On HTTP, the connection of a single call may break. The call is retried if retry.inFlight allows it. An HTTP error status is a
// response and not a broken connection.
func TestRetryOverHTTP(t *testing.T) {
	cut := func(w http.ResponseWriter) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		c.Close()
	}
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, ": nothing yet\n\n")
	}
	refused := func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	for _, c := range []struct {
		name, inFlight string
		fail           func(http.ResponseWriter)
		calls          int
	}{{"connection closed", "idempotent", cut, 2}, {"empty stream", "idempotent", half, 2}, {"HTTP status", "idempotent", refused, 1}, {"connection closed, never retry", "never", cut, 1}} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(c.name+", "+era, func(t *testing.T) {
				server := newHeaderServer(t)
				server.fail = c.fail
				w := startHTTP(t, nil, func(cfg *config.Config) {
					forwarding(server.URL, era)(cfg)
					cfg.Servers[0].Retry.InFlight = c.inFlight
				})
				got := w.who(w.open("/mcp"))
				server.mu.Lock()
				defer server.mu.Unlock()
				if server.calls != c.calls || strings.Contains(got, "who=gateway") != (c.calls == 2) {
					t.Errorf("the server got %d calls, want %d: %s", server.calls, c.calls, got)
				}
			})
		}
	}
}
