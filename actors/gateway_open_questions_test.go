package actors

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream/pipe"
)

// S1.50: what the gateway does not do. Contents are not kept: each read asks the server. Nothing is written: the gateway has
// no method for it, and what others mean to a server is the server's business. No resource is the gateway's own.
func TestWhatResourcesAreNot(t *testing.T) {
	within(func(t *testing.T) {
		reads := 0
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			reads++
			_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"contents":[{"uri":"file:///a","text":"read %d"}]}`, reads)))
		}}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		for n := 1; n <= 3; n++ {
			if got := h.one(readResource(n, "resource://one/file:///a")); !strings.Contains(got, fmt.Sprintf(`"text":"read %d"`, n)) {
				t.Errorf("read %d: %s", n, got)
			}
		}
		for _, method := range []string{"resources/write", "resources/create", "resources/update", "resources/delete"} {
			if m := protocol.ParseMethod([]byte(method)); m != protocol.MethodOther {
				t.Errorf("%s is a method of ours: %v", method, m)
			}
		}
		for _, method := range []string{"resources/list", "resources/templates/list"} {
			got := h.one(fmt.Sprintf(`{"jsonrpc":"2.0","id":20,"method":%q}`, method))
			if strings.Count(got, `"name":`) != strings.Count(got, `"goblin-actor/server":"one"`) {
				t.Errorf("%s lists something that is not the server's: %s", method, got)
			}
		}
	})(t)
}

// S1.68, S0.5.1: the open questions of the design. A scheme stays as it is, whatever it is, and the server is asked for its own URI.
func TestAnyScheme(t *testing.T) {
	within(func(t *testing.T) {
		uris := []string{"file:///a/b", "http://example.com/x?y=z#f", "mcp://x/y", "custom+v1.2-x:opaque", "urn:isbn:0451450523", "data:text/plain,hello", "ui://app/main", "C:no-scheme-but-like-one"}
		server := &actortest.Server{Resources: uris}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		for i, uri := range uris {
			public := "resource://one/" + uri
			if rest, ok := strings.CutPrefix(uri, "ui://"); ok {
				public = "ui://one/" + rest
			}
			h.one(readResource(1+i, public))
		}
		var asked []string
		for _, f := range server.Received("resources/read") {
			var p protocol.Params
			if err := p.Scan(&f); err != nil {
				t.Fatal(err)
			}
			uri, _ := rawjson.Unquote(p.URI.Of(f.Raw))
			asked = append(asked, uri)
		}
		if !slices.Equal(asked, uris) {
			t.Errorf("the server was asked for %q, want %q", asked, uris)
		}
	})(t)
}

// S1.68: a client hears that it has subscribed when its server has said so, and no sooner; an update that overtakes that is not lost.
func TestSubscribedMeansAtTheServer(t *testing.T) {
	within(func(t *testing.T) {
		server := newTelling(true)
		h := open(t, map[string]*actortest.Server{"one": server.Server}, nil)
		defer h.close()
		h.initialize()
		if got := h.send(fmt.Sprintf(subscribeA, 1)); len(got) != 0 {
			t.Fatalf("before the server has answered: %v", got)
		}
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Fatalf("the server was asked %d times", n)
		}
		server.tell("file:///a")
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("an update before the answer: %v", got)
		}
		server.release()
		if got := h.got(); len(got) != 1 || !strings.Contains(got[0], `"id":1,"result"`) {
			t.Errorf("when the server has answered: %v", got)
		}
	})(t)
}
