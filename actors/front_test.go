package actors

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// httpHarness is a gateway that listens on a TCP socket.
type httpHarness struct {
	t       *testing.T
	url     string
	gateway *Gateway
	people  people // the principals of clients, if the configuration has auth
}

// startHTTP starts a gateway with the given servers. If a function open is given, it opens the links to all servers.
func startHTTP(t *testing.T, servers map[string]*actortest.Server, change func(*config.Config), open ...func(upstream.Sink) upstream.Link) *httpHarness {
	t.Helper()
	return startNode(t, nil, servers, change, open...)
}

// startNode is startHTTP for a node of a cluster, or for a gateway that runs alone if cluster is nil.
func startNode(t *testing.T, cluster *Cluster, servers map[string]*actortest.Server, change func(*config.Config), open ...func(upstream.Sink) upstream.Link) *httpHarness {
	t.Helper()
	cfg := config.Default()
	cfg.MetaTools = "false"
	for i, name := range []string{"one", "two"} {
		if servers[name] != nil {
			server := config.DefaultServer()
			server.Name, server.Written, server.Command, server.Order = name, name, "fake", i
			cfg.Servers = append(cfg.Servers, server)
		}
	}
	if change != nil {
		change(&cfg)
	}
	log := slog.New(slog.DiscardHandler)
	o := Options{Version: "test", Log: log, Cluster: cluster,
		Open: func(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
			if len(open) > 0 {
				return open[0], "http"
			}
			return servers[server.Name].Open, "stdio"
		}}
	if servers == nil && len(open) == 0 { // connect to the servers in the changed configuration
		o.Open = nil
	}
	g, err := Start(&cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &httpHarness{t: t, url: "http://" + l.Addr().String(), gateway: g}
	front, kept := g.Front(), cfg.Forwarded()
	if cfg.Auth.On() {
		front, kept = identifyingHandler{front, &w.people}, append(kept, principalHeader)
	}
	s := downstream.NewServer(front, downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.Budget()}, log)
	s.SetForwarded(kept)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := g.Stop(ctx, time.Second); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-served
	})
	w.settle(g, len(cfg.Servers))
	return w
}

// settle waits until every server is ready or has failed.
func (w *httpHarness) settle(g *Gateway, servers int) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		s, err := g.Status(w.t.Context())
		if err == nil && s.Ready && len(s.Servers) == servers {
			return
		}
	}
	w.t.Fatal("the servers did not become ready")
}

type reply struct {
	status              int
	session, retryAfter string
	body                string
}

// do sends one HTTP request. The headers are pairs of name and value.
func (w *httpHarness) do(method, path, body string, headers ...string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), resp.Header.Get("Retry-After"), string(text)}
}

const initializeFrame = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (w *httpHarness) open(path string) string {
	w.t.Helper()
	r := w.do("POST", path, initializeFrame)
	if r.status != 200 || r.session == "" {
		w.t.Fatalf("initialize on %s: %d %q %s", path, r.status, r.session, r.body)
	}
	return r.session
}

// MCP 2025-11-25, basic/transports: sessions.
func TestSessionsOverHTTP(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"a"}}}, nil)
	id := w.open("/mcp")
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	tests := []struct {
		name, method, path, body, session string
		headers                           []string
		status                            int
		want                              string
	}{
		{"ping", "POST", "/mcp", ping, id, nil, 200, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{"no session", "POST", "/mcp", ping, "", nil, 400, "Mcp-Session-Id"},
		{"made-up session", "POST", "/mcp", ping, "1a" + strings.Repeat("a", 26), nil, 404, "Session not found"},
		{"malformed session", "POST", "/mcp", ping, "../gateway", nil, 404, "Session not found"},
		{"another endpoint", "POST", "/s/one/mcp", ping, id, nil, 404, "opened on /mcp"},
		{"unknown project", "POST", "/p/x/mcp", initializeFrame, "", nil, 404, "UNKNOWN_PROJECT"},
		{"unknown server", "POST", "/s/x/mcp", initializeFrame, "", nil, 404, "no such server"},
		{"unknown project in a session", "POST", "/mcp", ping, id, []string{"Goblin-Project", "x"}, 200, `"code":-32602,"message":"Unknown project: x"`},
		{"unknown project in _meta", "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"goblin-actor/project":"x"}}}`, id, nil, 200, "UNKNOWN_PROJECT"},
		{"unknown project by its other key", "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"projectId":"x"}}}`, id, nil, 200, "UNKNOWN_PROJECT"},
		{"unknown project of HTTP+SSE", "GET", "/sse", "", "", []string{"Goblin-Project", "x", "Accept", "text/event-stream"}, 404, "UNKNOWN_PROJECT"},
		{"second initialize", "POST", "/mcp", initializeFrame, id, nil, 400, "-32600"},
		{"unknown version", "POST", "/mcp", ping, id, []string{"MCP-Protocol-Version", "1999-01-01"}, 400, "1999-01-01"},
		{"version of the session", "POST", "/mcp", ping, id, []string{"MCP-Protocol-Version", "2025-11-25"}, 200, `"result":{}`},
		{"unknown method", "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"x"}`, id, nil, 200, "-32601"},
		{"notification", "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id, nil, 202, ""},
		{"malformed", "POST", "/mcp", `{"jsonrpc":`, id, nil, 400, "-32700"},
		{"duplicate keys", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, id, nil, 400, "-32600"},
		{"too deep", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 601), id, nil, 400, ""},
		{"too large", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 1<<20) + `"}}`, id, nil, 413, "MESSAGE_TOO_LARGE"},
		{"foreign origin", "POST", "/mcp", ping, id, []string{"Origin", "https://evil.invalid"}, 403, ""},
		{"delete", "DELETE", "/mcp", "", id, nil, 204, ""},
		{"after delete", "POST", "/mcp", ping, id, nil, 404, "Session not found"},
		{"delete again", "DELETE", "/mcp", "", id, nil, 404, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			headers := test.headers
			if test.session != "" {
				headers = append(headers, "Mcp-Session-Id", test.session)
			}
			got := w.do(test.method, test.path, test.body, headers...)
			if got.status != test.status || !strings.Contains(got.body, test.want) {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, test.status, test.want)
			}
		})
	}
}

