package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

func withMeta(mode string) func(*config.Config) {
	return func(c *config.Config) { c.MetaTools = mode }
}

// metaCall returns a tools/call request of a legacy client.
func metaCall(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// toolResult is the result of a tool call.
type toolResult struct {
	Content           []map[string]json.RawMessage
	StructuredContent json.RawMessage
	IsError           bool
	ResultType        string
}

func toolResultOf(t *testing.T, line string) toolResult {
	t.Helper()
	var a struct {
		Result *toolResult
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil || a.Result == nil {
		t.Fatalf("want a result (%v): %s", err, line)
	}
	return *a.Result
}

// pageOf parses a page of catalog cards. It checks that the text equals the structured content.
func pageOf(t *testing.T, line string) (page struct {
	Items []struct{ Kind, Name, URI, URITemplate, Description, MIMEType, Server string }
	Total int
	Next  string
}) {
	t.Helper()
	r := toolResultOf(t, line)
	if r.IsError || len(r.Content) != 1 || json.Unmarshal(r.StructuredContent, &page) != nil {
		t.Fatalf("want a page of cards: %s", line)
	}
	var text string
	_ = json.Unmarshal(r.Content[0]["text"], &text)
	if text != string(r.StructuredContent) {
		t.Errorf("the text is\n%s\nbut the structured content is\n%s", text, r.StructuredContent)
	}
	return page
}

// S0.8, S1.49, S2.3.1: the gateway's own tools are listed and answered in both eras.
func TestMetaToolsInBothEras(t *testing.T) {
	inBubble(func(t *testing.T) {
		tool := `{"name":"read_file","description":"Read a file.\nAll of it.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`
		h := startStdio(t, map[string]*actortest.Server{"one": {Tools: []string{tool}}, "two": {Tools: []string{"add"}}}, withMeta("true"))
		defer h.close()
		h.initialize()
		names := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if len(names) != 14 || !slices.Contains(names, "goblin_search_catalog") || !slices.Contains(names, "one_read_file") {
			t.Errorf("legacy list: %v", names)
		}
		if got := toolNames(t, h.roundTrip(modern(2, "tools/list", "{}", ""))); !slices.Equal(got, names) {
			t.Errorf("modern list: %v", got)
		}
		for era, line := range map[string]string{
			"legacy": metaCall(3, "goblin_catalog_tools", `{}`),
			"modern": modern(3, "tools/call", "{}", `,"name":"goblin_catalog_tools","arguments":{}`),
		} {
			answer := h.roundTrip(line)
			page := pageOf(t, answer)
			if page.Total != 2 || len(page.Items) != 2 || page.Next != "" {
				t.Fatalf("%s: %s", era, answer)
			}
			if card := page.Items[0]; card.Name != "one_read_file" || card.Description != "Read a file." || card.Server != "one" {
				t.Errorf("%s: card %+v", era, card)
			}
			if modern := toolResultOf(t, answer).ResultType == "complete"; modern != (era == "modern") {
				t.Errorf("%s: resultType in %s", era, answer)
			}
		}
		// S2.3.2: a tool's complete definition is found by any spelling of its name.
		for _, name := range []string{"one_read_file", "one:read_file", "read_file"} {
			r := toolResultOf(t, h.roundTrip(metaCall(4, "goblin_describe_tool", fmt.Sprintf(`{"name":%q}`, name))))
			if text := string(r.StructuredContent); r.IsError || !strings.Contains(text, `"path":{"type":"string"}`) || !strings.Contains(text, `"name":"one_read_file"`) {
				t.Errorf("describe %s: %s", name, text)
			}
		}
		if r := toolResultOf(t, h.roundTrip(metaCall(5, "goblin_describe_tool", `{"name":"missing"}`))); !r.IsError || !strings.Contains(string(r.Content[0]["text"]), "Tool not found: missing") {
			t.Errorf("describe an unknown tool: %+v", r)
		}
	})(t)
}

// S0.8.1, S0.8.2, S0.8.4, S1.59: resource cards can be filtered by server and MIME type. Templates are listed, a resource is
// described with its whole definition, and an unknown one is an error.
func TestMetaToolsOfResources(t *testing.T) {
	inBubble(func(t *testing.T) {
		h := startStdio(t, map[string]*actortest.Server{
			"one": {Resources: []string{"file:///logs/app.log", "file:///readme"}, Templates: []string{"file:///{path}"}},
			"two": {Resources: []string{"db:///users"}, Templates: []string{"db:///{table}"}},
		}, withMeta("true"))
		defer h.close()
		h.initialize()
		if page := pageOf(t, h.roundTrip(metaCall(1, "goblin_catalog_resources", `{}`))); page.Total != 3 || page.Items[0].URI != "resource://one/file:///logs/app.log" || page.Items[0].Name != "r" {
			t.Errorf("all resources: %+v", page)
		}
		if page := pageOf(t, h.roundTrip(metaCall(2, "goblin_catalog_resources", `{"server":"two"}`))); page.Total != 1 || page.Items[0].Server != "two" {
			t.Errorf("resources of server two: %+v", page)
		}
		if page := pageOf(t, h.roundTrip(metaCall(3, "goblin_catalog_resources", `{"mimeType":"text/plain"}`))); page.Total != 0 || len(page.Items) != 0 {
			t.Errorf("resources of an unused type: %+v", page)
		}
		if page := pageOf(t, h.roundTrip(metaCall(4, "goblin_catalog_resource_templates", `{}`))); page.Total != 2 || page.Items[1].URITemplate != "resource://two/db:///{table}" {
			t.Errorf("templates: %+v", page)
		}
		page := pageOf(t, h.roundTrip(metaCall(5, "goblin_catalog_resources", `{"limit":2}`)))
		if len(page.Items) != 2 || page.Total != 3 || page.Next == "" {
			t.Fatalf("first page: %+v", page)
		}
		if rest := pageOf(t, h.roundTrip(metaCall(6, "goblin_catalog_resources", fmt.Sprintf(`{"after":%q}`, page.Next)))); len(rest.Items) != 1 || rest.Items[0].URI != "resource://two/db:///users" || rest.Next != "" {
			t.Errorf("second page: %+v", rest)
		}
		for uri, want := range map[string]string{
			"resource://one/file:///readme": `"uri":"resource://one/file:///readme"`, "db:///users": `"server":"two"`,
			"resource://two/db:///{table}": `"uriTemplate":"resource://two/db:///{table}"`, "resource://one/file:///else": `"uriTemplate":"resource://one/file:///{path}"`,
		} {
			r := toolResultOf(t, h.roundTrip(metaCall(7, "goblin_describe_resource", fmt.Sprintf(`{"uri":%q}`, uri))))
			if r.IsError || !strings.Contains(string(r.StructuredContent), want) {
				t.Errorf("describe %s: %+v", uri, r)
			}
		}
		if r := toolResultOf(t, h.roundTrip(metaCall(8, "goblin_describe_resource", `{"uri":"x:///nowhere"}`))); !r.IsError || !strings.Contains(string(r.Content[0]["text"]), "Resource not found: x:///nowhere") {
			t.Errorf("describe an unknown resource: %+v", r)
		}
	})(t)
}

// call_tool and read_resource behave like the requests they forward: names, progress and errors are the same. Results are, too, but
// read_resource returns the contents as embedded resources.
func TestMetaToolsForwardCalls(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Resources: []string{"file:///a", "file:///b"}}
		server.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
			if f.Method == protocol.MethodResourcesRead {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"contents":[{"uri":"file:///a","text":"A"},{"uri":"file:///b","blob":"Qg=="}],"_meta":{"k":1}}`)))
				return
			}
			var params protocol.Params
			_ = params.Scan(&f)
			token := params.ProgressToken.Of(f.Raw)
			_ = p.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token))
			_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, params.Arguments.Of(f.Raw))))
		}
		h := startStdio(t, map[string]*actortest.Server{"one": server, "two": {}}, withMeta("true"))
		defer h.close()
		h.initialize()
		got := h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"goblin_call_tool","arguments":{"name":"one_add","arguments":{"a":[1, 2]}}}}`)
		if len(got) != 2 || !strings.Contains(got[0], `"progressToken":"p"`) || got[1] != `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":[1, 2]}}}` {
			t.Errorf("call_tool: %s", strings.Join(got, "\n"))
		}
		if got := h.roundTrip(metaCall(2, "goblin_call_tool", `{"name":"one_add"}`)); got != `{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{}}}` {
			t.Errorf("call_tool without arguments: %s", got)
		}
		read := `"result":{"content":[{"type":"resource","resource":{"uri":"resource://one/file:///a","text":"A"}},{"type":"resource","resource":{"uri":"resource://one/file:///b","blob":"Qg=="}}],"_meta":{"k":1}}}`
		if got := h.roundTrip(metaCall(3, "goblin_read_resource", `{"uri":"resource://one/file:///a"}`)); got != `{"jsonrpc":"2.0","id":3,`+read {
			t.Errorf("read_resource: %s", got)
		}
		if r := toolResultOf(t, h.roundTrip(modern(4, "tools/call", "{}", `,"name":"goblin_read_resource","arguments":{"uri":"file:///a"}`))); r.ResultType != "complete" || len(r.Content) != 2 {
			t.Errorf("read_resource of a modern client: %+v", r)
		}
		before := len(server.Received("tools/call")) + len(server.Received("resources/read"))
		for _, c := range []struct{ line, want string }{
			{metaCall(5, "goblin_call_tool", `{"name":"missing"}`), `"message":"Tool not found: missing"`},
			{metaCall(5, "goblin_call_tool", `{"name":7}`), `"message":"params.arguments.name: want a string"`},
			{metaCall(5, "goblin_call_tool", `{}`), `"code":-32602`},
			{metaCall(5, "goblin_call_tool", `[]`), `"code":-32602`},
			{metaCall(5, "goblin_call_tool", `{"name":"one_add","arguments":[1]}`), `"message":"params.arguments.arguments: want an object"`},
			{metaCall(5, "goblin_call_tool", `{"name":"goblin_call_tool","arguments":{"name":"one_add"}}`), `call_tool cannot be called by call_tool`},
			{metaCall(5, "goblin_call_tool", `{"name":"goblin:read_resource","arguments":{"uri":"file:///a"}}`), `read_resource cannot be called by call_tool`},
			{metaCall(5, "goblin_read_resource", `{"uri":"x:///nowhere"}`), `"code":-32002,"message":"Resource not found: x:///nowhere"`},
			{metaCall(5, "goblin_read_resource", `{"url":"file:///a"}`), `"message":"params.arguments.uri: want a string"`},
			{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"goblin_read_resource"}}`, `"code":-32602`},
			{modern(5, "tools/call", "{}", `,"name":"goblin_read_resource","arguments":{"uri":"x:///nowhere"}`), `"code":-32602,"message":"Resource not found: x:///nowhere"`},
		} {
			if got := h.roundTrip(c.line); !strings.Contains(got, c.want) {
				t.Errorf("%s: got %s, want %s", c.line, got, c.want)
			}
		}
		if n := len(server.Received("tools/call")) + len(server.Received("resources/read")); n != before {
			t.Errorf("the server got %d requests, want none", n-before)
		}
		// call_tool can call the gateway's other tools.
		if page := pageOf(t, h.roundTrip(metaCall(6, "goblin_call_tool", `{"name":"goblin_catalog_tools","arguments":{"limit":1}}`))); page.Total != 1 {
			t.Errorf("catalog_tools by call_tool: %+v", page)
		}
	})(t)
}

// A call through call_tool is canceled at its server and has its server's deadline.
func TestCallThroughMetaToolEnds(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, withMeta("true"))
		defer h.close()
		h.initialize()
		h.send(metaCall(1, "goblin_call_tool", `{"name":"one_add"}`))
		h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if n := len(server.Received("notifications/cancelled")); n != 1 {
			t.Errorf("the server got %d cancellations, want 1", n)
		}
		h.send(metaCall(2, "goblin_call_tool", `{"name":"one_add"}`))
		time.Sleep(31 * time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"code":"TIMEOUT"`) || !strings.Contains(got[0], `"tool":"add"`) {
			t.Errorf("after the deadline: %v", got)
		}
	})(t)
}

