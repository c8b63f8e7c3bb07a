package actors

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// events is an open event stream of a test client.
type events struct {
	t     *testing.T
	lines *bufio.Reader
	close func()
}

// listen opens a stream. The headers are pairs of name and value.
func (w *httpHarness) listen(path string, headers ...string) (*events, *http.Response) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.stream(r, cancel)
}

// post sends a request whose response is read as a stream.
func (w *httpHarness) post(path, body string, headers ...string) (*events, *http.Response) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.stream(r, cancel)
}

func (w *httpHarness) stream(r *http.Request, cancel func()) (*events, *http.Response) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	leave := func() { cancel(); resp.Body.Close() }
	w.t.Cleanup(leave)
	return &events{w.t, bufio.NewReader(resp.Body), leave}, resp
}

// event is a server-sent event. The field ok is false at the end of the stream.
type event struct {
	name, id, data string
	ok             bool
}

func (s *events) next() (e event) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e != (event{}) {
				e.ok = true
				return e
			}
		}
	}
}

// data returns the data of the next event that has any, or "" at the end of the stream.
func (s *events) data() string {
	s.t.Helper()
	for {
		if e := s.next(); e.data != "" || !e.ok {
			return e.data
		}
	}
}

// MCP 2024-11-05, basic/transports, HTTP with SSE; protocol.md L11: a session is bound to its stream and its endpoint, and ends with
// the stream.
func TestHTTPWithSSE(t *testing.T) {
	server := &actortest.Server{Tools: []string{"add"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server, "two": {Tools: []string{"a"}}}, nil)
	for path, tool := range map[string]string{"/sse": "one_add", "/s/one/sse": "add"} {
		s, resp := w.listen(path, "Last-Event-ID", "1")
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
		first := s.next()
		id, ok := strings.CutPrefix(first.data, strings.TrimSuffix(path, "sse")+"messages?sessionId=")
		if first.name != "endpoint" || !ok || len(id) != 28 {
			t.Fatalf("%s: first event %+v", path, first)
		}
		endpoint := first.data
		say := func(body string, want ...string) {
			t.Helper()
			if got := w.do("POST", endpoint, body); got.status != 202 || got.body != "" {
				t.Errorf("POST: %d %s, want 202", got.status, got.body)
			}
			for _, part := range want {
				if e := s.next(); e.name != "message" || !strings.Contains(e.data, part) {
					t.Errorf("%s: got %+v, want %s", body, e, part)
				}
			}
		}
		say(strings.Replace(initializeFrame, "2025-11-25", "2024-11-05", 1), `"protocolVersion":"2024-11-05"`)
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"name":"`+tool+`"`)
		say(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"`+tool+`"}}`, `{"jsonrpc":"2.0","id":"x","result":`)
		say(`{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`, `-32601`)
		say(`[{"jsonrpc":"2.0","id":4,"method":"ping"}]`, `-32600`)
		say(`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`, `"id":5,"error":{"code":-32600`)
		say(`{"jsonrpc":"2.0","id":6,"method":"server/discover"}`, `"id":6,"error":{"code":-32601`) // a probe of the modern era

		// The session is bound to its stream and its endpoint.
		for name, test := range map[string]struct {
			got  reply
			want int
		}{
			"by header on /mcp":      {w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "Mcp-Session-Id", id), 404},
			"by header on /messages": {w.do("POST", "/messages", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "Mcp-Session-Id", id), 400},
			"a second stream":        {w.do("GET", "/mcp", "", "Mcp-Session-Id", id, "Accept", "text/event-stream"), 405},
			"no session":             {w.do("POST", "/messages", initializeFrame), 400},
			"made up":                {w.do("POST", "/messages?sessionId=1a"+strings.Repeat("a", 26), initializeFrame), 404},
			"POST to the stream":     {w.do("POST", path, initializeFrame), 405},
			"GET of the endpoint":    {w.do("GET", endpoint, "", "Accept", "text/event-stream"), 405},
			"DELETE":                 {w.do("DELETE", endpoint, ""), 405},
			"foreign origin":         {w.do("POST", endpoint, initializeFrame, "Origin", "https://evil.invalid"), 403},
			"foreign origin, stream": {w.do("GET", path, "", "Accept", "text/event-stream", "Origin", "https://evil.invalid"), 403},
			"stream not accepted":    {w.do("GET", path, "", "Accept", "application/json"), 406},
			"malformed":              {w.do("POST", endpoint, `{"jsonrpc":`), 400},
			"too large":              {w.do("POST", endpoint, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 1<<20)+`"}`), 413},
			"unknown server":         {w.do("GET", "/p/x/sse", "", "Accept", "text/event-stream"), 404},
		} {
			if test.got.status != test.want {
				t.Errorf("%s: got %d %s, want %d", name, test.got.status, test.got.body, test.want)
			}
		}
		if got := w.do("POST", "/messages", initializeFrame).body; !strings.Contains(got, "the query has no sessionId") || strings.Contains(got, "header") {
			t.Errorf("no session: got %s, want the missing parameter", got)
		}
		if strings.HasPrefix(path, "/s/") {
			continue
		}
		server.SetTools(true, "add", "sub")
		if e := s.next(); !strings.Contains(e.data, "tools/list_changed") {
			t.Errorf("got %+v, want list_changed", e)
		}
		s.close() // the session ends with its stream
		deadline := time.Now().Add(2 * time.Minute)
		for w.do("POST", endpoint, `{"jsonrpc":"2.0","id":8,"method":"ping"}`).status != 404 {
			if time.Now().After(deadline) {
				t.Fatal("the session did not end with its stream")
			}
		}
	}
}

