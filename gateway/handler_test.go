package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mark "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
)

// wrapped is a middleware's ResponseWriter. It hides the optional interfaces of the original; only Unwrap leads to them.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// site serves the handler at /api/mcp of a program with other routes and a middleware that requires a token.
func site(t *testing.T, g *gateway.Gateway) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.Handle("/api/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("X-Token") != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Program", "yes")
		g.Handler().ServeHTTP(wrapped{w}, r)
	}))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/api/mcp", requests
}

// token adds the token of site to requests.
type token struct{}

func (token) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Token", "secret")
	return http.DefaultTransport.RoundTrip(r)
}

// Clients of both SDKs can use a Handler that another program mounts in its own mux, behind middleware. The go-sdk
// client also receives progress and answers an elicitation on the response's stream.
func TestHandlerWithClients(t *testing.T) {
	g := start(t, gateway.Config{}, "oracle", "notes")
	url, requests := site(t, g)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run("go-sdk "+version, func(t *testing.T) {
			ctx, steps := within(t), new(atomic.Int32)
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ugg", "topic": "gold"}}, nil
				},
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { steps.Add(1) },
			})
			session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: token{}}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			params := &mcp.CallToolParams{Name: "oracle_consult"}
			params.SetProgressToken("t")
			result, err := session.CallTool(ctx, params)
			if err != nil || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, "gold") || steps.Load() == 0 {
				t.Errorf("oracle_consult: got %+v, %v, %d progress reports; want a text about gold and at least one report", result, err, steps.Load())
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
		t.Run("mcp-go "+version, func(t *testing.T) {
			ctx := within(t)
			c, err := client.NewStreamableHttpClient(url, transport.WithHTTPHeaders(map[string]string{"X-Token": "secret"}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var request mark.InitializeRequest
			request.Params.ProtocolVersion, request.Params.ClientInfo = version, mark.Implementation{Name: "test", Version: "1"}
			if _, err := c.Initialize(ctx, request); err != nil {
				t.Fatal(err)
			}
			var call mark.CallToolRequest
			call.Params.Name, call.Params.Arguments = "notes_add_note", map[string]any{"title": "Milk " + version, "text": strings.Repeat("x", 50<<10)}
			if result, err := c.CallTool(ctx, call); err != nil || result.IsError {
				t.Errorf("notes_add_note: %v, %v", result, err)
			}
		})
	}
	if requests.Load() == 0 {
		t.Error("the middleware saw nothing")
	}
}

// post sends a message to the handler and returns the response.
func post(t *testing.T, h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(within(t), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestHandlerRefuses(t *testing.T) {
	g := start(t, gateway.Config{YAML: []byte("{metaTools: false, limits: {maxMessageBytes: 64KiB}, allowedOrigins: ['https://ok.example']}")}, "notes")
	h := g.Handler()
	for _, c := range []struct {
		name, path, body string
		header           []string
		want             int
	}{
		{"well", "/mcp", initialize, nil, 200},
		{"prefix", "/v1/mcp", initialize, nil, 200},
		{"stripped", "/", initialize, nil, 200},
		{"server", "/v1/s/notes/mcp", initialize, nil, 200},
		{"no such server", "/s/absent/mcp", initialize, nil, 404},
		{"path", "/mcpx", initialize, nil, 404},
		{"not JSON", "/mcp", "{", nil, 400},
		{"large", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 64<<10) + `"}`, nil, 413},
		{"origin", "/mcp", initialize, []string{"Origin", "https://evil.example"}, 403},
		{"allowed origin", "/mcp", initialize, []string{"Origin", "https://ok.example"}, 200},
		{"two sessions", "/mcp", initialize, []string{"Mcp-Session-Id", "a", "Mcp-Session-Id", "b"}, 400},
		{"session", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Mcp-Session-Id", "absent"}, 404},
		{"gzip", "/mcp", initialize, []string{"Content-Encoding", "gzip"}, 415},
	} {
		if w := post(t, h, c.path, c.body, c.header...); w.Code != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
	server := httptest.NewServer(h) // on loopback, another Host is refused, because it indicates DNS rebinding
	defer server.Close()
	r, err := http.NewRequestWithContext(within(t), http.MethodPost, server.URL+"/mcp", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("rebound name: %v, %v", response, err)
	}
	response.Body.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if w := post(t, h, "/mcp", initialize); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d %s", w.Code, w.Body)
	}
}

// With auth in the configuration, the handler requires keys.
func TestHandlerAuth(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, gateway.Config{YAML: fmt.Appendf(nil, "{metaTools: false, auth: {keys: %q}}", keys)}, "notes")
	w := post(t, g.Handler(), "/mcp", initialize)
	if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("without a key: %d %v", w.Code, w.Header())
	}
	if w := post(t, g.Handler(), "/mcp", initialize, "Authorization", "Bearer gba_unknown"); w.Code != http.StatusUnauthorized {
		t.Errorf("with a wrong key: %d", w.Code)
	}
	if result, err := g.CallTool(within(t), "notes_add_note", map[string]any{"title": "a", "text": "b"}, nil); err != nil {
		t.Errorf("the program itself: %v, %v", result, err)
	}
}

// modern is the version without sessions, in which closing the connection of a request cancels the request.
const modern = "2026-07-28"

// The call of a client that disconnects is canceled at the server. Close ends streams and answers running calls.
func TestHandlerEnds(t *testing.T) {
	running, canceled := make(chan struct{}, 2), make(chan struct{}, 2)
	g := start(t, gateway.Config{Servers: map[string]gateway.Server{"one": {Connect: cancelable(running, canceled), Settings: quick}}})
	server := httptest.NewServer(g.Handler())
	defer server.Close()
	send := func(ctx context.Context, method, body, session string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, server.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", session)
		if session == "" {
			r.Header.Del("Mcp-Session-Id")
		}
		if strings.Contains(body, modern) {
			r.Header.Set("MCP-Protocol-Version", modern)
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "one_do")
		}
		return http.DefaultClient.Do(r)
	}
	ctx := within(t)
	opened, err := send(ctx, http.MethodPost, initialize, "")
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Body.Close()
	session := opened.Header.Get("Mcp-Session-Id")
	stated, err := send(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	if err != nil || stated.StatusCode != http.StatusAccepted {
		t.Fatalf("initialized: %v, %v", stated, err)
	}
	_ = stated.Body.Close()
	stream, err := send(ctx, http.MethodGet, "", session)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("stream: %v, %v", stream, err)
	}
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_do"}}`
	calling, leave := context.WithCancel(ctx)
	go func() {
		const stateless = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_do","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
		if response, err := send(calling, http.MethodPost, stateless, ""); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-running
	leave()
	select {
	case <-canceled:
	case <-ctx.Done():
		t.Fatal("the call is not canceled")
	}
	answered := make(chan string, 1)
	go func() {
		response, err := send(ctx, http.MethodPost, fmt.Sprintf(call, 3), session)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answered <- string(text)
	}()
	<-running
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if text := <-answered; !strings.Contains(text, `"id":3`) || !strings.Contains(text, "error") {
		t.Errorf("the running call: %s", text)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Errorf("the stream: %v", err)
	}
}

// cancelable is a server whose calls run until they are canceled.
func cancelable(running, canceled chan<- struct{}) func(context.Context, gateway.Conn) error {
	return func(ctx context.Context, c gateway.Conn) error {
		return tiny(func(ctx context.Context) string {
			running <- struct{}{}
			<-ctx.Done()
			return "late"
		})(ctx, spy{c, canceled})
	}
}

// spy reports cancellations that a server reads.
type spy struct {
	gateway.Conn
	canceled chan<- struct{}
}

func (s spy) Read(ctx context.Context) ([]byte, error) {
	m, err := s.Conn.Read(ctx)
	if strings.Contains(string(m), "notifications/cancelled") {
		s.canceled <- struct{}{}
	}
	return m, err
}

// Behind a middleware that hides http.Flusher, responses are JSON and streams are refused.
func TestHandlerWithoutFlush(t *testing.T) {
	g := start(t, gateway.Config{}, "notes")
	hidden := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Handler().ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	})
	if w := post(t, hidden, "/mcp", initialize); w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("initialize: got %d %v, want 200 and JSON", w.Code, w.Header())
	}
	r := httptest.NewRequestWithContext(within(t), http.MethodGet, "/mcp", nil)
	r.Header.Set("Accept", "text/event-stream")
	w := httptest.NewRecorder()
	hidden.ServeHTTP(w, r)
	if w.Code != http.StatusNotAcceptable {
		t.Errorf("a stream without http.Flusher: got %d, want 406", w.Code)
	}
}
