//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// modernFrame returns a tools/call of a modern client whose name is who. The call requests progress.
func modernFrame(who, server, do string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/logLevel":"debug","progressToken":"p"},"name":"%s_echo","arguments":{"do":%q,"n":%d}}}`, who, server, do, n)
}

// modernCall sends a request as a modern client. The caller reads the answer.
func (g *gateway) modernCall(who, server, do string, n int) (io.ReadCloser, error) {
	r, err := http.NewRequest("POST", g.url, strings.NewReader(modernFrame(who, server, do, n)))
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": server + "_echo"} {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// asks calls a server's tool as a modern client and returns the text of the response.
func (g *gateway) asks(who, server string) (string, error) {
	body, err := g.modernCall(who, server, "", 0)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

// slowest returns the 99th percentile of the durations of n calls of a healthy server.
func (g *gateway) slowest(t *testing.T, n int) time.Duration {
	t.Helper()
	var took []time.Duration
	for range n {
		began := time.Now()
		if text, err := g.asks("modest", "good"); err != nil || !strings.Contains(text, `"done"`) {
			t.Errorf("a healthy call: %.300s %v", text, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)-1-n/100]
}

// Servers send progress, log messages and updates without pause, and a client sends requests without reading most
// answers. The gateway's memory stays within limits. In at least one of up to twenty attempts, the calls of another client
// to another server take at most twice as long as before, or 10 ms (99th percentile).
func TestFloods(t *testing.T) {
	const budget, slack, calls = 16 << 20, 128 << 20, 300
	loud := with(bad("none"), map[string]any{"maxConcurrent": 256})
	s := servers(map[string]any{"good": bad("none"), "loud": loud, "noisy": bad("none")})
	s["limits"] = map[string]any{"maxMessageBytes": "1MiB", "maxBufferedBytes": "16MiB"}
	g := serve(t, s)
	g.ready(t, "good", "loud", "noisy")
	g.slowest(t, 50) // warm up connections and pools

	floods := map[string]func(t *testing.T, over *atomic.Bool){
		"progress": func(_ *testing.T, over *atomic.Bool) { g.flooded(over, "flood-progress") },
		"logs":     func(_ *testing.T, over *atomic.Bool) { g.flooded(over, "flood-logs") },
		"updates": func(t *testing.T, over *atomic.Bool) {
			c := connect(t, g, "")
			c.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"loud+x://one"}}`)
			stream, leave := c.stream(t, "")
			defer leave()
			go func() { _, _ = io.Copy(io.Discard, stream.Body) }()
			g.flooded(over, "flood-updates")
		},
		"answers": func(t *testing.T, over *atomic.Bool) { g.unread(t, over) },
	}
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			for attempt := 1; ; attempt++ { // retried because other processes on this machine may interfere
				quiet := max(g.slowest(t, calls), 5*time.Millisecond)
				var over atomic.Bool
				var all sync.WaitGroup
				all.Go(func() { flood(t, &over) })
				enough := time.Now().Add(1500 * time.Millisecond)
				time.Sleep(200 * time.Millisecond)
				highest := 0
				all.Go(func() {
					for ; !over.Load(); time.Sleep(5 * time.Millisecond) {
						highest = max(highest, g.resident())
					}
				})
				busy := g.slowest(t, calls)
				time.Sleep(time.Until(enough))
				over.Store(true)
				all.Wait()
				t.Logf("p99 %v, in the flood %v; %d MiB resident", quiet, busy, highest>>20)
				if highest > budget+slack {
					t.Fatalf("%d MiB resident with a budget of %d", highest>>20, budget>>20)
				}
				if busy <= 2*quiet {
					return
				}
				if attempt == 20 {
					t.Fatalf("p99 of another client during the flood %v, without it %v", busy, quiet)
				}
			}
		})
	}
}

// flooded has two clients call two servers repeatedly until over is set. Each call floods its client with messages.
func (g *gateway) flooded(over *atomic.Bool, do string) {
	var all sync.WaitGroup
	for _, server := range []string{"loud", "noisy"} {
		for _, who := range []string{"greedy", "curious"} {
			all.Go(func() {
				for !over.Load() {
					body, err := g.modernCall(who, server, do, 500)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, body)
					body.Close()
				}
			})
		}
	}
	all.Wait()
}

// unread requests large answers in an HTTP+SSE session. It reads only 1 KiB of the session's stream after every 50
// requests.
func (g *gateway) unread(t *testing.T, over *atomic.Bool) {
	conn, err := net.Dial("tcp", g.host)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET /sse HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", g.host)
	in, endpoint := bufio.NewReaderSize(conn, 4<<10), ""
	for endpoint == "" {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Error(err)
			return
		}
		endpoint, _ = strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(endpoint, "/") {
			endpoint = ""
		}
	}
	post := func(body string) {
		resp, err := http.Post(g.base+endpoint, "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"slow","version":"1"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for id := 1; !over.Load() && id <= 3000; id++ {
		if id%50 == 0 {
			_, _ = in.Discard(1 << 10)
		}
		post(callFrame(id, "loud", "big", 200<<10))
	}
	for !over.Load() {
		time.Sleep(10 * time.Millisecond)
	}
}