// At the session limit, a stream is refused.
func TestHTTPWithSSEAtSessionLimit(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {}}, func(c *config.Config) { c.Limits.MaxSessions = 1 })
	_, resp := w.listen("/sse")
	if resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	if got := w.do("GET", "/sse", "", "Accept", "text/event-stream"); got.status != 503 || !strings.Contains(got.body, "OVERLOADED") {
		t.Errorf("at the limit: %d %s", got.status, got.body)
	}
}

// Server requests are sent on the stream, and the client answers by POST.
func TestHTTPWithSSEServerRequest(t *testing.T) {
	server := &actortest.Server{Tools: []string{"ask"}}
	server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send([]byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
		go func() {
			for len(server.Answers()) == 0 {
				time.Sleep(time.Millisecond)
			}
			_ = p.Send(protocol.AppendResult(nil, id, server.Answers()[0].ResultBytes()))
		}()
	}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	s, _ := w.listen("/sse")
	endpoint := s.next().data
	w.do("POST", endpoint, strings.Replace(initializeFrame, `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1))
	s.next()
	w.do("POST", endpoint, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_ask"}}`, "Accept", "application/json")
	request := s.data()
	var f protocol.Frame
	if err := f.Parse([]byte(request)); err != nil || f.Method != protocol.MethodRootsList {
		t.Fatalf("got %s, want roots/list", request)
	}
	w.do("POST", endpoint, string(protocol.AppendResult(nil, f.IDBytes(), []byte(`{"roots":[{"uri":"file:///r"}]}`))))
	if got := s.data(); got != `{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///r"}]}}` {
		t.Errorf("got %s", got)
	}
}

// The clients of mcp-go and the official Go SDK work over HTTP+SSE.
func TestHTTPWithSSEForeignClients(t *testing.T) {
	server := &actortest.Server{Tools: []string{"add"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	t.Run("mcp-go", func(t *testing.T) {
		c, err := client.NewSSEMCPClient(w.url + "/sse")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var hello mcp.InitializeRequest
		hello.Params.ProtocolVersion = "2025-11-25"
		hello.Params.ClientInfo = mcp.Implementation{Name: "t", Version: "1"}
		if _, err := c.Initialize(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
		tools, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil || len(tools.Tools) != 1 {
			t.Fatalf("%v %v", tools, err)
		}
		var call mcp.CallToolRequest
		call.Params.Name = "one_add"
		for range 100 {
			if result, err := c.CallTool(t.Context(), call); err != nil || len(result.Content) != 1 {
				t.Fatalf("%v %v", result, err)
			}
		}
	})
	t.Run("go-sdk", func(t *testing.T) {
		c := gosdk.NewClient(&gosdk.Implementation{Name: "t", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), &gosdk.SSEClientTransport{Endpoint: w.url + "/sse"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		result, err := s.CallTool(t.Context(), &gosdk.CallToolParams{Name: "one_add"})
		if err != nil || len(result.Content) != 1 {
			t.Fatalf("%v %v", result, err)
		}
	})
}
