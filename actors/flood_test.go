package actors

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream/pipe"
	"goblin-actor/tests/sim/pipeclient"
)

// flood counts and stops the notifications of its servers. Their tool flood never answers and sends notifications as fast as the
// gateway accepts them.
type flood struct {
	sent    atomic.Int64
	stopped atomic.Bool
}

// server returns a server with the tools ask and flood, and 500 resources. The function line returns the n-th notification for a
// call with the given progress token.
func (f *flood) server(line func(token string, n int) string) *actortest.Server {
	server := &actortest.Server{Tools: []string{"ask", "flood"}}
	for n := range 500 {
		server.Resources = append(server.Resources, fmt.Sprintf("file:///dir/%d", n))
	}
	server.Handle = func(p *pipe.Peer, frame protocol.Frame, id []byte) {
		var params protocol.Params
		_ = params.Scan(&frame)
		if name, _ := rawjson.Unquote(params.Name.Of(frame.Raw)); name != "flood" {
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
			return
		}
		token := string(params.ProgressToken.Of(frame.Raw))
		go func() {
			for n := 1; !f.stopped.Load() && p.Send([]byte(line(token, n))) == nil; n++ {
				f.sent.Add(1)
			}
		}()
	}
	return server
}

// maxDepth polls the mailboxes until n notifications have been sent, stops the flood, and returns the longest queue seen and its actor.
func (f *flood) maxDepth(t *testing.T, g *Gateway, n int64) (name string, depth int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); f.sent.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d messages were accepted", f.sent.Load(), n)
		}
		for _, a := range g.system.Actors() {
			if a.Depth > depth {
				name, depth = a.Name, a.Depth
			}
		}
	}
	f.stopped.Store(true)
	return name, depth
}

// depthLimit is the maximum number of messages that may wait at an actor: those of one connection, whose reader stops when the mailbox
// is full, and a few more.
const depthLimit = 2048

// startCall sends a modern call with a progress token and discards the response.
func (w *httpHarness) startCall(name string) {
	body := strings.Replace(modern(7, "tools/call", "{}", fmt.Sprintf(`,"name":%q,"arguments":{}`, name)), `"_meta":{`, `"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug",`, 1)
	r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/mcp", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name} {
		r.Header.Set(k, v)
	}
	go func() {
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
}

// Two servers that send progress or log messages faster than the client reads them do not fill a mailbox.
func TestFloodOfProgress(t *testing.T) {
	for name, line := range map[string]func(string, int) string{
		"progress": func(token string, n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"%050d"}}`, token, n, n)
		},
		"log messages": func(_ string, n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%050d"}}`, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f flood
			w := startHTTP(t, map[string]*actortest.Server{"one": f.server(line), "two": f.server(line)}, nil)
			for _, tool := range []string{"one_flood", "two_flood"} {
				w.gateway.nextStateless.Store(0) // both use the same stateless session
				w.startCall(tool)
			}
			if at, depth := f.maxDepth(t, w.gateway, 200_000); depth > depthLimit {
				t.Errorf("%d messages waited at %s", depth, at)
			}
		})
	}
}

// A server that endlessly sends updates, of subscribed resources and of invented sub-resources, does not fill a mailbox. Calls are
// still served.
func TestFloodOfUpdates(t *testing.T) {
	for name, uri := range map[string]func(n int) string{
		"one":      func(int) string { return "file:///dir/7" },
		"each":     func(n int) string { return fmt.Sprintf("file:///dir/%d", n%500) },
		"invented": func(n int) string { return fmt.Sprintf("file:///dir/%d/%d", n%500, n) },
	} {
		t.Run(name, func(t *testing.T) {
			var f flood
			w := startHTTP(t, map[string]*actortest.Server{"one": f.server(func(_ string, n int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri(n))
			})}, nil)
			session := w.open("/mcp")
			w.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session)
			for n := range 500 {
				r := w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///dir/%d"}}`, n+10, n), "Mcp-Session-Id", session)
				if !strings.Contains(r.body, `"result"`) {
					t.Fatalf("subscribe: %s", r.body)
				}
			}
			stream, _ := w.listen("/mcp", "Mcp-Session-Id", session)
			go func() { _, _ = io.Copy(io.Discard, stream.lines) }()
			w.startCall("one_flood")
			for began := time.Now(); f.sent.Load() < 10_000 && time.Since(began) < 10*time.Second; {
				time.Sleep(time.Millisecond)
			}
			r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`, "Mcp-Session-Id", session)
			if !strings.Contains(r.body, `"result"`) {
				t.Errorf("a call during the flood: %s", r.body)
			}
			if at, depth := f.maxDepth(t, w.gateway, 100_000); depth > depthLimit {
				t.Errorf("%d messages waited at %s", depth, at)
			}
		})
	}
}

// A client with a single request does not wait behind all requests of a client that has sent many before.
func TestGreedyClientDoesNotStarveOthers(t *testing.T) {
	const greedy = 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stateless session
	server := &actortest.Server{Tools: []string{"ask"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
		c.Servers[0].MaxConcurrent, c.Servers[0].Queue.Size = 2*greedy, 2*greedy
	})
	release := make(chan struct{})
	session, _ := w.gateway.statelessSession(0)
	session.Tell(message.Inspect{Reply: func(any) { <-release }}) // keeps it busy until all requests are queued
	client := &pipeclient.Client{Handler: w.gateway.Front(), Budget: w.gateway.Budget()}
	origin := downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:40000", Version: "2026-07-28", Header: http.Header{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"one_ask"}}}
	ask := func(name string) { // returns once the request is queued
		body := modern(7, "tools/call", "{}", fmt.Sprintf(`,"name":"one_ask","arguments":{"who":%q}`, name))
		body = strings.Replace(body, `"_meta":{`, fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},`, name), 1)
		if _, refused := client.Post([]byte(body), origin); refused != nil {
			t.Errorf("%s: %d %s", name, refused.Status, refused.Frame)
		}
	}
	for range greedy {
		ask("greedy")
	}
	ask("modest")
	close(release)
	w.eventually("all calls reach the server", func() bool { return len(server.Received("tools/call")) == greedy+1 })
	at := slices.IndexFunc(server.Received("tools/call"), func(f protocol.Frame) bool { return strings.Contains(string(f.Raw), `"who":"modest"`) })
	if at < 0 || at > greedy/4 {
		t.Errorf("the single request was served as number %d of %d", at+1, greedy+1)
	}
}
