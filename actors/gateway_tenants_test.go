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

// teller tells each caller what it was sent as X-Who, and by what session: one server of either era behind HTTP.
type teller struct {
	*httptest.Server
	mu       sync.Mutex
	sessions map[string]string // X-Who of the initialize, by session
	mixed    []string          // sessions whose requests came with another
	calls    int
	fail     func(w http.ResponseWriter) // what becomes of the first call instead of an answer; nil = an answer
}

func newTeller(t *testing.T) *teller {
	s := &teller{sessions: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *teller) serve(w http.ResponseWriter, r *http.Request) {
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
		s.mixed = append(s.mixed, was+" and "+who)
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

func (w *web) who(session string, headers ...string) string {
	r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who"}}`, append(headers, "Mcp-Session-Id", session)...)
	return r.body
}

func (w *web) modernWho(headers ...string) string {
	r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_who","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		append(headers, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "one_who")...)
	return r.body
}

func forwarding(url, era string) func(*config.Config) {
	return func(c *config.Config) {
		s := config.DefaultServer()
		s.Name, s.Written, s.URLs, s.Isolation, s.Protocol, s.MaxBackends = "one", "one", []string{url}, "class", era, 64
		s.Headers = map[string]string{"x-who": "gateway"}
		s.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-Who", Prefix: "user "}}
		c.Servers = append(c.Servers, s)
	}
}

// The header of each request counts, also in one session, and in both eras on both sides: no connection is used with two values.
func TestForwardedHeaders(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			server := newTeller(t)
			w := serveWeb(t, nil, forwarding(server.URL, era))
			a, b := w.open("/mcp"), w.open("/mcp")
			for name, c := range map[string]struct{ got, want string }{
				"alice":              {w.who(a, "X-User", "alice"), "who=user alice "},
				"bob":                {w.who(b, "X-User", "bob"), "who=user bob "},
				"another in session": {w.who(a, "X-User", "carol"), "who=user carol "},
				"none":               {w.who(a), "who=gateway "},
				"alice, modern":      {w.modernWho("X-User", "alice"), "who=user alice "},
				"bob, modern":        {w.modernWho("x-user", "bob"), "who=user bob "},
				"none, modern":       {w.modernWho(), "who=gateway "},
				"to itself":          {w.who(a, "X-Who", "mallory"), "who=gateway "},
			} {
				if !strings.Contains(c.got, c.want) {
					t.Errorf("%s: %s, want %s", name, c.got, c.want)
				}
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if len(server.mixed) > 0 {
				t.Errorf("connections are shared: %v", server.mixed)
			}
			picture, err := w.gateway.Status(t.Context())
			if text, _ := json.Marshal(picture); err != nil || strings.Contains(string(text), "alice") {
				t.Errorf("status shows the value of a header (%v)", err)
			}
		})
	}
}

// Each session has its own process, which ends with it; the catalog comes from one that nobody calls.
func TestIsolationBySession(t *testing.T) {
	within(func(t *testing.T) {
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
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
		defer h.close()
		h.initialize()
		call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"one_id"}}`
		first, second := h.one(call), h.one(call)
		if first != second || server.Opened() != 2 {
			t.Errorf("%s, then %s; %d processes, want 2", first, second, server.Opened())
		}
		if got := h.one(modernCall(9, `{}`, "")); !strings.Contains(got, "Tool not found") && !strings.Contains(got, "process 2") {
			t.Errorf("a client of the other era: %s", got)
		}
	})(t)
}

// The connections of a client end with its session.
func TestConnectionsEndWithTheirSession(t *testing.T) {
	server := &actortest.Server{Tools: []string{"who"}}
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Servers[0].Isolation, c.Servers[0].MaxBackends = "session", 64 })
	a, b := w.open("/mcp"), w.open("/mcp")
	if w.who(a); !strings.Contains(w.who(b), "echo") {
		t.Fatal("no answer")
	}
	w.connections(3)
	w.do("DELETE", "/mcp", "", "Mcp-Session-Id", a)
	w.connections(2)
	if !strings.Contains(w.who(b), "echo") {
		t.Error("the other client has lost its connection")
	}
}

// Behind HTTP the connection of one call may break while all else goes on: it is sent again where that is allowed. An HTTP status is an
// answer of somebody's, and no broken connection.
func TestSentAgainOverHTTP(t *testing.T) {
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
	}{{"cut off", "idempotent", cut, 2}, {"an empty stream", "idempotent", half, 2}, {"a status", "idempotent", refused, 1}, {"cut off, never", "never", cut, 1}} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(c.name+", "+era, func(t *testing.T) {
				server := newTeller(t)
				server.fail = c.fail
				w := serveWeb(t, nil, func(cfg *config.Config) {
					forwarding(server.URL, era)(cfg)
					cfg.Servers[0].Retry.InFlight = c.inFlight
				})
				got := w.who(w.open("/mcp"))
				server.mu.Lock()
				defer server.mu.Unlock()
				if server.calls != c.calls || strings.Contains(got, "who=gateway") != (c.calls == 2) {
					t.Errorf("sent %d times, want %d: %s", server.calls, c.calls, got)
				}
			})
		}
	}
}
