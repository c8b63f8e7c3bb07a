package actors

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
)

// enabled counts the servers that are to run.
func (s *state) enabled() int {
	n := 0
	for _, server := range s.config.Servers {
		if !server.Disabled {
			n++
		}
	}
	return n
}

func (s *state) naming(c *config.Config) catalog.Naming {
	return catalog.Naming{Policy: s.policy, Namespace: c.Namespace, URIStyle: c.Resources.URIStyle, Unlisted: c.Resources.Unlisted, PageSize: c.PageSize, MetaTools: c.MetaTools != "false", OnlyMeta: c.MetaTools == "only", AutoMeta: c.MetaTools == "auto",
		Version: s.version, ServerInfo: c.ServerInfo, Instructions: c.Instructions}
}

func (s *state) startServer(server config.Server, out []kernel.Effect) []kernel.Effect {
	if s.registry.IsZero() {
		return out // begun will
	}
	if server.Disabled {
		return append(out, kernel.Log(slog.LevelInfo, "server is disabled", "server", server.Name))
	}
	if _, stops := s.leaving[server.Name]; stops {
		return out // poolGone will
	}
	return append(out, kernel.Act(startPool{server, s.config.Limits, s.loaded.Eras, s.known[pool.CatalogIdentity(server)]}))
}

// reload applies what differs between the configuration in force and the new one.
func (s *state) reload(m message.Reload, out []kernel.Effect) []kernel.Effect {
	next, waits := config.Gather(m.Config), s.apply(m.Done)
	changes, told := config.Diff(s.config, next), config.Describe(s.written, m.Config)
	if changes.Listen && !slices.Equal(next.Listen, s.bound) {
		out = append(out, kernel.Log(slog.LevelWarn, "listen has changed; it takes effect at the next start"))
	}
	if !slices.Equal(next.Egress.Allow, s.config.Egress.Allow) {
		out = append(out, kernel.Log(slog.LevelWarn, "egress has changed; it takes effect at the next start"))
	}
	was := s.naming(s.config)
	if !reflect.DeepEqual(next.Policy, s.config.Policy) { // who only saves the file again changes no view
		s.policy = policy.Compile(next.Policy)
		out = append(out, kernel.Act(admitLocal{s.policy}))
	}
	if now := s.naming(next); now != was || !reflect.DeepEqual(next.Projects, s.config.Projects) {
		out = append(out, kernel.Tell(s.registry, message.CatalogNaming{Naming: now, Projects: next.Projects}))
	}
	out = s.limit(next.Limits, out)
	s.config, s.written = next, m.Config
	out = s.nextStarts(out)
	for _, server := range changes.Removed {
		out = s.removeServer(server.Name, out)
	}
	for _, server := range changes.Added {
		out = s.startServer(server, out)
	}
	for _, server := range changes.Transport {
		out = s.changeServer(server, true, waits, out)
	}
	for _, server := range changes.CatalogOnly {
		out = s.changeServer(server, false, waits, out)
	}
	out = s.reloaded(changes, told, s.reloadAudit(told, out))
	return s.await(m.Done, waits, out)
}

// reloaded says what has changed. A file that was only saved again is no news, unless it had a fault before.
func (s *state) reloaded(changes config.Changes, told []string, out []kernel.Effect) []kernel.Effect {
	mended := s.fault != nil
	s.fault = nil
	if changes.Empty() && !mended {
		return append(out, kernel.Log(slog.LevelDebug, "configuration read again: nothing has changed"))
	}
	var args []any
	for _, part := range []struct {
		key   string
		words []string
	}{{"added", names(changes.Added)}, {"removed", names(changes.Removed)}, {"changed", told}} {
		if len(part.words) > 0 {
			args = append(args, part.key, strings.Join(part.words, "; "))
		}
	}
	return append(out, kernel.Log(slog.LevelInfo, "configuration reloaded", args...))
}

// reloadFailed keeps why the file is not in force, and since when it is not.
func (s *state) reloadFailed(now time.Time, m message.ReloadFailed) {
	since := now
	if s.fault != nil {
		since = s.fault.Since
	}
	s.fault = &status.ConfigFault{Since: since, Reason: m.Reason}
}

// limit tells everybody who counts that the limits have changed. The sizes of messages and buffers are built into what is open.
func (s *state) limit(next config.Limits, out []kernel.Effect) []kernel.Effect {
	was := s.config.Limits
	if next == was {
		return out
	}
	if next.MaxMessageBytes != was.MaxMessageBytes || next.MaxBufferedBytes != was.MaxBufferedBytes {
		out = append(out, kernel.Log(slog.LevelWarn, "limits.maxMessageBytes and limits.maxBufferedBytes take effect at the next start"))
	}
	m := message.NewLimits{Limits: next}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		out = append(out, kernel.Tell(s.pools[name], m))
	}
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, m))
	}
	for _, desk := range s.desks {
		out = append(out, kernel.Tell(desk, m))
	}
	return out
}

func names(servers []config.Server) []string {
	list := make([]string, 0, len(servers))
	for _, server := range servers {
		list = append(list, server.Name)
	}
	return list
}

// changeServer tells a pool what changed; a server switched on or off starts or goes.
func (s *state) changeServer(server config.Server, transport bool, waits *applying, out []kernel.Effect) []kernel.Effect {
	ref, running := s.pools[server.Name]
	switch {
	case server.Disabled:
		return s.removeServer(server.Name, out)
	case !running:
		return s.startServer(server, out)
	}
	return append(out, kernel.Tell(ref, message.Reconfigure{Server: server, Transport: transport, Known: s.known[pool.CatalogIdentity(server)], Confirm: waits.another()}))
}

func (s *state) removeServer(name string, out []kernel.Effect) []kernel.Effect {
	ref, ok := s.pools[name]
	if !ok {
		return out
	}
	delete(s.pools, name)
	s.leaving[name] = ref
	return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: name}), kernel.Act(stopChild{ref}))
}

// poolGone forgets a pool. Only now nothing more comes of it: the catalog is told once more, and a server that was switched
// on again meanwhile gets its new one.
func (s *state) poolGone(name string, out []kernel.Effect) []kernel.Effect {
	delete(s.leaving, name)
	out = append(out, kernel.Tell(s.registry, message.RemoveServer{Server: name}))
	i := slices.IndexFunc(s.config.Servers, func(server config.Server) bool { return server.Name == name })
	if i < 0 || s.config.Servers[i].Disabled || s.draining {
		return out
	}
	return s.startServer(s.config.Servers[i], out)
}
