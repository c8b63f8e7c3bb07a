package admission

import (
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/seal"
)

// A principal's id of a task leads only this principal to the task, whatever id the server uses. Without authentication, the public id
// is the server's name and its own id.
func FuzzTaskIDs(f *testing.F) {
	for _, own := range []string{"7", "a/b", "~", "a~b~", "", "7~AAAAAAAAAAAAAAAAAAAAAA", "\x00", strings.Repeat("x", 300)} {
		f.Add(own, "key:a", "key:b")
	}
	sealer := seal.New([32]byte{1})
	f.Fuzz(func(t *testing.T, own, a, b string) {
		view := actortest.View(t, catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728})
		leads := func(id, principal string) bool {
			server, found := ModernTask(view, id, TaskIDs{Sealer: sealer, Principal: principal})
			return server != nil && found == own
		}
		id := TaskIDs{Sealer: sealer, Principal: a}.Public(&catalog.Server{Name: "one"}, own)
		if got := leads(id, a); got != (own != "") {
			t.Errorf("%q of %q leads there: %v", id, a, got)
		}
		if a != b && a != "" && leads(id, b) {
			t.Errorf("%q of %q leads %q there", id, a, b)
		}
		if a == "" && id != PublicTaskID("one", own) {
			t.Errorf("without authentication the id is %q", id)
		}
		_, _ = ModernTask(view, own, TaskIDs{Sealer: sealer, Principal: a}) // an id made up by the client
	})
}

// Whichever nodes of a cluster are between the client and the server, the client gets the same id for a task.
func TestTaskIDsInACluster(t *testing.T) {
	const run, own = "a", "7~x/y"
	server := func(at, run string, urls ...string) *catalog.Server {
		return &catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728, Rules: config.Server{Run: run, Hop: at, URLs: urls}}
	}
	sealer := seal.NewShared(oneNode{})
	here, there := server("", run), server("a", run, "https://a/s/one/mcp")
	for _, principal := range []string{"", "key:ann@0000000000000001"} {
		ids := TaskIDs{Sealer: sealer, Principal: principal}
		direct := ids.Public(here, own)
		hop := TaskIDs{Sealer: sealer, Principal: principal, Hop: true}
		if through := ids.Public(there, hop.Public(here, own)); through != direct || ids.NodeOf(direct) != "" {
			t.Errorf("%q at the server's node, %q through another one", direct, through)
		}
		view := actortest.View(t, *here)
		if found, id := ModernTask(view, own, hop); found == nil || id != own {
			t.Errorf("a hop finds %v, %q", found, id)
		}
		if each := ids.Public(server("", config.RunEach), own); ids.NodeOf(each) != sealer.Node() {
			t.Errorf("%q does not name the node of the process", each)
		}
	}
}

// oneNode implements seal.Nodes.
type oneNode struct{}

func (oneNode) Current() string             { return "abcdefg2" }
func (oneNode) StateKeys(string) [][32]byte { return [][32]byte{{1}} }
func (oneNode) TaskKeys() [][32]byte        { return [][32]byte{{2}} }
