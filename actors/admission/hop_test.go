package admission

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A hop shows a whole server to another node, whatever the policy, as long as the principal of its client exists.
func TestHopsAreAdmitted(t *testing.T) {
	ann := &identity.Principal{ID: "key:ann", Via: identity.ViaKey, Holder: "key:ann@0000000000000001", Rights: "reader", Projects: []string{"p"}}
	bob := &identity.Principal{ID: "key:bob", Via: identity.ViaKey, Holder: "key:bob@0000000000000001"}
	e := Entrance{Newest: map[string]*identity.Principal{ann.Holder: ann}, Epoch: 7}
	for name, c := range map[string]struct {
		path      string
		who       *identity.Principal
		status    int
		principal string
	}{
		"of the node":                        {"/s/one/mcp", nil, 0, ""},
		"of a principal":                     {"/s/one/mcp", ann, 0, ann.Holder},
		"of one that is gone":                {"/s/one/mcp", bob, 421, ""},
		"for the whole catalog":              {"/mcp", ann, 404, ""},
		"for a project":                      {"/p/p/mcp", ann, 404, ""},
		"for a path that is not an endpoint": {"/x", ann, 404, ""},
	} {
		a, refusal := e.Admit(&downstream.Origin{Path: c.path, Principal: identity.OnBehalf(identity.Behalf{Who: c.who, Client: "k"})}, nil)
		status := 0
		if refusal != nil {
			status = refusal.Status
		}
		if status != c.status {
			t.Errorf("%s: status %d, want %d", name, status, c.status)
		}
		if status == 0 && (a.Principal() != c.principal || a.Who != identity.Node || a.Epoch != 7 || a.View != catalog.Key{Server: "one", Rights: identity.AllRights}) {
			t.Errorf("%s: %+v of %q", name, a, a.Principal())
		}
	}
}

// Another node can use a server only in the server's era, and only if the server runs here and has been ready.
func TestHopTarget(t *testing.T) {
	for name, c := range map[string]struct {
		hop, version string
		era          protocol.Era
		ok, later    bool
	}{
		"legacy":                   {"", "2025-06-18", protocol.EraLegacy, true, false},
		"modern":                   {"", "2026-07-28", protocol.EraModern, true, false},
		"legacy, by a modern one":  {"", "2025-06-18", protocol.EraModern, false, false},
		"modern, by a legacy one":  {"", "2026-07-28", protocol.EraLegacy, false, false},
		"not ready":                {"", "", protocol.EraLegacy, false, true},
		"of another node yet":      {"c", "2025-06-18", protocol.EraLegacy, false, true},
		"of another node, unknown": {"c", "", protocol.EraLegacy, false, true},
		"a group":                  {"member", "2025-06-18", protocol.EraLegacy, false, true},
	} {
		rules := config.DefaultServer()
		if rules.Hop = c.hop; c.hop == "member" {
			rules.Hop, rules.Members = "", []config.Server{{Name: "m", Hop: "c"}}
		}
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: rules, Settled: true, Protocol: c.version}}
		view, ok := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace, PageSize: 10}).View(catalog.Key{Server: "one"})
		if !ok {
			t.Fatal("no view")
		}
		server, why, later := HopTarget(view, c.era)
		if (server != nil) != c.ok || later != c.later || (why == "") != c.ok {
			t.Errorf("%s: %v, %q, later %v", name, server, why, later)
		}
	}
}
