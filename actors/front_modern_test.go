package actors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
)

// raw posts a body with these header lines, which may repeat a header.
func (w *httpHarness) raw(path, body string, lines ...string) (status int, answer string) {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n", path, len(body))
	for _, line := range lines {
		head += line + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "%s\r\n%s", head, body); err != nil {
		w.t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(r.Body).WriteTo(&b); err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, b.String()
}

// Errors in a modern request's headers and _meta have status 400, whatever other errors the request has. Other invalid params have
// status 200 (MCP 2026-07-28, basic, _meta; basic/transports/streamable-http, server validation).
func TestMalformedModernRequests(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	const (
		version  = "MCP-Protocol-Version: 2026-07-28"
		method   = "Mcp-Method: tools/call"
		tool     = "Mcp-Name: one_a"
		required = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		good     = `"name":"one_a","_meta":{` + required + `}`
	)
	all := []string{version, method, tool}
	for _, c := range []struct {
		name, params string
		headers      []string
		status, code int
	}{
		{"valid", good, all, 200, 0},
		{"_meta is a number", `"name":"one_a","_meta":7`, all, 400, -32602},
		{"_meta is a list", `"name":"one_a","_meta":[]`, all, 400, -32602},
		{"the log level is a number", `"name":"one_a","_meta":{` + required + `,"io.modelcontextprotocol/logLevel":7}`, all, 400, -32602},
		{"the progress token is an object", `"name":"one_a","_meta":{` + required + `,"progressToken":{}}`, all, 400, -32602},
		{"the version twice", `"name":"one_a","_meta":{` + required + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, all, 400, -32602},
		{"arguments are a list, and nothing else", good + `,"arguments":[]`, all, 200, -32602},
		{"arguments are a list, and no version in _meta", `"name":"one_a","arguments":[]`, all, 400, -32602},
		{"arguments are a list, and another method", good + `,"arguments":[]`, []string{version, "Mcp-Method: tools/list", tool}, 400, -32020},
		{"arguments are a list, and another name", good + `,"arguments":[]`, []string{version, method, "Mcp-Name: one_b"}, 400, -32020},
		{"arguments are a list, and no header", good + `,"arguments":[]`, nil, 400, -32020},
		{"the name is a number", `"name":7,"_meta":{` + required + `}`, []string{version, method, "Mcp-Name: 7"}, 400, -32020},
		{"the name twice", good + `,"name":"one_b"`, all, 200, -32602},
		{"the version header twice", good, append(all, "mcp-protocol-version: 2026-07-28"), 400, -32020},
		{"the method header twice", good, append(all, "MCP-METHOD: tools/call"), 400, -32020},
		{"the name header twice", good, append(all, tool), 400, -32020},
		{"a parameter's header twice", good, append(all, "Mcp-Param-X: 1", "mcp-param-x: 1"), 400, -32020},
	} {
		status, answer := w.raw("/mcp", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{`+c.params+`}}`, c.headers...)
		var got struct{ Error struct{ Code int } }
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Errorf("%s: %d %s: %v", c.name, status, answer, err)
		} else if status != c.status || got.Error.Code != c.code || strings.Contains(answer, `"id":null`) {
			t.Errorf("%s: %d %s, want %d and %d", c.name, status, answer, c.status, c.code)
		}
	}
}

// The error for a message without a readable ID has no id member for a modern client, and a null id for a legacy one.
func TestErrorsWithoutID(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for name, body := range map[string]string{
		"invalid JSON": `{"jsonrpc":`, "null": `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "a batch": `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"a response": `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		if status, answer := w.raw("/mcp", body, "MCP-Protocol-Version: 2026-07-28"); status != 400 || strings.Contains(answer, `"id"`) || !strings.Contains(answer, `"code":-32`) {
			t.Errorf("%s, modern: %d %s", name, status, answer)
		}
		if status, answer := w.raw("/mcp", body); status != 400 || !strings.Contains(answer, `"id":null`) {
			t.Errorf("%s, legacy: %d %s", name, status, answer)
		}
	}
}

// subscriptions/listen is answered with a stream. A client that does not accept streams gets an error, since it could not read the
// endless response.
func TestListenNeedsStream(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for accept, want := range map[string]int{"application/json": 406, "text/event-stream": 200, "application/json, text/event-stream": 200} {
		status, answer := w.raw("/mcp", modern(1, "subscriptions/listen", "{}", `,"notifications":{}`),
			"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen", "Accept: "+accept)
		if status != want || want == 200 && !strings.Contains(answer, "acknowledged") || want == 406 && !strings.Contains(answer, `"id":1`) {
			t.Errorf("Accept %s: %d %s, want %d", accept, status, answer, want)
		}
	}
}

// The endpoint of an unknown server answers 404 in both eras.
func TestUnknownServerEndpoint(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for method, rest := range map[string]string{"server/discover": "", "tools/list": "", "subscriptions/listen": `,"notifications":{"toolsListChanged":true}`} {
		status, answer := w.raw("/s/missing/mcp", modern(1, method, "{}", rest), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method)
		if status != 404 || !strings.Contains(answer, `"id":1`) || !strings.Contains(answer, `"server":"missing"`) {
			t.Errorf("%s: %d %s", method, status, answer)
		}
	}
	if r := w.do("POST", "/s/missing/mcp", initializeFrame); r.status != 404 || !strings.Contains(r.body, `"server":"missing"`) {
		t.Errorf("initialize: %d %s", r.status, r.body)
	}
}

// A task request without the name header is served. One with another name in the header is refused.
func TestTasksWithoutNameHeader(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		headers := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
		body := modern(1, method, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `,"taskId":"one/t","inputResponses":{}`)
		if status, answer := w.raw("/mcp", body, headers...); strings.Contains(answer, "-32020") || status == 400 {
			t.Errorf("%s: %d %s", method, status, answer)
		}
		if status, answer := w.raw("/mcp", body, append(headers, "Mcp-Name: one/u")...); status != 400 || !strings.Contains(answer, "-32020") {
			t.Errorf("%s, another name in the header: %d %s", method, status, answer)
		}
	}
}
