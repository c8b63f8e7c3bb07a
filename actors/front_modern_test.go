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

// raw posts a body with header lines as they are, so that one may stand there twice.
func (w *web) raw(path, body string, lines ...string) (status int, answer string) {
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

// What is wrong with a modern request's headers and _meta is said with 400, whatever else is wrong with it; other faults
// of params have 200 (MCP 2026-07-28, basic, _meta; basic/transports/streamable-http, server validation).
func TestMalformedModernRequests(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
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
		{"as it should be", good, all, 200, 0},
		{"_meta is a number", `"name":"one_a","_meta":7`, all, 400, -32602},
		{"_meta is a list", `"name":"one_a","_meta":[]`, all, 400, -32602},
		{"a log level that is no string", `"name":"one_a","_meta":{` + required + `,"io.modelcontextprotocol/logLevel":7}`, all, 400, -32602},
		{"a token that is an object", `"name":"one_a","_meta":{` + required + `,"progressToken":{}}`, all, 400, -32602},
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
		{"a header of a parameter twice", good, append(all, "Mcp-Param-X: 1", "mcp-param-x: 1"), 400, -32020},
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

// An error about a message whose id nobody can read has none for a modern client, null for a legacy one.
func TestErrorsWithoutID(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for name, body := range map[string]string{
		"no JSON": `{"jsonrpc":`, "null": `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "a batch": `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
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

// A listen stream is a stream: a client that takes none is told so, rather than nothing for ever.
func TestListenWantsAStream(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for accept, want := range map[string]int{"application/json": 406, "text/event-stream": 200, "application/json, text/event-stream": 200} {
		status, answer := w.raw("/mcp", modern(1, "subscriptions/listen", "{}", `,"notifications":{}`),
			"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen", "Accept: "+accept)
		if status != want || want == 200 && !strings.Contains(answer, "acknowledged") || want == 406 && !strings.Contains(answer, `"id":1`) {
			t.Errorf("Accept %s: %d %s, want %d", accept, status, answer, want)
		}
	}
}

// The endpoint of a server that is not there is not found, in either era.
func TestOneServerThatIsNotThere(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for method, rest := range map[string]string{"server/discover": "", "tools/list": "", "subscriptions/listen": `,"notifications":{"toolsListChanged":true}`} {
		status, answer := w.raw("/s/nobody/mcp", modern(1, method, "{}", rest), "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method)
		if status != 404 || !strings.Contains(answer, `"id":1`) || !strings.Contains(answer, `"server":"nobody"`) {
			t.Errorf("%s: %d %s", method, status, answer)
		}
	}
	if r := w.do("POST", "/s/nobody/mcp", initializeFrame); r.status != 404 || !strings.Contains(r.body, `"server":"nobody"`) {
		t.Errorf("initialize: %d %s", r.status, r.body)
	}
}

// Clients that name a task in the body alone are served; one that names another in the header is not.
func TestTasksWithoutNameHeader(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"a"}}}, nil)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		headers := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
		body := modern(1, method, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `,"taskId":"one/t","inputResponses":{}`)
		if status, answer := w.raw("/mcp", body, headers...); strings.Contains(answer, "-32020") || status == 400 {
			t.Errorf("%s: %d %s", method, status, answer)
		}
		if status, answer := w.raw("/mcp", body, append(headers, "Mcp-Name: one/u")...); status != 400 || !strings.Contains(answer, "-32020") {
			t.Errorf("%s, another in the header: %d %s", method, status, answer)
		}
	}
}
