package actors

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// startup orders the start of the gateway's children: the store reads the state file, then the registry starts, then the
// meta server, and last the stateless sessions and the servers.
type startup struct {
	loaded *message.StateLoaded // content of the state file; nil until it has been read
	early  []any                // OpenSession and OpenStdio messages that arrived before the registry started
	done   bool                 // the servers have been started
}

func (s *state) stepStartup(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return append(out, kernel.Act(startStore{}))
	case storeStarted:
		s.store = m.ref
		return s.startRegistry(out)
	case message.StateLoaded:
		s.startup.loaded, s.servers.known = &m, maps.Clone(m.Catalogs)
		for _, key := range slices.Sorted(maps.Keys(m.Tokens)) {
			out = append(out, kernel.Act(rememberToken{key, m.Tokens[key]}))
		}
		if m.Audit.N != 0 {
			out = append(out, kernel.Act(auditMarkLoaded{m.Audit}))
		}
		return s.startRegistry(out)
	case registryStarted:
		s.registry = m.ref
		return append(out, kernel.Act(startMeta{}))
	case metaStarted:
		s.meta = m.ref
		return s.startServers(now, s.registerMeta(out))
	}
	return out
}

// startRegistry starts the registry once the store runs and the state file has been read.
func (s *state) startRegistry(out []kernel.Effect) []kernel.Effect {
	if s.store.IsZero() || s.startup.loaded == nil {
		return out
	}
	return append(out, kernel.Act(startRegistry{s.naming(s.config), s.config.Projects, enabledServers(s.config)}))
}

// registerMeta adds the gateway's own tools to the registry. The naming decides whether clients see them, so a reload that switches
// them on or off starts and stops no actor.
func (s *state) registerMeta(out []kernel.Effect) []kernel.Effect {
	if s.meta.IsZero() { // the gateway is stopping
		return out
	}
	return append(out,
		kernel.Tell(s.registry, message.SetServerRules{Server: meta.Server(s.meta)}),
		kernel.Tell(s.registry, message.ServerCatalog{Server: meta.Name, Kind: protocol.Tools, Items: meta.Tools()}))
}

// startServers starts the stateless sessions and the servers, then opens the sessions requested so far. The registry already
// knows the gateway's own tools, so no client sees a catalog without them. The stateless sessions start before any session,
// so they receive each new catalog first.
func (s *state) startServers(now time.Time, out []kernel.Effect) []kernel.Effect {
	out = append(out, kernel.Act(startStateless{s.config.Limits, s.servers.expected(s.config), s.startup.loaded.Key}),
		kernel.Tell(s.registry, message.Subscribe{From: s.self}))
	for _, server := range s.config.Servers {
		out = s.startServer(server, out)
	}
	s.startup.done = true
	s.dropPeerCatalogs()
	out = s.principals.serversStarted(out)
	early := s.startup.early
	s.startup.early = nil
	for _, open := range early {
		out = step(s, now, open, out)
	}
	return out
}

// naming returns the settings of c with which the registry builds public names and views.
func (s *state) naming(c *config.Config) catalog.Naming {
	return catalog.Naming{
		Policy: s.reloads.policy, Namespace: c.Namespace, URIStyle: c.Resources.URIStyle, Unlisted: c.Resources.Unlisted,
		PageSize: c.PageSize, MetaTools: c.MetaTools != "false", OnlyMeta: c.MetaTools == "only", AutoMeta: c.MetaTools == "auto",
		Version: s.version, ServerInfo: c.ServerInfo, Instructions: c.Instructions,
	}
}

// enabledServers counts the servers that are not disabled.
func enabledServers(c *config.Config) int {
	n := 0
	for _, server := range c.Servers {
		if !server.Disabled {
			n++
		}
	}
	return n
}
