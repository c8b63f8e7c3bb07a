package actors

import (
	"log/slog"
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/config"
)

// maxKnown is the maximum number of remembered catalogs. A server whose pool.CatalogIdentity changes counts again.
const maxKnown = 1024

// servers holds the pools, one for each running server, and the catalogs remembered for their next start.
type servers struct {
	pools    map[string]kernel.Reference      // by server
	stopping map[string]kernel.Reference      // by server; a new pool of the same name starts after the old one has ended
	known    map[string]*message.KnownCatalog // last known catalogs, by pool.CatalogIdentity
	peers    peerCatalogs
}

func newServers() servers {
	return servers{pools: map[string]kernel.Reference{}, stopping: map[string]kernel.Reference{}}
}

// tell sends msg to every pool, in the order of the servers' names.
func (v *servers) tell(msg any, out []kernel.Effect) []kernel.Effect {
	for _, name := range slices.Sorted(maps.Keys(v.pools)) {
		out = append(out, kernel.Tell(v.pools[name], msg))
	}
	return out
}

// runs reports whether pool is the pool of a running server.
func (v *servers) runs(pool kernel.Reference) bool {
	for _, ref := range v.pools {
		if ref == pool {
			return true
		}
	}
	return false
}

// ended removes a pool that has ended and returns its server, or "" if child is not a pool. The result wasStopping reports
// whether the gateway had stopped the pool.
func (v *servers) ended(child kernel.Reference) (server string, wasStopping bool) {
	for name, ref := range v.pools {
		if ref == child {
			delete(v.pools, name)
			return name, false
		}
	}
	for name, ref := range v.stopping {
		if ref == child {
			delete(v.stopping, name)
			return name, true
		}
	}
	return "", false
}

// remember stores a server's catalog for its next pool, unless maxKnown catalogs of other servers are stored.
func (v *servers) remember(m message.RememberCatalog) {
	if _, has := v.known[m.Server]; !has && len(v.known) >= maxKnown {
		return
	}
	if v.known == nil {
		v.known = map[string]*message.KnownCatalog{}
	}
	v.known[m.Server] = m.Known
}

// expected returns the number of servers that a client on stdio waits for, in its session or in a stateless session. The wait
// lasts at most admission.StartWait. Servers without a known catalog count only if no server has one, because the client would
// otherwise see an empty catalog.
func (v *servers) expected(c *config.Config) int {
	known := 0
	for _, server := range c.Servers {
		if !server.Disabled && server.Fault == "" && v.known[pool.CatalogIdentity(server)] != nil {
			known++
		}
	}
	if known > 0 {
		return known
	}
	return enabledServers(c)
}

func (s *state) stepServers(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case poolStarted:
		s.servers.pools[m.server] = m.ref
		out = s.takePeerCatalog(m.server, m.ref, out)
		if s.levels.current != "" {
			return append(out, kernel.Tell(m.ref, message.SetLevel{Level: s.levels.current}))
		}
	case message.NodeJoined, message.NodesChanged:
		return s.servers.tell(m, out)
	case message.RememberCatalog:
		s.servers.remember(m)
		return append(out, kernel.Tell(s.store, m))
	}
	return out
}

func (s *state) startServer(server config.Server, out []kernel.Effect) []kernel.Effect {
	if s.registry.IsZero() {
		return out // startServers will start it
	}
	if server.Disabled {
		return append(out, kernel.Log(slog.LevelInfo, "server is disabled", "server", server.Name))
	}
	if _, stopping := s.servers.stopping[server.Name]; stopping {
		return out // poolEnded will start it
	}
	known := s.servers.known[pool.CatalogIdentity(server)]
	return append(out, kernel.Act(startPool{server, s.config.Limits, s.startup.loaded.Eras, known}))
}

// changeServer sends a server's new configuration to its pool, or starts or stops the server if it was enabled or disabled.
func (s *state) changeServer(server config.Server, transport bool, w *reloadWaiter, out []kernel.Effect) []kernel.Effect {
	ref, running := s.servers.pools[server.Name]
	switch {
	case server.Disabled:
		return s.removeServer(server.Name, out)
	case !running:
		return s.startServer(server, out)
	}
	known := s.servers.known[pool.CatalogIdentity(server)]
	return append(out, kernel.Tell(ref, message.Reconfigure{Server: server, Transport: transport, Known: known, Confirm: w.confirm()}))
}

func (s *state) removeServer(name string, out []kernel.Effect) []kernel.Effect {
	ref, ok := s.servers.pools[name]
	if !ok {
		return out
	}
	delete(s.servers.pools, name)
	s.servers.stopping[name] = ref
	return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: name}), kernel.Act(stopChild{ref}))
}

// poolEnded runs after a stopped pool has ended. It removes the server from the registry once more, in case the pool has reported
// something since removeServer. A server that has been added or enabled again since then gets a new pool.
func (s *state) poolEnded(name string, out []kernel.Effect) []kernel.Effect {
	out = append(out, kernel.Tell(s.registry, message.RemoveServer{Server: name}))
	i := slices.IndexFunc(s.config.Servers, func(server config.Server) bool { return server.Name == name })
	if i < 0 || s.config.Servers[i].Disabled || s.drain.started {
		return out
	}
	return s.startServer(s.config.Servers[i], out)
}
