package backend

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// syncing returns a backend that fetches its lists for the first time: tools (id 3) and prompts (id 4).
func syncing(t *testing.T) *driver {
	o := &driver{t: t, s: newState(Options{Server: cfg(), Catalog: true, Transport: "stdio"}, kernel.Reference{}, new(uint64))}
	o.step(kernel.Started{})
	o.step(message.Connect{})
	o.want(linkEvent{1, upstream.Opened{}}, "initialize")
	o.want(o.frame(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}}}}`),
		"notifications/initialized", "tools/list", "prompts/list")
	return o
}

// outcome applies a message. It returns the last phase and the kinds of the lists that are reported to the pool, and the
// timers for further attempts.
func (o *driver) outcome(msg any) (changed message.BackendChanged, listed []string, later []listDue) {
	for _, e := range step(o.s, time.Unix(0, 0), msg, nil) {
		switch m := e.Msg.(type) {
		case message.BackendChanged:
			changed = m
		case message.Listed:
			listed = append(listed, m.Kind.String())
		}
		if w, ok := e.Act.(kernel.Wake); ok {
			if due, ok := w.Msg.(listDue); ok {
				later = append(later, due)
			}
		}
	}
	return changed, listed, later
}

const (
	broken3 = `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"index is broken"}}`
	broken4 = `{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"index is broken"}}`
	empty4  = `{"jsonrpc":"2.0","id":4,"result":{"prompts":[]}}`
)

// A server does not become ready if lists cannot be fetched and its other lists have no items.
func TestNothingListed(t *testing.T) {
	for second, want := range map[string]string{
		broken4: `its tools and prompts could not be listed: "index is broken" (-32603)`,
		empty4:  `its tools could not be listed: "index is broken" (-32603)`,
	} {
		o := syncing(t)
		o.step(o.frame(broken3))
		changed, _, _ := o.outcome(o.frame(second))
		if changed.Phase != message.Waiting || changed.Reason != want {
			t.Errorf("%s %q, want waiting %q", changed.Phase, changed.Reason, want)
		}
	}
}

// If only some lists can be fetched, the status names the missing ones. They are fetched again and keep their last items.
func TestSomeListed(t *testing.T) {
	o := syncing(t)
	_, listed, later := o.outcome(o.frame(broken3))
	if len(listed) > 0 || len(later) != 1 {
		t.Fatalf("lists %q and %d timers, want no list and 1 timer", listed, len(later))
	}
	changed, _, _ := o.outcome(o.frame(`{"jsonrpc":"2.0","id":4,"result":{"prompts":[{"name":"p"}]}}`))
	if changed.Phase != message.Ready || !strings.Contains(changed.Reason, "its tools could not be listed") {
		t.Fatalf("%s %q", changed.Phase, changed.Reason)
	}
	o.want(listDue{incarnation: 2, kind: later[0].kind, fetches: 1})
	o.want(listDue{incarnation: 1, kind: later[0].kind, fetches: 2})
	o.want(later[0], "tools/list")
	o.want(later[0])
	_, _, again := o.outcome(o.frame(`{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"index is broken"}}`))
	if len(again) != 1 {
		t.Fatalf("%d timers, want 1", len(again))
	}
	o.want(again[0], "tools/list")
	changed, listed, later = o.outcome(o.frame(`{"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"a"}]}}`))
	if changed.Phase != message.Ready || changed.Reason != "" || len(listed) != 1 || len(later) > 0 {
		t.Errorf("%s %q, lists %q, %d timers; want ready without a reason, one list, no timer", changed.Phase, changed.Reason, listed, len(later))
	}
}

// A server that declares a list but answers it with "Method not found" becomes ready without another attempt.
func TestListNotThere(t *testing.T) {
	o := syncing(t)
	o.step(o.frame(`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}`))
	changed, _, later := o.outcome(o.frame(empty4))
	if changed.Phase != message.Ready || changed.Reason != "" || len(later) > 0 {
		t.Errorf("%s %q, %d timers; want ready without a reason and no timer", changed.Phase, changed.Reason, len(later))
	}
}

// A change of a list that could not be fetched is not lost.
func TestChangeNotFetched(t *testing.T) {
	o := syncing(t)
	o.step(o.frame(`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`))
	o.want(o.frame(empty4), "ready")
	o.want(o.frame(changed), "tools/list")
	_, listed, later := o.outcome(o.frame(`{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"index is broken"}}`))
	if len(listed) > 0 || len(later) != 1 {
		t.Fatalf("lists %q and %d timers, want no list and 1 timer", listed, len(later))
	}
	o.want(later[0], "tools/list")
	for _, e := range step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","id":6,"result":{"tools":[]}}`), nil) {
		if m, ok := e.Msg.(message.Listed); ok && m.Announced {
			return
		}
	}
	t.Error("the change was not reported")
}

// The size of a list in bytes is limited, since its pages stay in memory.
func TestListOfManyBytes(t *testing.T) {
	o := syncing(t)
	page := `{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"more"}}`
	o.s.conn.lists[protocol.Tools].bytes = maxListBytes - len(page)
	o.want(o.frame(page), "tools/list")
	_, listed, _ := o.outcome(o.frame(strings.Replace(page, `"id":3`, `"id":5`, 1)))
	if len(listed) != 1 || o.s.conn.lists[protocol.Tools].running || o.s.conn.lists[protocol.Tools].count != 2 {
		t.Errorf("lists %q; %d items, running %v", listed, o.s.conn.lists[protocol.Tools].count, o.s.conn.lists[protocol.Tools].running)
	}
}

// A server whose list changes during each fetch is ready with its first list, and there are pauses between the fetches.
func TestListThatAlwaysChanges(t *testing.T) {
	o := syncing(t)
	o.want(o.frame(empty4))
	o.want(o.frame(changed))
	o.s.conn.lists[protocol.Tools].bytes = 2 * listRate
	var pauses []kernel.Wake
	for _, e := range step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`), nil) {
		if w, ok := e.Act.(kernel.Wake); ok {
			pauses = append(pauses, w)
		}
	}
	if len(pauses) != 1 || pauses[0].After < 2*time.Second || pauses[0].After > 3*time.Second || o.s.life.phase != message.Ready {
		t.Fatalf("pauses %v after 32 MiB, %s; want one of two seconds, ready", pauses, o.s.life.phase)
	}
	o.want(o.frame(changed))
	o.want(pauses[0].Msg, "tools/list")
	o.want(o.frame(`{"jsonrpc":"2.0","id":5,"result":{"tools":[]}}`))
	o.want(o.frame(changed), "tools/list")
}

// A list that fails while others are still fetched for the first time is fetched again.
func TestListFailsEarly(t *testing.T) {
	o := syncing(t)
	_, _, later := o.outcome(o.frame(broken3))
	if len(later) != 1 {
		t.Fatalf("%d timers, want 1", len(later))
	}
	o.want(later[0], "tools/list")
	o.want(o.frame(`{"jsonrpc":"2.0","id":4,"result":{"prompts":[{"name":"p"}]}}`))
	o.want(o.frame(`{"jsonrpc":"2.0","id":5,"result":{"tools":[]}}`), "ready")
}
