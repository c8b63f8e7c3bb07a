package admission

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A client can name a replica. If another node runs it, the request names it as that node does.
func TestNamedReplica(t *testing.T) {
	rules := config.DefaultServer()
	rules.Name = "one"
	away := rules
	away.Hop, away.HopReplicas = "b", 3
	rules.Replicas = 2
	for _, c := range []struct {
		rules    config.Server
		name     string
		replica  int
		original string // replaces the name; "" = the name is right
		found    bool
	}{
		{rules, "one_x", 0, `"x"`, true}, {rules, "one:x@1", 2, `"x"`, true}, {rules, "one:x@2", 0, "", false},
		{away, "one_x", 0, `"x"`, true}, {away, "one:x@2", 1, "", true}, {away, "one:x@3", 0, "", false},
	} {
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: c.rules}}
		source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"x","inputSchema":{"type":"object"}}`)}
		naming := catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix", PageSize: 10}
		view := catalog.Build(nil, []catalog.Source{source}, naming).Whole()
		x := &downstream.Exchange{}
		if err := x.Frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.name + `"}}`)); err != nil {
			t.Fatal(err)
		}
		if err := x.Params.Scan(&x.Frame); err != nil {
			t.Fatal(err)
		}
		target, fault := Resolve(view, x)
		if (fault == nil) != c.found {
			t.Errorf("%s: %v", c.name, fault)
		}
		if fault != nil {
			continue
		}
		r, fault := target.Request(x, &message.Caller{})
		if fault != nil || r.Replica != c.replica || string(r.Original) != c.original || r.Item != "x" {
			t.Errorf("%s: replica %d, %s, item %s, %v; want %d, %s", c.name, r.Replica, r.Original, r.Item, fault, c.replica, c.original)
		}
	}
}
