package actors

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// A node that joins gets the catalogs of all servers that another node knows, in parts, but neither those of servers with logins nor those
// that are too large. A part that is missing or repeated makes a catalog worthless, and has no other effect.
func TestPeerCatalogs(t *testing.T) {
	knows, joins := &state{config: &config.Config{}}, &state{servers: newServers(), config: &config.Config{}}
	knows.servers.known = map[string]*message.KnownCatalog{}
	for name, size := range map[string]int{"b": 100_000, "a": 10, "login": 10, "disabled": 10, "group": 10, "large": cluster.MaxCatalog, "z": 10} {
		server := config.Server{Name: name, URLs: []string{"https://" + name}}
		if server.Auth.Type = "none"; name == "login" {
			server.Auth.Type = "oauth"
		}
		server.Disabled = name == "disabled"
		if name == "group" {
			server.URLs, server.Members = nil, []config.Server{{Name: "group/1", URLs: []string{"https://one"}}}
		}
		knows.config.Servers = append(knows.config.Servers, server)
		known := &message.KnownCatalog{Info: &message.ServerInfo{}, At: time.Unix(1, 0)}
		known.Lists[0].Items = [][]byte{[]byte(name + strings.Repeat("x", size))}
		knows.servers.known[pool.CatalogIdentity(server)] = known
	}
	knows.config.Servers = append(knows.config.Servers, config.Server{Name: "unknown"})
	fetch := func(each func(*cluster.CatalogPart)) (parts int) {
		for after := ""; parts < 100; parts++ {
			next := ""
			a := knows.catalogAfter(message.ListCatalogs{After: after, Reply: func(part *cluster.CatalogPart, n string) {
				if next = n; part != nil {
					each(part)
				}
			}})
			a.send()
			if after = next; next == "" {
				return parts + 1
			}
		}
		return parts
	}
	parts := fetch(func(part *cluster.CatalogPart) { joins.heardCatalog(part, nil) })
	for _, name := range []string{"a", "b", "z"} {
		known := joins.servers.peers.known[name]
		if known == nil || !bytes.HasPrefix(known.Lists[0].Items[0], []byte(name+"x")) {
			t.Errorf("%s: %v", name, known)
		}
	}
	if len(joins.servers.peers.known) != 3 || parts != 6 || joins.servers.peers.data != nil {
		t.Errorf("%d catalogs in %d parts", len(joins.servers.peers.known), parts)
	}
	joins.config = &config.Config{Servers: []config.Server{{Name: "a"}, {Name: "b"}, {Name: "z", Disabled: true}}}
	if joins.dropPeerCatalogs(); len(joins.servers.peers.known) != 2 {
		t.Error("the catalog of a disabled server is kept")
	}
	out := joins.stepServers(poolStarted{server: "a"}, nil)
	if len(out) != 1 || len(joins.servers.peers.known) != 1 {
		t.Errorf("a new pool gets %v", out)
	}
	joins.config = knows.config
	b := config.Server{Name: "b", URLs: []string{"https://b"}}
	joins.stepServers(message.RememberCatalog{Server: pool.CatalogIdentity(b), Known: joins.servers.peers.known["b"]}, nil)
	if a := joins.catalogAfter(message.ListCatalogs{}); a.server != "b" || a.known == nil {
		t.Errorf("the next node that joins gets the catalog of %q", a.server)
	}
	joins = &state{servers: newServers(), config: knows.config}
	fetch(func(part *cluster.CatalogPart) { joins.heardCatalog(part, nil) })
	if a := joins.catalogAfter(message.ListCatalogs{}); a.server != "a" || a.known == nil || a.next != "b" {
		t.Errorf("a node that asks this one for what it has heard gets %q, then %q", a.server, a.next)
	}
	joins = &state{servers: newServers(), config: &config.Config{}}
	fetch(func(part *cluster.CatalogPart) {
		if part.Offset != cluster.MaxCatalogPart {
			joins.heardCatalog(part, nil)
		}
		joins.heardCatalog(&cluster.CatalogPart{Server: "a", Size: 2, Data: []byte("xx")}, nil)
	})
	if got := fmt.Sprint(len(joins.servers.peers.known)); got != "2" {
		t.Errorf("with a missing part: %s catalogs", got)
	}
	joins.servers.pools = map[string]kernel.Reference{"z": {}}
	var told []kernel.Effect
	fetch(func(part *cluster.CatalogPart) { told = joins.heardCatalog(part, told) })
	if len(told) != 1 {
		t.Errorf("a pool that runs gets %v", told)
	}
}

// ShowCatalogs is answered once clients see each catalog that has arrived: as a cached one, or as the lists of the server itself. A server
// that has failed, and shows nothing, delays the answer; one that is not configured any more does not.
func TestShowCatalogs(t *testing.T) {
	show := func(servers ...catalog.Server) *catalog.Snapshot {
		var sources []catalog.Source
		for i := range servers {
			sources = append(sources, catalog.Source{Server: &servers[i]})
		}
		return catalog.Build(nil, sources, catalog.Naming{Namespace: config.Default().Namespace, PageSize: 10})
	}
	a, b, failed := catalog.Server{Name: "a", State: catalog.Cached}, catalog.Server{Name: "b", Protocol: "2025-06-18"}, catalog.Server{Name: "a", Settled: true}
	tests := []struct {
		name     string
		heard    []string
		snapshot *catalog.Snapshot
		want     bool
	}{
		{"nothing has arrived", nil, nil, true},
		{"no server has started", []string{"a"}, nil, false},
		{"one is missing", []string{"a", "b"}, show(a), false},
		{"one has failed", []string{"a", "b"}, show(failed, b), false},
		{"all are shown", []string{"a", "b"}, show(a, b), true},
		{"one is removed", []string{"a", "gone"}, show(a), true},
	}
	for _, test := range tests {
		s := &state{servers: newServers(), snapshot: test.snapshot, config: &config.Config{Servers: []config.Server{{Name: "a"}, {Name: "b"}}}}
		for _, name := range test.heard {
			s.servers.peers.await(name)
		}
		answered := false
		out := s.stepPeerCatalogs(message.ShowCatalogs{Reply: func() { answered = true }}, nil)
		for range 2 {
			for _, e := range out {
				if seen, is := e.Act.(catalogsSeen); is {
					seen.reply()
				}
			}
			if answered != test.want {
				t.Errorf("%s: answered %t, want %t", test.name, answered, test.want)
			}
			if test.want {
				break
			}
			test.want = true
			out = s.stepStatus(message.Published{Snapshot: show(a, b)}, nil)
		}
	}
}
