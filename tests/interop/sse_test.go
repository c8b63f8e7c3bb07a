package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHTTPAndSSE holds the whole conversation with an HTTP+SSE server twice: with the transport configured and with it
// detected. The gateway must reconnect after the server is killed and restarted. S4.3.1
func TestHTTPAndSSE(t *testing.T) {
	port := freePort(t)
	stop := everything(t, "sse", port)
	url := "http://127.0.0.1:" + port + "/sse"
	g := serve(t, map[string]any{
		"told":  map[string]any{"url": url, "type": "sse", "isolation": "shared", "run": "a"},
		"found": map[string]any{"url": url, "isolation": "shared", "run": "a"},
	})
	for _, prefix := range []string{"told", "found"} {
		p, err := mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
		hold(t, p, err, prefix, "mcp-go-sse")
	}
	waitFor(t, "no call in flight: canceled calls must end at the server too", func() (bool, string) {
		return noneInFlight(t, g)
	})
	p, err := mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	before := map[string]uint64{}
	for _, prefix := range []string{"told", "found"} {
		before[prefix] = backend(t, g, prefix).Incarnation
	}
	stop()
	everything(t, "sse", port)
	for _, prefix := range []string{"told", "found"} {
		waitFor(t, "the restarted server to be back", func() (bool, string) {
			b := backend(t, g, prefix)
			return b.State == "ready" && b.Incarnation > before[prefix], b.State + " " + b.Reason
		})
		pieces, err := p.call(t.Context(), prefix+"_echo", map[string]any{"message": "again"}, nil)
		if err != nil || text(pieces) != "Echo: again" {
			t.Errorf("%s_echo after the restart: %q, %v", prefix, text(pieces), err)
		}
	}
}

// sseStream is a server's response stream. It is safe for concurrent writes.
type sseStream struct {
	http.ResponseWriter
	mu *sync.Mutex
}

func (s sseStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ResponseWriter.Write(p)
}

func (s sseStream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ResponseWriter.(http.Flusher).Flush()
}

// asksBack makes an HTTP+SSE server send a ping whenever it receives a request. The ping has the id of that request.
// answered counts the answered pings.
func asksBack(server http.Handler, answered *atomic.Int64) http.HandlerFunc {
	var (
		mu     sync.Mutex
		stream sseStream
	)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			own := sseStream{w, new(sync.Mutex)}
			mu.Lock()
			stream = own
			mu.Unlock()
			server.ServeHTTP(own, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var frame struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		switch err := json.Unmarshal(body, &frame); {
		case err != nil, r.URL.Path != "/message": // the gateway tries Streamable HTTP first
		case frame.Method != "" && frame.ID != nil:
			mu.Lock()
			fmt.Fprintf(stream, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n\n", frame.ID)
			stream.Flush()
			mu.Unlock()
		case string(frame.Result) == "{}":
			answered.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}
}

// TestSSEServerReusesGatewayIDs: a server request on the answer stream has the id of a pending call of
// the gateway. It must not be mistaken for the answer, and must be answered.
func TestSSEServerReusesGatewayIDs(t *testing.T) {
	s := server.NewMCPServer("pings", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("wait", mcp.WithString("say")), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if meta := r.Params.Meta; meta != nil && meta.ProgressToken != nil {
				_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": meta.ProgressToken, "progress": i + 1})
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return mcp.NewToolResultText("said " + r.GetString("say", "")), nil
	})
	var pongs atomic.Int64
	listener := httptest.NewServer(asksBack(server.NewSSEServer(s), &pongs))
	defer listener.Close()
	defer listener.CloseClientConnections()
	g := serve(t, map[string]any{"pings": map[string]any{"url": listener.URL + "/sse", "isolation": "shared", "run": "a"}})
	p, err := mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if tools, err := p.list(t.Context(), "tools"); err != nil || !slices.Contains(tools, "pings_wait") {
		t.Errorf("tools %q, %v", tools, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), talkTime)
	defer cancel()
	progress := newReports()
	if _, err := p.call(ctx, "pings_wait", nil, progress.add); err != nil {
		t.Errorf("call with progress: %v", err)
	}
	if all, err := progress.wait(ctx, 3); err != nil || !slices.Equal(all, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", all, err)
	}
	const callers, each = 8, 25
	var calls sync.WaitGroup
	for n := range callers {
		calls.Go(func() {
			for i := range each {
				say := fmt.Sprint(n, "/", i)
				pieces, err := p.call(t.Context(), "pings_wait", map[string]any{"say": say}, nil)
				if err != nil || text(pieces) != "said "+say {
					t.Errorf("call with %s: got %q, %v, want it repeated", say, text(pieces), err)
				}
			}
		})
	}
	calls.Wait()
	if b := backend(t, g, "pings"); b.Incarnation != 1 {
		t.Errorf("the gateway connected %d times, want once", b.Incarnation)
	}
	const asked = 1 + 1 + 1 + callers*each // initialize, tools/list, the call with progress and the others
	waitFor(t, "every ping to be answered", func() (bool, string) {
		return pongs.Load() == asked, fmt.Sprintf("%d of %d", pongs.Load(), asked)
	})
}

// TestGoSDKOverSSE: the official SDK's server sends a request to its client during a call.
func TestGoSDKOverSSE(t *testing.T) {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "asks", Version: "1"}, nil)
	gosdk.AddTool(s, &gosdk.Tool{Name: "ask"}, func(ctx context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		for range 10 {
			if err := r.Session.Ping(ctx, nil); err != nil {
				return nil, nil, err
			}
		}
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "asked"}}}, nil, nil
	})
	listener := httptest.NewServer(gosdk.NewSSEHandler(func(*http.Request) *gosdk.Server { return s }, nil))
	defer listener.Close()
	defer listener.CloseClientConnections()
	g := serve(t, map[string]any{"asks": map[string]any{"url": listener.URL}, "told": map[string]any{"url": listener.URL, "type": "sse"}})
	p, err := mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, tool := range []string{"asks_ask", "told_ask"} {
		if pieces, err := p.call(t.Context(), tool, nil, nil); err != nil || text(pieces) != "asked" {
			t.Errorf("%s: got %q, %v, want asked", tool, text(pieces), err)
		}
	}
}
