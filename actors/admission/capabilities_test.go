package admission

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

const tasksOffered = `{"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"vendor/x":{}}}`

func TestAnnouncedExtensions(t *testing.T) {
	modern := catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728}
	other := catalog.Server{Name: "two", Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{"b":2},"io.modelcontextprotocol/ui":{}}}`), Protocol: protocol.Version20260728}
	for _, c := range []struct {
		servers []catalog.Server
		era     protocol.Era
		want    string
	}{
		{nil, protocol.EraModern, ``},
		{[]catalog.Server{{Name: "one"}, {Name: "two", Capabilities: []byte(`{"extensions":7}`)}}, protocol.EraModern, ``},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":{"x":{}}}`)}}, protocol.EraLegacy, `"experimental":{"x":{}},`},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":true}`)}}, protocol.EraModern, ``},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":{"x":{}}}`)}, {Name: "two"}}, protocol.EraModern, ``},
		{[]catalog.Server{modern}, protocol.EraModern, `"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"vendor/x":{}},`},
		{[]catalog.Server{modern}, protocol.EraLegacy, `"extensions":{"vendor/x":{}},`},
		{[]catalog.Server{modern, other}, protocol.EraModern, `"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"io.modelcontextprotocol/ui":{}},`},
		{[]catalog.Server{modern, other}, protocol.EraLegacy, `"extensions":{"io.modelcontextprotocol/ui":{}},`},
	} {
		if got, want := string(CapabilitiesFor(actortest.View(t, c.servers...), c.era)), `{`+c.want+capabilities[1:]; got != want {
			t.Errorf("%d servers, era %s: %s, want %s", len(c.servers), c.era, got, want)
		}
	}
}
