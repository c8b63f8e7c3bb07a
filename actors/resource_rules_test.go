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

// S1.50: the gateway does not cache contents: each read goes to the server. It defines no methods that write resources. It has no
// resources of its own.
func TestResourcesAreNotCached(t *testing.T) {
	inBubble(func(t *testing.T) {
		reads := 0
		server := &actortest.Server{Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			reads++
			_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"contents":[{"uri":"file:///a","text":"read %d"}]}`, reads)))
		}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		for n := 1; n <= 3; n++ {
			if got := h.roundTrip(readResource(n, "resource://one/file:///a")); !strings.Contains(got, fmt.Sprintf(`"text":"read %d"`, n)) {
				t.Errorf("read %d: %s", n, got)
			}
		}
		for _, method := range []string{"resources/write", "resources/create", "resources/update", "resources/delete"} {
			if m := protocol.ParseMethod([]byte(method)); m != protocol.MethodOther {
				t.Errorf("%s is a known method: %v", method, m)
			}
		}
		for _, method := range []string{"resources/list", "resources/templates/list"} {
			got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":20,"method":%q}`, method))
			if strings.Count(got, `"name":`) != strings.Count(got, `"goblin-actor/server":"one"`) {
				t.Errorf("%s lists an item that is not the server's: %s", method, got)
			}
		}
	})(t)
}

// S1.68, S0.5.1: any URI scheme is kept, and the server gets its own URI.
func TestAnyScheme(t *testing.T) {
	inBubble(func(t *testing.T) {
		uris := []string{"file:///a/b", "http://example.com/x?y=z#f", "mcp://x/y", "custom+v1.2-x:opaque", "urn:isbn:0451450523", "data:text/plain,hello", "ui://app/main", "C:no-scheme-but-like-one"}
		server := &actortest.Server{Resources: uris}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		for i, uri := range uris {
			public := "resource://one/" + uri
			if rest, ok := strings.CutPrefix(uri, "ui://"); ok {
				public = "ui://one/" + rest
			}
			h.roundTrip(readResource(1+i, public))
		}
		var read []string
		for _, f := range server.Received("resources/read") {
			var p protocol.Params
			if err := p.Scan(&f); err != nil {
				t.Fatal(err)
			}
			uri, _ := rawjson.Unquote(p.URI.Of(f.Raw))
			read = append(read, uri)
		}
		if !slices.Equal(read, uris) {
			t.Errorf("the server got reads of %q, want %q", read, uris)
		}
	})(t)
}

// S1.68: a subscribe is answered only after the server has answered it. An update that arrives before is not lost.
func TestSubscribeWaitsForServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := newSubscriptionServer(true)
		h := startStdio(t, map[string]*actortest.Server{"one": server.Server}, nil)
		defer h.close()
		h.initialize()
		if got := h.send(fmt.Sprintf(subscribeA, 1)); len(got) != 0 {
			t.Fatalf("before the server has answered: %v", got)
		}
		if n := len(server.Received("resources/subscribe")); n != 1 {
			t.Fatalf("the server got %d subscribes, want 1", n)
		}
		server.sendUpdate("file:///a")
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "resources/updated") {
			t.Errorf("an update before the answer: %v", got)
		}
		server.release()
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"id":1,"result"`) {
			t.Errorf("after the server has answered: %v", got)
		}
	})(t)
}
