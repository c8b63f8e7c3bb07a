package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/process"
	"goblin-actor/protocol/upstream/remote"
)

// serverVariable is the environment variable that makes this test binary run as a server on stdio.
const serverVariable = "GOBLIN_BACKEND_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := goSDKServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// goSDKServer returns a server with three tools: one asks two questions in its results (as in 2026-07-28), one returns its
// arguments and the header made from one of them, and one adds a tool and reports a changed resource.
func goSDKServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", Text: "x"}}}, nil
	})
	add := func(name, schema string, handler mcp.ToolHandler) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, handler)
	}
	text := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	add("ask", `{"type":"object"}`, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := func(key string) any {
			a, _ := r.Params.InputResponses[key].(*mcp.ElicitResult)
			if a == nil {
				return nil
			}
			return a.Content[key]
		}
		question := func(key string) *mcp.CallToolResult {
			schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{key: {Type: "string"}}}
			return &mcp.CallToolResult{RequestState: r.Params.RequestState + key + ";",
				InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{Message: key + "?", RequestedSchema: schema}}}
		}
		switch r.Params.RequestState {
		case "":
			return question("name"), nil
		case "name;":
			return question("colour"), nil
		}
		return text("%v, %s", answer("colour"), r.Params.RequestState), nil
	})
	add("header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("%s %s", r.Params.Arguments, r.Extra.Header.Get("Mcp-Param-Region")), nil
		})
	add("grow", `{"type":"object"}`, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", `{"type":"object"}`, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(""), nil })
		return text("grown"), server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "file:///a"})
	})
	return server
}

// eventually polls until done returns true. It fails the test after two minutes. Processes and sockets cannot use the fake
// clock of testing/synctest.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("%s: timed out after two minutes", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// facingSDK is a backend with a real server.
type facingSDK struct {
	*bench
	last  message.BackendChanged
	tools int
	other []any // other messages to the pool
}

func (r *facingSDK) look() {
	for _, msg := range r.pool.Got() {
		switch m := msg.(type) {
		case message.BackendChanged:
			r.last = m
		case message.Listed:
			if m.Kind == protocol.Tools {
				r.tools = len(m.Items)
			}
		default:
			r.other = append(r.other, msg)
		}
	}
}

// call sends a tool call, answers all questions with the given answer, and returns the outcome.
func (r *facingSDK) call(t *testing.T, seq uint64, tool, arguments, answer string) string {
	t.Helper()
	q := request(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	q.Target, q.Item, q.Caller.Can = rawjson.Span{}, tool, message.CanForm
	r.backend.Tell(message.Send{Call: message.CallRef{Holder: r.holder.Reference, Seq: seq}, Request: q})
	var ends []string
	eventually(t, "the answer to "+tool, func() bool {
		e, asks := r.outcomes()
		ends = append(ends, e...)
		for _, a := range asks {
			r.backend.Tell(message.ServerRequestResult{Key: a.Key, Result: []byte(answer)})
		}
		return len(ends) > 0
	})
	return strings.Join(ends, "\n")
}

// The era of the official SDK's server is detected in both of its modes and over both transports. Its HTTP servers with
// sessions answer server/discover although they are legacy. On stdio, a process that has answered server/discover refuses
// initialize.
func TestGoSDKServers(t *testing.T) {
	serve := func(stateless bool) func(t *testing.T) (string, func(upstream.Sink) upstream.Link) {
		return func(t *testing.T) (string, func(upstream.Sink) upstream.Link) {
			server := goSDKServer()
			h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			return "http", func(sink upstream.Sink) upstream.Link {
				return remote.OpenHTTP(remote.Options{URL: web.URL, MaxMessageBytes: 1 << 20}, sink)
			}
		}
	}
	process := func(t *testing.T) (string, func(upstream.Sink) upstream.Link) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return "stdio", func(sink upstream.Sink) upstream.Link {
			return process.Open(process.Options{Command: self, Env: append(os.Environ(), serverVariable+"=1"), MaxMessageBytes: 1 << 20}, sink)
		}
	}
	tests := []struct {
		name, protocol string
		open           func(*testing.T) (string, func(upstream.Sink) upstream.Link)
		known          message.KnownEra
		version        string
		opened         uint64
	}{
		{"stdio", "auto", process, message.KnownEra{}, protocol.Version20251125, 1},
		{"stdio, forced to be modern", "modern", process, message.KnownEra{}, protocol.Version20260728, 1},
		{"stdio, forced to be legacy", "2025-06-18", process, message.KnownEra{}, protocol.Version20250618, 1},
		{"http with sessions", "auto", serve(false), message.KnownEra{}, protocol.Version20251125, 1},
		{"http with sessions, remembered modern", "auto", serve(false), message.KnownEra{Era: protocol.EraModern}, protocol.Version20251125, 1},
		{"http without sessions", "auto", serve(true), message.KnownEra{}, protocol.Version20260728, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kind, open := test.open(t)
			c := cfg()
			c.Protocol = test.protocol
			r := &facingSDK{bench: startOn(t, Options{Server: c, Open: open, Transport: kind, Catalog: true, Known: test.known, Announce: message.CanAll})}
			defer r.stop()
			eventually(t, "ready", func() bool { r.look(); return r.last.Phase == message.Ready })
			if r.last.Info.Version != test.version || r.last.Incarnation != test.opened || r.tools != 3 {
				t.Fatalf("speaks %s after %d connections, %d tools; want %s after %d, 3 tools", r.last.Info.Version, r.last.Incarnation, r.tools, test.version, test.opened)
			}
			if protocol.IsModern(test.version) {
				r.questions(t)
			}
			if protocol.IsModern(test.version) && kind == "http" {
				if got := r.call(t, 3, "header", `{"region":"Österreich"}`, ""); !strings.Contains(got, "=?base64?") {
					t.Errorf("header: %s", got)
				}
			}
			r.changes(t)
		})
	}
}

