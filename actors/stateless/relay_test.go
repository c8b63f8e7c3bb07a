package stateless

import (
	"crypto/sha256"
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A modern server's input_required result is passed on if it has requests that the client can answer, a state, or both (MCP
// 2026-07-28, basic/patterns/mrtr).
func TestRelay(t *testing.T) {
	const form = `{"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`
	for _, c := range []struct{ name, result, want string }{
		{"questions and a state", `"inputRequests":{"k":` + form + `},"requestState":"s"`, "result with state"},
		{"questions", `"inputRequests":{"k":` + form + `}`, "result"},
		{"an empty list of questions and a state", `"inputRequests":{},"requestState":"s"`, "result with state"},
		{"a state alone", `"requestState":"s"`, "result with state"},
		{"neither", `"x":1`, string(protocol.InternalFault)},
		{"requests that are not an object", `"inputRequests":7,"requestState":"s"`, string(protocol.InternalFault)},
		{"not declared", `"inputRequests":{"k":{"method":"roots/list"}}`, string(protocol.ClientCannotAnswer)},
		{"a request that is not a question", `"inputRequests":{"k":{"method":"tools/list"}}`, string(protocol.InternalFault)},
		{"an unknown mode", `"inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"x"}}}`, string(protocol.InternalFault)},
	} {
		d := newStatelessScript(t, 1)
		d.step(d.asking(1, `{"elicitation":{}}`, ``, "", ""))
		frame := d.frame(`{"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required",%s}}`, c.result)
		got := "nothing"
		for _, e := range step(d.s, d.now, message.Done{Seq: d.first(), Frame: frame}, nil) {
			switch a := e.Act.(type) {
			case reply.Answer:
				got = "result"
				if strings.Contains(string(a.Frame), `"requestState":"`) && !strings.Contains(string(a.Frame), `"requestState":"s"`) {
					got = "result with state"
				}
			case reply.Refuse:
				got = string(a.Fault.Name)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// Any node of a cluster continues a call to a modern server that all nodes reach. A legacy server may know its state only on the
// connection of the node that has called it.
func TestAnyNodeContinues(t *testing.T) {
	urls := append([]byte{askedURLsMark, 1}, make([]byte, sha256.Size)...)
	remote := config.Server{URLs: []string{"http://127.0.0.1/mcp"}}
	hop, isolated := remote, remote
	hop.Hop, isolated.Isolation = "b", "principal"
	for _, c := range []struct {
		name    string
		rules   config.Server
		version string
		inner   []byte
		want    bool
	}{
		{"modern", remote, protocol.Version20260728, []byte(`"s"`), true},
		{"legacy", remote, protocol.Version20251125, []byte(`"s"`), false},
		{"version not known", remote, "", []byte(`"s"`), false},
		{"legacy, starts again after URLs", remote, protocol.Version20251125, urls, true},
		{"a process", config.Server{Command: "server"}, protocol.Version20260728, []byte(`"s"`), false},
		{"through another node", hop, protocol.Version20260728, []byte(`"s"`), false},
		{"isolated", isolated, protocol.Version20260728, []byte(`"s"`), false},
	} {
		v := &heldCall{}
		v.Upstream = &catalog.Server{Rules: c.rules, Protocol: c.version}
		if got := anyNodeContinues(v, c.inner); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
