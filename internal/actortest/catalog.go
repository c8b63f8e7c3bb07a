package actortest

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/config"
)

// View returns the catalog as seen by clients that have access to all the given servers.
func View(t *testing.T, servers ...catalog.Server) *catalog.View {
	t.Helper()
	var sources []catalog.Source
	for i, server := range servers {
		server.Order = i
		sources = append(sources, catalog.Source{Server: &server})
	}
	naming := catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix"}
	view, ok := catalog.Build(nil, sources, naming).View(catalog.Key{})
	if !ok {
		t.Fatal("no view")
	}
	return view
}

// Snapshot returns a catalog of one server without items.
func Snapshot(settled bool) *catalog.Snapshot {
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: settled}}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "prefix", PageSize: 10}
	return catalog.Build(nil, []catalog.Source{source}, naming)
}
