package clientcalls

import (
	"testing"

	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
)

// If another node refuses to read a resource that is in no list, the client gets the URI that it has sent. All other answers are unchanged.
func TestResourceUnknownToNode(t *testing.T) {
	const unknown = `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found: a:b","data":{"code":"RESOURCE_NOT_FOUND"}}}`
	for _, c := range []struct {
		name, frame string
		change      func(*Held)
		replaced    bool
	}{
		{"refused by the node", unknown, func(*Held) {}, true},
		{"refused by the server", `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}`, func(*Held) {}, false},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"data":{"code":"RESOURCE_NOT_FOUND"}}}`, func(*Held) {}, false},
		{"no hop", unknown, func(h *Held) { h.Upstream = &catalog.Server{} }, false},
		{"a listed resource", unknown, func(h *Held) { h.Entry = &catalog.Entry{} }, false},
		{"a call", unknown, func(h *Held) { h.Method = protocol.MethodToolsCall }, false},
	} {
		h := &Held{Call: call.Call{Method: protocol.MethodResourcesRead, Item: "a:b", Public: "resource://one/a:b"}, Upstream: &catalog.Server{}}
		h.Upstream.Rules.Hop = "b"
		c.change(h)
		e := call.Effect{Kind: call.Deliver}
		if err := e.Frame.Parse([]byte(c.frame)); err != nil {
			t.Fatal(err)
		}
		fault := h.unknownToNode(&e)
		if (fault != nil) != c.replaced || fault != nil && fault.Message != "Resource not found: resource://one/a:b" {
			t.Errorf("%s: %+v", c.name, fault)
		}
	}
}
