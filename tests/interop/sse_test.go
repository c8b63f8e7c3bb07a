package interop

import (
	"bytes"
	"context"
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
)

// TestHTTPAndSSE: a server of the first version's transport, whether the configuration says so or not, has the whole
// conversation, and is back after it was killed and started again. S4.3.1
func TestHTTPAndSSE(t *testing.T) {
	port := freePort(t)
	stop := everything(t, "sse", port)
	url := "http://127.0.0.1:" + port + "/sse"
	g := serve(t, map[string]any{
		"told":  map[string]any{"url": url, "type": "sse", "isolation": "shared"},
		"found": map[string]any{"url": url, "isolation": "shared"},
	})
	for _, prefix := range []string{"told", "found"} {
		p, err := mcpGoOverHTTP(t.Context(), g.url, manner{version: legacyVersion})
		hold(t, p, err, prefix, "mcp-go-sse")
	}
	waitFor(t, 10*time.Second, "no call in flight: cancelled calls must end at the server too", func() (bool, string) {
		return noneInFlight(t, g)
	})
	p, err := mcpGoOverHTTP(t.Context(), g.url, manner{version: legacyVersion})
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
		waitFor(t, 60*time.Second, "the restarted server to be back", func() (bool, string) {
			b := backend(t, g, prefix)
			return b.State == "ready" && b.Incarnation > before[prefix], b.State + " " + b.Reason
		})
		pieces, err := p.call(t.Context(), prefix+"_echo", map[string]any{"message": "again"}, nil)
		if err != nil || text(pieces) != "Echo: again" {
			t.Errorf("%s: %q, %v", prefix, text(pieces), err)
		}
	}
}

// TestSSEServerAsksWithOurIDs: requests of the server come on the same stream as answers and have the same numbers as
// ours. None is taken for an answer, and each is answered.
func TestSSEServerAsksWithOurIDs(t *testing.T) {
	s := server.NewMCPServer("pings", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("wait", mcp.WithString("say")), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if token := r.Params.Meta; token != nil && token.ProgressToken != nil {
				_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": token.ProgressToken, "progress": i + 1})
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return mcp.NewToolResultText("said " + r.GetString("say", "")), nil
	})
	//lint:ignore SA1019 the transport of 2024-11-05 is what is tried here
	sse := server.NewSSEServer(s, server.WithKeepAliveInterval(2*time.Millisecond))
	var pongs atomic.Int64
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			if !bytes.Contains(body, []byte(`"method"`)) && bytes.Contains(body, []byte(`"result":{}`)) {
				pongs.Add(1)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		sse.ServeHTTP(w, r)
	}))
	defer listener.Close()
	defer listener.CloseClientConnections()
	g := serve(t, map[string]any{"pings": map[string]any{"url": listener.URL + "/sse", "isolation": "shared"}})
	p, err := mcpGoOverHTTP(t.Context(), g.url, manner{version: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if tools, err := p.list(t.Context(), "tools"); err != nil || !slices.Equal(tools, []string{"pings_wait"}) {
		t.Errorf("tools %q, %v", tools, err)
	}
	var progress []float64
	if _, err := p.call(t.Context(), "pings_wait", nil, func(v float64) { progress = append(progress, v) }); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", progress, err)
	}
	var calls sync.WaitGroup
	for n := range 8 {
		calls.Go(func() {
			for i := range 25 {
				say := fmt.Sprint(n, "/", i)
				pieces, err := p.call(t.Context(), "pings_wait", map[string]any{"say": say}, nil)
				if err != nil || text(pieces) != "said "+say {
					t.Errorf("%s: %q, %v", say, text(pieces), err)
				}
			}
		})
	}
	calls.Wait()
	if b := backend(t, g, "pings"); b.Incarnation != 1 {
		t.Errorf("connected %d times", b.Incarnation)
	}
	if pongs.Load() < 50 {
		t.Errorf("%d pings answered", pongs.Load())
	}
}