// With metaTools: only, lists contain only the gateway's own tools and changes to other items are not announced. All items
// can still be found and called.
func TestOnlyMetaTools(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///a"}, Prompts: []string{"p"}, Instructions: "be kind"}
		for i := range 1000 {
			server.Tools = append(server.Tools, fmt.Sprintf("tool%d", i))
		}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, withMeta("only"))
		defer h.close()
		time.Sleep(time.Second)
		hello := h.roundTrip(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		if !strings.Contains(hello, "goblin_search_catalog") || !strings.Contains(hello, "be kind") {
			t.Errorf("instructions: %s", hello)
		}
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		list := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if names := toolNames(t, list); len(names) != 12 || slices.ContainsFunc(names, func(s string) bool { return !strings.HasPrefix(s, "goblin_") }) {
			t.Errorf("tools: %v", names)
		}
		if t.Logf("the list of 1000 tools has %d bytes", len(list)); len(list) > 8<<10 {
			t.Errorf("the list has %d bytes, want 8 KiB at most", len(list))
		}
		for _, method := range []string{"resources", "prompts"} {
			if got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"%s/list"}`, method)); got != fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"result":{%q:[]}}`, method) {
				t.Errorf("%s: %s", method, got)
			}
		}
		if got := h.roundTrip(metaCall(3, "one_tool7", `{}`)); !strings.Contains(got, "echo") {
			t.Errorf("a call by name: %s", got)
		}
		if page := pageOf(t, h.roundTrip(metaCall(4, "goblin_catalog_tools", `{}`))); page.Total != 1000 || page.Items[0].Name != "one_tool0" {
			t.Errorf("cards: %+v", page)
		}
		server.SetTools(true, "other")
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 0 {
			t.Errorf("a change that no list shows was announced: %v", got)
		}
		if page := pageOf(t, h.roundTrip(metaCall(5, "goblin_catalog_tools", `{}`))); page.Total != 1 || page.Items[0].Name != "one_other" {
			t.Errorf("cards afterwards: %+v", page)
		}
	})(t)
}
