//go:build !race

package actors

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// The guards count the allocations of the whole gateway, since times are not comparable on a busy machine. A limit for allocations
// is the measured value, which was the same at loads from 2 to 25, plus one. A limit for bytes is the highest measured value plus
// one twentieth. Measured with go1.26.8 on linux/amd64. Lower a limit after saving allocations; if you raise one, explain why in
// the commit. Guards of single packages: protocol/bench_test.go (scan, splice), protocol/downstream/alloc_test.go (a POST),
// protocol/upstream/process and remote (a link).

// allocations returns the allocations per run, of all goroutines. It is the smallest of three measurements. The garbage
// collector is off meanwhile, because it would empty pools.
func allocations(runs int, run func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := testing.AllocsPerRun(runs, run)
	for range 2 {
		least = min(least, testing.AllocsPerRun(runs, run))
	}
	return least
}

const guardResult = `{"content":[{"type":"text","text":"some text that makes it about two hundred bytes long, which is typical of results"}]}`

// One call of 200 bytes over HTTP through every actor, by the client's and the server's era. The server is a pipe in this
// process, and the numbers include its allocations.
func TestGuardCalls(t *testing.T) {
	legacy := &actortest.Server{Tools: []string{"tool500"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(guardResult)))
	}}
	modern := &actortest.Modern{Tools: []string{"tool500"}, Handle: func(g actortest.Message) { g.Result(`{"resultType":"complete",` + guardResult[1:]) }}
	modernCall := strings.Replace(benchCall, `"params":{`, fmt.Sprintf(`"params":{`+modernMeta+`,`, "{}"), 1)
	for _, cell := range []struct {
		name   string
		modern bool
		open   func(upstream.Sink) upstream.Link
		limit  float64
	}{
		{"legacy client, legacy server", false, legacy.Open, 34},
		{"legacy client, modern server", false, modern.Open, 33},
		{"modern client, legacy server", true, legacy.Open, 40},
		{"modern client, modern server", true, modern.Open, 41},
	} {
		t.Run(cell.name, func(t *testing.T) {
			c := connect(t, serveOnLoopback(t, cell.open, func(*config.Config) {}), "/mcp")
			if cell.modern {
				c.request = c.post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: one_tool500\r\n", modernCall)
			} else {
				c.begin()
				c.request = c.post("MCP-Protocol-Version: 2025-11-25\r\n", benchCall)
			}
			if answer := c.call(); !bytes.Contains(answer, []byte("some text")) {
				t.Fatalf("%s", answer)
			}
			guard(t, allocations(1000, func() { c.call() }), cell.limit, "allocations per call")
		})
	}
}

// A list of 1000 tools is written from the snapshot. Its cost does not grow with its length.
func TestGuardList(t *testing.T) {
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = fmt.Sprintf("tool%d", i)
	}
	fake := &actortest.Server{Tools: tools}
	c := connect(t, serveOnLoopback(t, fake.Open, func(c *config.Config) { c.MetaTools = "false" }), "/mcp")
	c.begin()
	c.request = c.post("", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	if answer := c.call(); !bytes.Contains(answer, []byte("one_tool999")) {
		t.Fatalf("%.300s", answer)
	}
	guard(t, allocations(200, func() { c.call() }), 10, "allocations per list")
}

// The cost per stream of a resource update for a hundred subscribed sessions.
func TestGuardFanOut(t *testing.T) {
	const sessions = 100
	fake := newSubscriptionServer(false)
	at := serveOnLoopback(t, fake.Open, func(*config.Config) {})
	streams := make([]*benchConn, sessions)
	for i := range streams {
		c := connect(t, at, "/mcp")
		c.begin()
		c.request = c.post("", `{"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"resource://one/file:///a"}}`)
		if answer := c.call(); !bytes.Contains(answer, []byte(`"result"`)) {
			t.Fatalf("%s", answer)
		}
		streams[i] = connect(t, at, "/mcp")
		streams[i].listen(c.session)
	}
	frame := []byte(updatedFrame("file:///a"))
	update := func() {
		_ = fake.Last().Send(frame)
		for _, s := range streams {
			s.awaitEvent("resources/updated")
		}
	}
	update()
	guard(t, allocations(50, update)/sessions, 11.5, "allocations per stream")
}

// The memory of a session that only keeps its stream open: heap and stacks after a garbage collection. The number includes the
// client's end of the connection, about half a KiB.
func TestGuardSessionBytes(t *testing.T) {
	const sessions = 1000 // so many because the HTTP server's workers vary by some 400 KiB
	fake := &actortest.Server{Tools: []string{"t"}}
	at := serveOnLoopback(t, fake.Open, func(*config.Config) {})
	c := connect(t, at, "/mcp")
	buffer := make([]byte, 4096)
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	idle := func() {
		c.begin()
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, listenRequest, at, c.session)
		if n, err := conn.Read(buffer); err != nil || !bytes.HasPrefix(buffer[:n], []byte("HTTP/1.1 200")) {
			t.Fatalf("%s: %v", buffer[:n], err)
		}
	}
	for range 20 { // allocate everything that is shared
		idle()
	}
	before := memoryInUse()
	for range sessions {
		idle()
	}
	guard(t, (memoryInUse()-before)/sessions, 9700, "bytes per session")
}

const listenRequest = "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"

// memoryInUse returns the bytes of heap and stacks in use after a garbage collection. It waits for short-lived goroutines to end:
// until three measurements in a row have the same number of goroutines and differ by at most a thousandth in bytes.
func memoryInUse() float64 {
	same, bytes, goroutines := 0, 0.0, 0
	for polls := 0; same < 3 && polls < 300; polls++ {
		time.Sleep(20 * time.Millisecond)
		for range 3 { // the second and third run free memory held by finalizers and pools
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now, n := float64(m.HeapAlloc+m.StackInuse), runtime.NumGoroutine()
		if same++; n != goroutines || math.Abs(now-bytes) > bytes/1000 {
			same = 0
		}
		bytes, goroutines = now, n
	}
	return bytes
}

// listen turns the connection into a stream of a session.
func (c *benchConn) listen(session string) {
	if _, err := fmt.Fprintf(c.conn, listenRequest, c.at, session); err != nil {
		c.tb.Fatal(err)
	}
	c.head()
}

// awaitEvent reads the stream until an event contains that text.
func (c *benchConn) awaitEvent(what string) {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			c.tb.Fatal(err)
		}
		if bytes.HasPrefix(line, []byte("data:")) && bytes.Contains(line, []byte(what)) {
			return
		}
	}
}

// guard fails the test if got is above limit.
func guard(t *testing.T, got, limit float64, what string) {
	t.Helper()
	t.Logf("%.2f %s", got, what)
	if got > limit {
		t.Errorf("%.2f %s, want at most %.2f; see the comment at the top of this file", got, what, limit)
	}
}
