//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Invalid messages are refused with the right error code, HTTP status and id; the id is null if it cannot be read.
func TestInvalidMessages(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for _, x := range []struct {
		body   string
		status int
		code   int
		id     string
	}{
		{"", 400, -32700, "null"},
		{"{", 400, -32700, "null"},
		{`{"jsonrpc":"2.0"`, 400, -32700, "null"},
		{"hello", 400, -32700, "null"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 400, -32700, "null"},
		{"null", 400, -32600, "null"},
		{"42", 400, -32600, "null"},
		{"[]", 400, -32600, "null"},
		{"{}", 400, -32600, "null"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, -32600, "1"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"\u006dethod":"ping"}`, 400, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":5}`, 400, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, 400, -32600, "null"},
		{call(strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)), 400, -32600, "1"},
		{call(strings.Repeat("[", 1_000_000)), 400, -32600, "1"},
		{call(`{"name":5}`), 200, -32602, "1"},
		{call(`{}`), 200, -32602, "1"},
		{call(`{"name":"good_echo","name":"x"}`), 200, -32602, "1"},
		{call(`{"name":"good_echo","arguments":[]}`), 200, -32602, "1"},
		{call(`{"name":"good_echo","_meta":5}`), 200, -32602, "1"},
		{call(`{"name":"absent_echo"}`), 200, -32602, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"garbage"}}`, 200, -32602, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://absent"}}`, 200, -32002, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://absent"}}`, 200, -32002, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, 200, -32602, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, 200, -32602, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, 400, -32600, "1"},
	} {
		a := c.post(t, x.body)
		code, _ := a.fault()
		if a.status != x.status || code != x.code || !strings.HasPrefix(a.last(), `{"jsonrpc":"2.0","id":`+x.id+`,`) {
			t.Errorf("%.100q: %s, want %d, %d with id %s", x.body, a, x.status, x.code, x.id)
		}
	}
	c.works(t, "good")
}

// A body over the limit gets a 413, whether or not its length was announced. The gateway's memory does not grow by more than 200 MiB.
func TestTooLargeBodies(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	const size = 65 << 20
	before := g.resident()
	for _, told := range []bool{true, false} {
		var body io.Reader = io.LimitReader(spaces{}, size)
		if told {
			body = strings.NewReader(strings.Repeat(" ", size))
		}
		a, err := c.try(context.Background(), body, nil)
		if err != nil || a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.last(), "MESSAGE_TOO_LARGE") {
			t.Errorf("65 MiB, length announced %v: %s %v, want 413", told, a, err)
		}
		c.works(t, "good")
	}
	g.fits(t, before+200<<20)
}

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Connections that send nothing, half a request or something other than HTTP affect no other client. They end when their peer closes them.
func TestConnectionsWithoutRequests(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	before := g.descriptors()
	head := "POST /mcp HTTP/1.1\r\nHost: " + g.host + "\r\nContent-Type: application/json\r\n"
	var open []net.Conn
	for range 50 {
		for _, text := range []string{"", "\x16\x03\x01\x02\x00\x01\x00\x01", "POST", head, head + "Content-Length: 67108864\r\n\r\n{",
			head + "Transfer-Encoding: chunked\r\n\r\n5\r\n", "GET /mcp HTTP/1.1\r\nHost: " + g.host + "\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + c.session + "\r\n\r\n"} {
			conn, err := net.Dial("tcp", g.host)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, conn)
			_, _ = io.WriteString(conn, text)
		}
	}
	began := time.Now()
	c.works(t, "good")
	if took := time.Since(began); took > healthyTime {
		t.Errorf("a healthy call took %s", took)
	}
	g.fits(t, 150<<20)
	for _, conn := range open {
		_ = conn.Close()
	}
	waitFor(t, "the connections to be gone", func() (bool, string) {
		n := g.descriptors()
		return n <= before+5, fmt.Sprintf("%d descriptors, before %d", n, before)
	})
}
