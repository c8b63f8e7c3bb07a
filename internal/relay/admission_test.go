package relay

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// connect opens a connection to home's listener for nodes, as another node does.
func (w *rig) connect() *client {
	w.t.Helper()
	config := tlsOf(w.t, w.secrets, "first")().Clone()
	config.ServerName = "home"
	c, err := tls.Dial("tcp", w.node, config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return &client{Conn: c, r: bufio.NewReader(c), t: w.t}
}

// The listener for nodes takes the principal and the client's address from the headers of a relayed request, and from
// nothing else. The public listener ignores these headers.
func TestAdmission(t *testing.T) {
	w := newRig(t, handlerFunc{post: func(x *downstream.Exchange) {
		x.Answer(resultOf(x, `"`+identity.IDOf(x.Origin.Principal)+" "+downstream.HostOf(x.Origin.Remote)+`"`))
	}}, nil)
	send := func(c *client, headers ...string) string {
		head, body, _ := c.send(post(call("x"), append(headers, accepts)...)).read()
		_, result, _ := strings.Cut(body, `"result":"`)
		return strings.Fields(head)[1] + " " + strings.TrimSuffix(result, `"}`)
	}
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{[]string{"Goblin-Node-Holder: local", "Goblin-Node-Client: 10.1.2.3"}, "200 local 10.1.2.3"},
		{[]string{"Goblin-Node-Holder: local", "Goblin-Node-Client: fe80::1%eth0"}, "200 local [fe80::1%eth0]"},
		{[]string{"goblin-node-holder:local"}, "200 local 127.0.0.1"},
		{[]string{"Goblin-Node-Holder: local", "X-Forwarded-For: 10.9.9.9", "Via: 1.1 x"}, "200 local 127.0.0.1"},
		{[]string{"Goblin-Node-Holder: key:ann@0000000000000001"}, "401 "},
		{[]string{"Goblin-Node-Holder: "}, "400 "},
		{nil, "400 "},
		{[]string{"Authorization: Bearer gba_x"}, "400 "},
		{[]string{"Goblin-Node-Holder: local", "Goblin-Node-Holder: local"}, "400 "},
		{[]string{"Goblin-Node-Holder: local", "Goblin-Node-Client: 10.1.2.3", "Goblin-Node-Client: 10.1.2.4"}, "400 "},
		{[]string{"Goblin-Node-Holder: local", "Goblin-Node-Client: 10.1.2.3:80"}, "400 "},
		{[]string{"Goblin-Node-Holder: local", "Origin: https://evil.example"}, "403 "},
	} {
		if got := send(w.connect(), c.headers...); got != c.want {
			t.Errorf("%q: %s, want %s", c.headers, got, c.want)
		}
		if got := send(dial(t, w.direct), c.headers...); got != "200 local 127.0.0.1" && !slices.ContainsFunc(c.headers, func(h string) bool { return strings.HasPrefix(h, "Origin") }) {
			t.Errorf("public listener, %q: %s", c.headers, got)
		}
	}
	for _, path := range []string{"/cluster/mcp", "/cluster/", "/healthz", "/login/x"} {
		head, _, _ := w.connect().send("GET " + path + " HTTP/1.1\r\nHost: home\r\nGoblin-Node-Holder: local\r\n\r\n").read()
		if status := strings.Fields(head)[1]; status != "404" && path != "/cluster/mcp" || status == "200" {
			t.Errorf("%s: %s", path, head)
		}
	}
}

