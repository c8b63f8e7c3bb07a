package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// readResource returns a resources/read request of a legacy client.
func readResource(id int, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":%q}}`, id, uri)
}

// A read or subscribe of a denied resource does not reach its server, however its URI is spelled.
func TestDeniedResourceSpellings(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Resources: []string{"file:///srv/secret/key"}, Templates: []string{"file:///{+path}"}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Servers[0].ResourceFilter.Deny = []string{"file:///srv/secret/*"}
		})
		defer h.close()
		h.initialize()
		for i, path := range []string{"secret/key", "%73ecret/key", "x/../secret/key", "/secret/key", "secret%2Fkey", "x/..%2Fsecret/key", "./secret/key"} {
			for _, method := range []string{"resources/read", "resources/subscribe"} {
				line := strings.Replace(readResource(i, "resource://one/file:///srv/"+path), "resources/read", method, 1)
				if got := h.roundTrip(line); !strings.Contains(got, "Resource not found") {
					t.Errorf("%s of %s: %s", method, path, got)
				}
			}
		}
		if n := len(server.Received("resources/read")) + len(server.Received("resources/subscribe")); n != 0 {
			t.Errorf("the server got %d requests, want none", n)
		}
		if h.roundTrip(readResource(99, "resource://one/file:///srv/open%20door")); len(server.Received("resources/read")) != 1 {
			t.Error("a resource that is not denied was not read")
		}
	})(t)
}

// MCP Apps: a host can read the page that a tool refers to, even if two servers use the same URI and one does not list it.
func TestAppPageOfTool(t *testing.T) {
	inBubble(func(t *testing.T) {
		page := func(name string) func(p *pipe.Peer, f protocol.Frame, id []byte) {
			return func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"contents":[{"uri":"ui://app/main","text":%q}]}`, name)))
			}
		}
		meta := `{"ui":{"resourceUri":"ui://app/main"}}`
		h := startStdio(t, map[string]*actortest.Server{
			"one": {Tools: []string{"show"}, Meta: meta, Resources: []string{"ui://app/main"}, Handle: page("one's")},
			"two": {Tools: []string{"show"}, Meta: meta, Handle: page("two's")},
		}, nil)
		defer h.close()
		h.initialize()
		var listed struct {
			Result struct {
				Tools []struct {
					Meta struct{ UI struct{ ResourceURI string } } `json:"_meta"`
				}
			}
		}
		if err := json.Unmarshal([]byte(h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &listed); err != nil || len(listed.Result.Tools) != 2 {
			t.Fatal(err, listed)
		}
		for i, want := range []string{"one's", "two's"} {
			link := listed.Result.Tools[i].Meta.UI.ResourceURI
			if got := h.roundTrip(readResource(2+i, link)); !strings.Contains(got, want) || !strings.Contains(got, `"uri":"`+link+`"`) {
				t.Errorf("%s: %s, want %s", link, got, want)
			}
		}
	})(t)
}

// linkingServer returns a server whose tool returns links to unlisted resources. It answers every read.
func linkingServer() *actortest.Server {
	return &actortest.Server{Tools: []string{"make"}, Resources: []string{"file:///listed"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		result := `{}`
		switch f.Method {
		case protocol.MethodToolsCall:
			result = `{"content":[{"type":"resource_link","uri":"file:///made","name":"m"},{"type":"resource","resource":{"uri":"mem:inside","text":"x"}},{"type":"text","text":"file:///text"}]}`
		case protocol.MethodResourcesRead:
			var params protocol.Params
			_ = params.Scan(&f)
			result = `{"contents":[{"uri":` + string(params.URI.Of(f.Raw)) + `,"text":"it"},{"uri":"mem:beside","text":"more"}]}`
		}
		_ = p.Send(protocol.AppendResult(nil, id, []byte(result)))
	}}
}

// An unlisted resource that a server has mentioned can be read and subscribed to by every client. Reads of other unlisted
// resources are refused without a request to the server.
func TestMentionedResources(t *testing.T) {
	eachClient(t, func(t *testing.T, begin func(*stdioHarness), _ func(int) string, call func(int, string) string) {
		server := linkingServer()
		h := startStdio(t, map[string]*actortest.Server{"one": server, "two": {}}, nil)
		defer h.close()
		begin(h)
		legacy := !strings.Contains(call(1, "x"), "_meta")
		read := func(uri string) string {
			if legacy {
				return h.roundTrip(readResource(7, uri))
			}
			return h.roundTrip(modern(7, "resources/read", "{}", fmt.Sprintf(`,"uri":%q`, uri)))
		}
		for _, uri := range []string{"resource://one/file:///made", "resource://one/mem:inside", "resource://one/mem:beside", "resource://two/file:///made"} {
			if got := read(uri); !strings.Contains(got, "Resource not found: "+uri) {
				t.Errorf("before it was mentioned, %s: %s", uri, got)
			}
		}
		if n := len(server.Received("resources/read")); n != 0 {
			t.Fatalf("the server got %d reads of resources it has not mentioned", n)
		}
		if got := h.roundTrip(call(2, "one_make")); !strings.Contains(got, `"uri":"resource://one/file:///made"`) || !strings.Contains(got, `"uri":"resource://one/mem:inside"`) {
			t.Fatalf("the tool returned %s", got)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mem:told"}}`))
		for _, uri := range []string{"file:///made", "mem:inside", "mem:beside", "mem:told"} {
			if got := read("resource://one/" + uri); !strings.Contains(got, `"text":"it"`) || !strings.Contains(got, `"uri":"resource://one/`+uri+`"`) {
				t.Errorf("%s: %s", uri, got)
			}
		}
		for _, uri := range []string{"resource://two/file:///made", "resource://one/file:///text", "file:///made", "resource://three/file:///made"} {
			if got := read(uri); !strings.Contains(got, "Resource not found: "+uri) {
				t.Errorf("%s: %s", uri, got)
			}
		}
		if legacy {
			for uri, want := range map[string]string{"resource://one/file:///made": `"result":{}`, "resource://one/mem:other": "Resource not found: resource://one/mem:other"} {
				if got := h.roundTrip(strings.Replace(readResource(8, uri), "read", "subscribe", 1)); !strings.Contains(got, want) {
					t.Errorf("subscribe to %s: %s", uri, got)
				}
			}
		}
	})
}