// A refused initialize opens no session. The response has no session ID, and no session counts against limits.maxSessions.
func TestRefusedInitialize(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {}}, nil)
	tests := []struct {
		name, path, body string
		headers          []string
		status           int
		want             string
	}{
		{"unknown server", "/s/x/mcp", initializeFrame, nil, 404, "no such server"},
		{"no version", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil, 200, "params.protocolVersion"},
		{"unknown project", "/mcp", initializeFrame, []string{"Goblin-Project", "x"}, 200, "UNKNOWN_PROJECT"},
	}
	for _, test := range tests {
		for range 3 {
			got := w.do("POST", test.path, test.body, test.headers...)
			if got.status != test.status || !strings.Contains(got.body, test.want) || got.session != "" {
				t.Errorf("%s: got %d %q %s, want %d, no session, %s", test.name, got.status, got.session, got.body, test.status, test.want)
			}
		}
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		s, err := w.gateway.Status(t.Context())
		if err == nil && len(s.Sessions) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("sessions remain: %+v, %v", s, err)
		}
	}
}

// A modern request that names an unknown project is refused. It does not fall back to all servers.
func TestUnknownProjectOfModernRequest(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {}}, nil)
	headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	list := func(meta string) string {
		return strings.Replace(modern(1, "tools/list", "{}", ""), `"_meta":{`, `"_meta":{`+meta, 1)
	}
	for name, got := range map[string]reply{
		"header": w.do("POST", "/mcp", list(""), append(headers, "Goblin-Project", "x")...),
		"_meta":  w.do("POST", "/mcp", list(`"goblin-actor/project":"x",`), headers...),
	} {
		if got.status != 200 || !strings.Contains(got.body, `"id":1,"error":{"code":-32602,"message":"Unknown project: x","data":{"code":"UNKNOWN_PROJECT"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// /s/<server>/mcp serves a single server under its original names.
func TestOneServerAlone(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"a"}}}, nil)
	id := w.open("/s/two/mcp")
	got := w.do("POST", "/s/two/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", id)
	if got.body != `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}` {
		t.Errorf("tools/list: %s", got.body)
	}
	got = w.do("POST", "/s/two/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}`, "Mcp-Session-Id", id)
	if !strings.Contains(got.body, "echo") {
		t.Errorf("tools/call: %s", got.body)
	}
}

// At limits.maxSessions, the least recently used session is closed for a new one. Sessions of unauthenticated clients with open
// streams are not closed.
func TestLeastRecentlyUsedSessionIsClosed(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {}}, func(c *config.Config) { c.Limits.MaxSessions = 3 })
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	var ids []string
	for range 3 {
		ids = append(ids, w.open("/mcp"))
	}
	w.do("POST", "/mcp", ping, "Mcp-Session-Id", ids[0])
	ids = append(ids, w.open("/mcp")) // ids[1] is the least recently used
	for i, want := range []int{200, 404, 200, 200} {
		if got := w.do("POST", "/mcp", ping, "Mcp-Session-Id", ids[i]); got.status != want {
			t.Errorf("session %d: %d, want %d", i, got.status, want)
		}
	}
	live := []string{ids[0], ids[2], ids[3]}
	for _, id := range live { // all sessions have an open stream
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", id)
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("stream: %v %v", resp, err)
		}
		defer resp.Body.Close()
	}
	if got := w.do("POST", "/mcp", initializeFrame); got.status != 503 || got.retryAfter != "5" || !strings.Contains(got.body, "OVERLOADED") {
		t.Errorf("at the limit: %d, Retry-After %q, %s; want 503, 5, OVERLOADED", got.status, got.retryAfter, got.body)
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"add"}}}, nil)
	failed := make(chan error, 50)
	for i := range 50 {
		go func() {
			id := w.open("/mcp")
			for n := range 10 {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d-%d","result":{"content":[{"type":"text","text":"echo"}]}}`, i, n)
				got := w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d-%d","method":"tools/call","params":{"name":"one_add"}}`, i, n), "Mcp-Session-Id", id)
				if got.body != want {
					failed <- fmt.Errorf("got %s, want %s", got.body, want)
					return
				}
			}
			failed <- nil
		}()
	}
	for range 50 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
