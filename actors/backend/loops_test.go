package backend

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/upstream"
)

// Two gateways that are each other's servers must not announce changes to each other forever: if items of this gateway come
// back, a change is not announced. Nor does an item pass through an unlimited number of gateways.
func TestCircularLists(t *testing.T) {
	o := &driver{t: t, s: newState(Options{Server: cfg(), Node: "me", Catalog: true, Transport: "stdio"}, kernel.Reference{}, new(uint64))}
	o.step(kernel.Started{})
	o.step(message.Connect{})
	o.want(linkEvent{1, upstream.Opened{}}, "initialize")
	o.want(o.frame(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"_meta":{"goblin-actor/node":"peer"}}}`),
		"notifications/initialized", "tools/list")
	list := func(id, items string) (told message.Listed) {
		t.Helper()
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","id":`+id+`,"result":{"tools":[`+items+`]}}`), nil) {
			if m, ok := e.Msg.(message.Listed); ok {
				told = m
			}
		}
		return told
	}
	first := list("3", `{"name":"a"},{"name":"b","_meta":{"goblin-actor/nodes":["1","2","3","4","5","6","7","8"]}},{"name":"c","_meta":{"goblin-actor/nodes":["x"]}}`)
	if len(first.Items) != 2 || string(first.Items[0]) != `{"_meta":{"goblin-actor/nodes":["peer"]},"name":"a"}` ||
		string(first.Items[1]) != `{"name":"c","_meta":{"goblin-actor/nodes":["peer","x"]}}` {
		t.Fatalf("got %q", first.Items)
	}
	o.want(o.frame(changed), "tools/list")
	if again := list("4", `{"name":"a"}`); len(again.Items) != 1 || !again.Announced {
		t.Errorf("another gateway's change: got %q, announced %v; want one item, announced", again.Items, again.Announced)
	}
	o.want(o.frame(changed), "tools/list")
	if again := list("5", `{"name":"a"},{"name":"d","_meta":{"goblin-actor/nodes":["x","me"]}}`); len(again.Items) != 1 || again.Announced {
		t.Errorf("in a circle: got %q, announced %v; want one item, not announced", again.Items, again.Announced)
	}
}
