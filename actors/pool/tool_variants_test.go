package pool

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// tool returns the definition of a tool. Different values of properties (minProperties) give different schemas.
func tool(name string, properties int) []byte {
	return fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object","minProperties":%d}}`, name, properties)
}

// callTool dispatches a tools/call.
func (w *world) callTool(seq uint64, name string, replica int) {
	r := &message.Request{Caller: &message.Caller{}, Server: "fake", Item: name, Replica: replica}
	r.Frame.Method = protocol.MethodToolsCall
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
}

// variants returns a server with two ready replicas. The second one defines tool b differently, and lacks tool c.
func variants(t *testing.T) *world {
	w := readyReplicas(t, config.Server{Command: "x"}, 2)
	w.step(message.Listed{Backend: w.backends[0], Kind: protocol.Tools, Items: [][]byte{tool("a", 1), tool("b", 1), tool("c", 1)}})
	w.step(message.Listed{Backend: w.backends[1], Kind: protocol.Tools, Items: [][]byte{tool("b", 2), tool("a", 1)}})
	return w
}

// Calls of a tool go only to the replicas that define it as clients see it. A call that names a replica means that replica's
// own tool.
func TestDeviatingToolsAreNotCalled(t *testing.T) {
	w := variants(t)
	for seq, c := range []struct {
		tool    string
		replica int // as in Request.Replica
		at      int
	}{{"b", 0, 0}, {"b", 0, 0}, {"c", 0, 0}, {"c", 0, 0}, {"b", 2, 1}, {"b", 1, 0}} {
		w.callTool(uint64(seq), c.tool, c.replica)
		if got := w.at(uint64(seq)); got != c.at {
			t.Errorf("call %d of %s, replica %d: at %d, want %d", seq, c.tool, c.replica, got, c.at)
		}
	}
	counts := map[int]int{}
	for seq := uint64(10); seq < 14; seq++ {
		w.callTool(seq, "a", 0)
		counts[w.at(seq)]++
	}
	if counts[0] != 2 || counts[1] != 2 {
		t.Errorf("calls of an equal tool by replica: %v, want 2 each", counts)
	}
	warnings := w.s.report().Warnings
	if want := "replica 1 gets no calls to tools that it lacks or defines differently from the catalog: b, c"; len(warnings) != 1 || warnings[0] != want {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
	w.phase(0, message.Waiting) // the second replica leads now, and clients see its tools
	w.callTool(20, "b", 0)
	warnings = w.s.report().Warnings
	if want := "replica 0 gets no calls to tools that it lacks or defines differently from the catalog: b"; w.at(20) != 1 || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("after the first replica was lost: call at %d, warnings %q, want %q", w.at(20), warnings, want)
	}
}

// Lists other than the tools do not affect where tools are called.
func TestOtherListsDoNotDeviate(t *testing.T) {
	w := variants(t)
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if kind != protocol.Tools {
			w.step(message.Listed{Backend: w.backends[1], Kind: kind, Items: [][]byte{tool("a", 9)}})
			w.step(message.Listed{Backend: w.backends[0], Kind: kind, Items: [][]byte{tool("a", 8)}})
		}
	}
	for seq := range uint64(4) {
		if w.callTool(seq, "b", 0); w.at(seq) != 0 {
			t.Fatalf("call of b at %d, want 0", w.at(seq))
		}
	}
	w.step(message.Listed{Backend: w.backends[1], Kind: protocol.Tools, Items: [][]byte{tool("c", 1), tool("b", 1), tool("a", 1)}})
	if got := w.s.report().Warnings; len(got) != 0 {
		t.Errorf("warnings %q after the tools became equal", got)
	}
}

// If the only replica with the required labels defines the tool differently, the error says so.
func TestOnlyDeviatingReplicasReady(t *testing.T) {
	w := variants(t)
	w.s.replicas.connections[1].labels = map[string]string{"region": "eu"}
	call := func(seq uint64, name string) {
		r := &message.Request{Caller: &message.Caller{}, Server: "fake", Item: name, Prefer: &message.Prefer{Labels: map[string]string{"region": "eu"}, Required: true}}
		r.Frame.Method = protocol.MethodToolsCall
		w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
	}
	call(1, "b")
	const want = "no replica with the required labels (region=eu) is available: server fake: no ready replica offers tool b with its listed definition; retry later"
	if f := w.fault(1, protocol.NoBackendsAvailable); f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
	if call(2, "a"); w.at(2) != 1 {
		t.Errorf("the call of an equal tool is at %d, want 1", w.at(2))
	}
}

// deviatingTools compares names and schemas. The order of tools and members, and descriptions, do not matter.
func TestDeviatingTools(t *testing.T) {
	described := []byte(`{"inputSchema":{"minProperties":1,"type":"object"},"description":"other","name":"a"}`)
	output := []byte(`{"name":"a","inputSchema":{"type":"object","minProperties":1},"outputSchema":{"type":"object"}}`)
	same := [][]byte{tool("a", 1)}
	for name, c := range map[string]struct {
		listed, own [][]byte
		want        string
	}{
		"the same list":        {same, same, ""},
		"both empty":           {nil, [][]byte{}, ""},
		"equal":                {[][]byte{tool("a", 1), tool("b", 1)}, [][]byte{tool("b", 1), tool("a", 1)}, ""},
		"own is longer":        {[][]byte{tool("a", 1)}, [][]byte{tool("a", 1), tool("b", 1)}, ""},
		"own is empty":         {[][]byte{tool("a", 1)}, nil, "a"},
		"one is missing":       {[][]byte{tool("a", 1), tool("b", 1)}, [][]byte{tool("b", 1)}, "a"},
		"another input schema": {[][]byte{tool("a", 1), tool("b", 1)}, [][]byte{tool("a", 2), tool("b", 1)}, "a"},
		"all differ":           {[][]byte{tool("a", 1), tool("b", 1)}, [][]byte{tool("a", 2), tool("b", 2)}, "a, b"},
		"another description":  {[][]byte{tool("a", 1)}, [][]byte{described}, ""},
		"an output schema":     {[][]byte{tool("a", 1)}, [][]byte{output}, "a"},
		"large numbers differ": {[][]byte{tool("a", 9007199254740993)}, [][]byte{tool("a", 9007199254740992)}, "a"},
	} {
		if got := joinNames(deviatingTools(c.listed, c.own)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A warning names at most maxNamedTools tools.
func TestWarningNamesFewTools(t *testing.T) {
	tools := map[string]bool{}
	for i := range maxNamedTools + 3 {
		if got := joinNames(tools); i <= maxNamedTools && (strings.Count(got, "t") != i || strings.Contains(got, "more")) {
			t.Errorf("%d tools: %q", i, got)
		}
		tools[fmt.Sprintf("t%02d", i)] = true
	}
	if got, want := joinNames(tools), "t00, t01, t02, t03, t04, t05, t06, t07 and 3 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
