package admission

import (
	"fmt"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// thousand returns a catalog of a thousand tools, with a policy of three roles or without one.
func thousand(tb testing.TB, roles bool) (*catalog.Snapshot, catalog.Key) {
	tb.Helper()
	var tools [][]byte
	for i := range 1000 {
		tools = append(tools, fmt.Appendf(nil, `{"name":"tool%d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`, i))
	}
	naming := catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix", MetaTools: true}
	key := catalog.Key{}
	if roles {
		naming.Policy = policy.Compile(config.Policy{Present: true, Roles: []config.Role{
			{Name: "a", ReadOnly: true, Tools: config.Filter{Deny: []string{"*_delete", "*9"}}}, {Name: "b", Servers: []string{"two"}}, {Name: "c", Tools: config.Filter{Allow: []string{"one/*", "x_*"}}}}})
		key.Rights, key.Policy = "a,b,c", naming.Policy
	}
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer()}}
	source.Items[protocol.Tools] = tools
	return catalog.Build(nil, []catalog.Source{source}, naming), key
}

// aims returns a function that resolves a call as a stateless session does, with a new lookup of the view.
func aims(tb testing.TB, roles bool) func() {
	snapshot, key := thousand(tb, roles)
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(tb, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_tool500","arguments":{}}}`)
	return func() {
		view, _ := snapshot.View(key)
		if _, _, fault := FindTarget(view, x); fault != nil {
			tb.Fatal(fault)
		}
	}
}

// BenchmarkPermittedCall compares resolving a call with and without a policy of three roles.
func BenchmarkPermittedCall(b *testing.B) {
	for name, roles := range map[string]bool{"no policy": false, "three roles": true} {
		b.Run(name, func(b *testing.B) {
			aim := aims(b, roles)
			b.ReportAllocs()
			for b.Loop() {
				aim()
			}
		})
	}
}

// A permitted call allocates no more with a policy than without one.
func TestPermittedCallAllocates(t *testing.T) {
	none, three := aims(t, false), aims(t, true)
	none()
	three()
	if without, with := testing.AllocsPerRun(100, none), testing.AllocsPerRun(100, three); with > without {
		t.Errorf("%v allocations, without a policy %v", with, without)
	}
}
