package admission

import (
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
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
