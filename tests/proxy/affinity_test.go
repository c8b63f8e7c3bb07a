//go:build linux

package proxy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

const affinityConfig = `
listen: 127.0.0.1:0
metaTools: false
mcpServers:
  nodes: {url: %q, type: %s, protocol: legacy, headers: {Accept-Encoding: gzip}}
`

// replica starts a server with a tool that returns the replica's name. Its sessions are unknown to other replicas. refused counts responses with
// status 404, with which a server refuses an unknown session.
func replica(t *testing.T, name, transport string, refused *atomic.Int64) (address string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "nodes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "which"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
	})
	get := func(*http.Request) *mcp.Server { return server }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(get, nil)
	if transport == "sse" {
		handler = mcp.NewSSEHandler(get, nil)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watched := &statusWriter{ResponseWriter: w}
		handler.ServeHTTP(watched, r)
		if watched.status == http.StatusNotFound {
			refused.Add(1)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return strings.TrimPrefix(web.URL, "http://")
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// With a server of two replicas behind a load balancer with cookie affinity, every call is answered by the replica that opened the session.
// If nginx is the balancer, it also compresses documents and event streams.
func TestServerBehindABalancer(t *testing.T) {
	for _, transport := range []string{"http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			p := &place{t: t, dir: gatetest.ShortDir(t)}
			var err error
			if p.binary, err = gatetest.Build(p.dir); err != nil {
				t.Fatal(err)
			}
			var refused atomic.Int64
			first, second := replica(t, "first", transport, &refused), replica(t, "second", transport, &refused)
			port := gatetest.FreePort(t)
			balancer := p.balancer(port, first, second)
			balancer.Stderr = os.Stderr
			if err := balancer.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = balancer.Process.Signal(os.Interrupt)
				_ = balancer.Wait()
			})
			p.write("goblin.yaml", fmt.Sprintf(affinityConfig, "http://127.0.0.1:"+port+"/", transport))
			gatetest.WaitFor(t, "the balancer", func() (bool, string) {
				r, err := http.Head("http://127.0.0.1:" + port)
				if err != nil {
					return false, err.Error()
				}
				return r.Body.Close() == nil, r.Status
			})
			refused.Store(0)
			replies := map[string]int{}
			for range 4 { // each is a separate gateway with its own session
				replies[p.run("call", "nodes_which", "--config", filepath.Join(p.dir, "goblin.yaml"))]++
			}
			if n := refused.Load(); n > 0 {
				t.Errorf("%d requests reached the other replica", n)
			}
			if replies["first"]+replies["second"] != 4 {
				t.Errorf("replies: %v", replies)
			}
		})
	}
}