// What another node receives: the client's protocol headers and body, who the client is, but not its credential.
func TestRelayedRequest(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	requests := make(chan string, 1)
	address := w.fakeHome(func(c *tls.Conn) {
		requests <- readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	w.aim(Target{Node: "home", Address: address})
	first := downstream.NewServer(passingHandler{w.relay}, downstream.Options{Budget: stream.NewBudget(0), TraceHeaders: true}, w.relay.o.Log)
	first.SetForwarded([]string{"X-Who", "Authorization", "Goblin-Node-Holder", "Mcp-Param-X", "Accept"})
	url := w.serve(first)
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for _, c := range []struct{ name, request, head, body string }{
		{"post", "POST /p/a/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nAccept: */*\r\nAuthorization: Bearer secret\r\nMcp-Session-Id: s1\r\n" +
			"MCP-Protocol-Version: 2025-06-18\r\nGoblin-Project: \r\nX-Who: ann\r\nX-Other: b\r\nCookie: c\r\nGoblin-Node-Holder: root\r\nGoblin-Node-Client: 1.2.3.4\r\n" +
			"X-Forwarded-For: 5.6.7.8\r\nTraceparent: 00-1-2-01\r\nTracestate: a=b\r\nIdempotency-Key: 7\r\nContent-Length: 2\r\n\r\n[]", `POST /p/a/mcp HTTP/1.1
Accept: application/json, text/event-stream
Authorization: Bearer secret
Content-Length: 2
Content-Type: application/json
Goblin-Node-Client: 127.0.0.1
Goblin-Node-Holder: local
Goblin-Project: 
Host: home
MCP-Protocol-Version: 2025-06-18
Mcp-Session-Id: s1
Traceparent: 00-1-2-01
Tracestate: a=b
X-Who: ann`, "[]"},
		{"modern", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n" +
			"Mcp-Name: a\r\nMcp-Param-X: 1\r\nGoblin-Project: p\r\nContent-Length: " + itoa(len(modern)) + "\r\n\r\n" + modern, `POST /mcp HTTP/1.1
Accept: application/json
Content-Length: ` + itoa(len(modern)) + `
Content-Type: application/json
Goblin-Node-Client: 127.0.0.1
Goblin-Node-Holder: local
Goblin-Project: p
Host: home
Mcp-Method: tools/call
Mcp-Name: a
Mcp-Param-X: 1
MCP-Protocol-Version: 2026-07-28`, modern},
		{"messages", "POST /messages?sessionId=a%20b%26&x=y HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]", `POST /messages?sessionId=a+b%26 HTTP/1.1
Accept: application/json, text/event-stream
Content-Length: 2
Content-Type: application/json
Goblin-Node-Client: 127.0.0.1
Goblin-Node-Holder: local
Host: home`, "[]"},
		{"stream", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: s1\r\nLast-Event-ID: e-1\r\n\r\n", `GET /mcp HTTP/1.1
Accept: text/event-stream
Goblin-Node-Client: 127.0.0.1
Goblin-Node-Holder: local
Host: home
Last-Event-ID: e-1
Mcp-Session-Id: s1`, ""},
		{"end", "DELETE /s/x/mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: s1\r\n\r\n", `DELETE /s/x/mcp HTTP/1.1
Accept: text/event-stream
Goblin-Node-Client: 127.0.0.1
Goblin-Node-Holder: local
Host: home
Mcp-Session-Id: s1`, ""},
	} {
		dial(t, url).send(c.request).read()
		head, body, _ := strings.Cut(<-requests, "\r\n\r\n")
		lines := strings.Split(head, "\r\n")
		slices.SortFunc(lines[1:], func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		if got := strings.Join(lines, "\n"); got != c.head || body != c.body {
			t.Errorf("%s: got\n%s\n\n%s\nwant\n%s\n\n%s", c.name, got, body, c.head, c.body)
		}
	}
	key := &identity.Principal{ID: "key:ann", Via: identity.ViaKey, Holder: "key:ann@1"}
	r, err := newRequest("GET", "home", &downstream.Origin{Path: "/mcp", Remote: "10.0.0.1:5", Principal: key, Forwarded: http.Header{"Authorization": {"Bearer gba_x"}}}, nil)
	if text := string(r.first); err != nil || strings.Contains(text, "gba_") || !strings.Contains(text, "Holder: key:ann@1\r\n") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := newRequest("GET", "home", &downstream.Origin{Path: "/mcp", SessionID: "a\r\nX: y"}, nil); err == nil {
		t.Error("a line break was passed on")
	}
}