func (r *facingSDK) questions(t *testing.T) {
	t.Helper()
	if got := r.call(t, 1, "ask", "{}", `{"action":"accept","content":{"name":"Ann","colour":"red"}}`); !strings.Contains(got, "red, name;colour;") || strings.Contains(got, "resultType") {
		t.Errorf("two rounds: %s", got)
	}
}

// changes subscribes, makes the server change a resource and its tools, and waits for both notifications.
func (r *facingSDK) changes(t *testing.T) {
	t.Helper()
	r.backend.Tell(message.Query{Key: 7, Method: protocol.MethodResourcesSubscribe, Params: []byte(`{"uri":"file:///a"}`)})
	eventually(t, "the subscription", func() bool {
		r.look()
		for _, msg := range r.other {
			if q, ok := msg.(message.QueryResult); ok {
				return q.Frame.Kind == protocol.KindResult
			}
		}
		return false
	})
	r.call(t, 8, "grow", "{}", "")
	updated := false
	eventually(t, "the changes", func() bool {
		r.look()
		for _, msg := range r.other {
			_, is := msg.(message.ResourceChanged)
			updated = updated || is
		}
		return updated && r.tools == 4
	})
}

// A process may be unusable for the modern era after initialize, so a new one is started. Here the results of the first
// process are replaced with errors, so that it gets both initialize and server/discover.
func TestProcessUnusableAfterInitialize(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	open := func(sink upstream.Sink) upstream.Link {
		opened++
		first := opened == 1
		return process.Open(process.Options{Command: self, Env: append(os.Environ(), serverVariable+"=1"), MaxMessageBytes: 1 << 20},
			func(ctx context.Context, e upstream.Event) error {
				if received, ok := e.(upstream.Received); first && ok && received.Frame.Kind == protocol.KindResult {
					var f protocol.Frame
					if err := f.Parse(protocol.AppendError(nil, received.Frame.IDBytes(), -32602, "a middleman that does not understand", nil)); err != nil {
						return err
					}
					received.Frame = f
					e = received
				}
				return sink(ctx, e)
			})
	}
	r := &facingSDK{bench: startOn(t, Options{Server: auto(), Open: open, Transport: "stdio", Catalog: true})}
	defer r.stop()
	eventually(t, "ready", func() bool { r.look(); return r.last.Phase == message.Ready })
	if r.last.Info.Version != protocol.Version20260728 || r.last.Known.Era != protocol.EraModern || opened != 2 {
		t.Errorf("speaks %s, era %s, after %d processes; want modern after 2", r.last.Info.Version, r.last.Known.Era, opened)
	}
}

// go-sdk repeats an unknown method in its error. A method with "session" in its name must not be taken for a lost session,
// which would end another client's call.
func TestMethodWithSessionInItsName(t *testing.T) {
	server, called, release := goSDKServer(), make(chan struct{}), make(chan struct{})
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(called)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()
	r := &facingSDK{bench: startOn(t, Options{Server: cfg(), Transport: "http", Catalog: true, Open: func(sink upstream.Sink) upstream.Link {
		return remote.OpenHTTP(remote.Options{URL: web.URL, MaxMessageBytes: 1 << 20}, sink)
	}})}
	defer r.stop()
	eventually(t, "ready", func() bool { r.look(); return r.last.Phase == message.Ready })
	send := func(seq uint64, frame string) {
		q := request(t, frame)
		q.Target, q.Item, q.Original = rawjson.Span{}, "wait", nil
		r.backend.Tell(message.Send{Call: message.CallRef{Holder: r.holder.Reference, Seq: seq}, Request: q})
	}
	var ends []string
	wait := func(n int) {
		eventually(t, "an end", func() bool {
			e, _ := r.outcomes()
			ends = append(ends, e...)
			return len(ends) == n
		})
	}
	send(1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{}}}`)
	<-called
	send(2, `{"jsonrpc":"2.0","id":2,"method":"sessions/list","params":{"x":1}}`)
	wait(1)
	close(release)
	wait(2)
	if !strings.HasPrefix(ends[0], "2 METHOD_NOT_FOUND") || !strings.HasPrefix(ends[1], "1 {") || !strings.Contains(ends[1], "waited") {
		t.Errorf("ends %q, want the second call refused and the first one answered", ends)
	}
	if r.look(); r.last.Incarnation != 1 {
		t.Errorf("%d connections, want 1", r.last.Incarnation)
	}
}
