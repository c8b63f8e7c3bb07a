package edge

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

const tasksOffered = `{"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"vendor/x":{}}}`

func TestExtensionsTold(t *testing.T) {
	modern := catalog.Server{Name: "one", Capabilities: []byte(tasksOffered), Protocol: protocol.Version20260728}
	other := catalog.Server{Name: "two", Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{"b":2},"io.modelcontextprotocol/ui":{}}}`), Protocol: protocol.Version20260728}
	for _, c := range []struct {
		servers []catalog.Server
		modern  bool
		want    string
	}{
		{nil, true, ``},
		{[]catalog.Server{{Name: "one"}, {Name: "two", Capabilities: []byte(`{"extensions":7}`)}}, true, ``},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":{"x":{}}}`)}}, false, `"experimental":{"x":{}},`},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":true}`)}}, true, ``},
		{[]catalog.Server{{Name: "one", Capabilities: []byte(`{"experimental":{"x":{}}}`)}, {Name: "two"}}, true, ``},
		{[]catalog.Server{modern}, true, `"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"vendor/x":{}},`},
		{[]catalog.Server{modern}, false, `"extensions":{"vendor/x":{}},`},
		{[]catalog.Server{modern, other}, true, `"extensions":{"io.modelcontextprotocol/tasks":{"a":1},"io.modelcontextprotocol/ui":{}},`},
		{[]catalog.Server{modern, other}, false, `"extensions":{"io.modelcontextprotocol/ui":{}},`},
	} {
		if got, want := string(CapabilitiesFor(actortest.View(t, c.servers...), c.modern)), `{`+c.want+capabilities[1:]; got != want {
			t.Errorf("%d servers, modern %v: %s, want %s", len(c.servers), c.modern, got, want)
		}
	}
}
