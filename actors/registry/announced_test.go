package registry

import (
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/fieldtest"
	"goblin-actor/protocol"
)

// newWorld returns a registry that has just published the tool b of server s, so the next snapshot has to wait.
func newWorld(t *testing.T) *world {
	w := &world{t: t, s: newState(Options{Naming: naming}), now: time.Unix(1e9, 0), last: map[kernel.Reference]*catalog.Snapshot{},
		early: map[kernel.Reference]bool{}, announced: map[string]bool{}}
	w.known = w.s.snapshot
	w.step(message.SetServerRules{Server: catalog.Server{Name: "s"}})
	w.step(message.SetServerRules{Server: catalog.Server{Name: "other", Order: 1}})
	w.step(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("a")})
	w.pass(time.Minute)
	w.step(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("b")})
	return w
}

// S0.4.4: An announced change counts in the next snapshot, whatever other messages arrive before it is built.
func TestAnnouncedChangesAreKept(t *testing.T) {
	list := func(server string, kind protocol.ItemKind, names ...string) any {
		return message.ServerCatalog{Server: server, Kind: kind, Items: items(names...)}
	}
	for name, between := range map[string][]any{
		"nothing":                       nil,
		"an equal list":                 {list("s", protocol.Tools, "b")},
		"another list, and back":        {list("s", protocol.Tools, "c"), list("s", protocol.Tools, "b")},
		"a list of another kind":        {list("s", protocol.Prompts)},
		"a list of another server":      {list("other", protocol.Tools)},
		"another silence, and back":     {message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("b"), Silent: true}, list("s", protocol.Tools, "b")},
		"other rules":                   {message.SetServerRules{Server: catalog.Server{Name: "s", Order: 2}}},
		"a confirmation, and a restart": {message.Confirm{Key: 1}, kernel.Started{}},
		"disabled, and enabled": {message.SetServerRules{Server: catalog.Server{Name: "s", Rules: config.Server{Disabled: true}}},
			message.SetServerRules{Server: catalog.Server{Name: "s"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.s.snapshot
			w.announce("s")
			w.step(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("b"), Announced: true})
			for _, msg := range between {
				if msg == (kernel.Started{}) { // a restart loses the timers
					w.timers = nil
				}
				w.step(msg)
			}
			if w.s.snapshot != before {
				t.Fatal("the snapshot was built before the end of the sequence")
			}
			w.pass(time.Second)
			if after := w.s.snapshot; after.Generation[protocol.Tools] <= before.Generation[protocol.Tools] {
				t.Errorf("generation of tools is %d after %d", after.Generation[protocol.Tools], before.Generation[protocol.Tools])
			}
			if len(w.announced) > 0 {
				t.Errorf("not in a snapshot: %v", w.announced)
			}
			last := w.s.snapshot
			w.step(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("b")})
			w.pass(time.Second)
			if w.s.snapshot != last {
				t.Error("the announcement counted twice")
			}
		})
	}
}

// A server, naming or project that differs in any field leads to a new snapshot.
func TestEveryFieldIsPublished(t *testing.T) {
	rebuilt := func(msg any) bool {
		w := newWorld(t)
		w.pass(time.Minute)
		before := w.s.snapshot
		w.step(msg)
		w.pass(time.Minute)
		return w.s.snapshot != before
	}
	if rebuilt(message.SetServerRules{Server: catalog.Server{Name: "s"}}) || rebuilt(message.CatalogNaming{Naming: naming}) {
		t.Error("equal settings lead to a new snapshot")
	}
	fieldtest.Noticed(t, catalog.Server{Name: "s"}, nil, func(_ string, changed catalog.Server) bool {
		return rebuilt(message.SetServerRules{Server: changed})
	})
	fieldtest.Noticed(t, message.CatalogNaming{Naming: naming, Projects: nil}, nil, func(_ string, changed message.CatalogNaming) bool {
		return rebuilt(changed)
	})
	w := newWorld(t)
	project := config.Project{Name: "p", Servers: []string{"s"}}
	w.step(message.CatalogNaming{Naming: naming, Projects: []config.Project{project}})
	w.pass(time.Minute)
	fieldtest.Noticed(t, project, nil, func(_ string, changed config.Project) bool {
		before := w.s.snapshot
		w.step(message.CatalogNaming{Naming: naming, Projects: []config.Project{changed}})
		w.pass(time.Minute)
		noticed := w.s.snapshot != before
		w.step(message.CatalogNaming{Naming: naming, Projects: []config.Project{project}})
		w.pass(time.Minute)
		return noticed
	})
}