// resources.unlisted determines which unlisted resources can be read. Filters always apply.
func TestUnlistedResources(t *testing.T) {
	for unlisted, want := range map[string]string{
		"mentioned": "made",
		"forward":   "made other denied/made?", // reads of denied resources are not sent to the server
		"refuse":    "",
	} {
		t.Run(unlisted, inBubble(func(t *testing.T) {
			server := linkingServer()
			h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
				c.Resources.Unlisted = unlisted
				c.Servers[0].ResourceFilter.Deny = []string{"file:///denied/*"}
			})
			defer h.close()
			h.initialize()
			h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_make","arguments":{}}}`)
			for i, path := range []string{"made", "other", "denied/x", "x/../denied/x", "%64enied/x"} {
				got := h.roundTrip(readResource(2+i, "resource://one/file:///"+path))
				if found := strings.Contains(got, `"text":"it"`); found != slices.Contains(strings.Fields(want), path) {
					t.Errorf("%s: %s", path, got)
				}
			}
			if got := h.roundTrip(readResource(9, "resource://one/file:///listed")); !strings.Contains(got, `"text":"it"`) {
				t.Errorf("a listed resource: %s", got)
			}
		}))
	}
}

// A mentioned resource is read on the connection that mentioned it, since other processes of the server may not know it.
func TestMentionedResourceIsReadOnItsConnection(t *testing.T) {
	inBubble(func(t *testing.T) {
		var makers, readers []*pipe.Peer
		server := linkingServer()
		give := server.Handle
		server.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
			if f.Method == protocol.MethodToolsCall {
				makers = append(makers, p)
			} else {
				readers = append(readers, p)
			}
			give(p, f, id)
		}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Servers[0].Replicas = 3 })
		defer h.close()
		h.initialize()
		for i := range 7 {
			h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_make","arguments":{}}}`, i))
			h.roundTrip(readResource(100, "resource://one/file:///made"))
		}
		if !slices.Equal(makers, readers) {
			t.Errorf("calls went to %v, reads to %v, want the same", makers, readers)
		}
		makers[len(makers)-1].Close(errors.New("gone"))
		if got := h.roundTrip(readResource(100, "resource://one/file:///made")); !strings.Contains(got, `"text":"it"`) {
			t.Errorf("after the loss of its connection: %s, want a read on another one", got)
		}
	})(t)
}

// Templates that do not conform to RFC 6570 match the URIs that their servers intend.
func TestNonconformingTemplates(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := linkingServer()
		server.Templates = []string{"docs://{path*}", "users://{user-id}/mail"}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { c.Resources.Unlisted = "refuse" })
		defer h.close()
		h.initialize()
		for uri, want := range map[string]string{
			"docs://guide/first/hour.md": `"text":"it"`, "docs://a": `"text":"it"`, "users://7/mail": `"text":"it"`, "users://7/8/mail": "Resource not found", "docs://a?b": "Resource not found",
		} {
			if got := h.roundTrip(readResource(1, "resource://one/"+uri)); !strings.Contains(got, want) {
				t.Errorf("%s: %s", uri, got)
			}
		}
	})(t)
}
