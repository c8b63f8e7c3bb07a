package pool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// eraIdentity returns a hash of what a replica's era depends on: the program with its arguments and working directory, or
// the URL, and the names of variables and headers. Their values are left out, because they may be secrets, which must not
// get into the state file.
func eraIdentity(of config.Server, replica int) string {
	server, replica, _ := of.Replica(replica)
	what := struct {
		Command, Cwd, URL  string
		Args, Env, Headers []string
	}{
		Command: server.Command, Cwd: server.Cwd, Args: server.Args,
		Env: slices.Sorted(maps.Keys(server.Env)), Headers: slices.Sorted(maps.Keys(server.Headers)),
	}
	if filepath.Base(what.Command) != what.Command && !filepath.IsAbs(what.Command) { // relative to the configuration file
		what.Command = filepath.Join(server.Base, what.Command)
	}
	if len(server.URLs) > 0 {
		what.URL = server.URLs[replica%len(server.URLs)]
	}
	raw, err := json.Marshal(what)
	if err != nil {
		panic("identity: " + err.Error()) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// knownEras returns the eras that the state file records for the replicas of a server.
func knownEras(o Options) map[string]message.KnownEra {
	eras := map[string]message.KnownEra{}
	for replica := range o.Server.ReplicaCount() {
		id := eraIdentity(o.Server, replica)
		if era, ok := o.Eras[id]; ok {
			eras[id] = era
		}
	}
	return eras
}

// rememberEra stores the era that a replica was found to speak, here and in the state file, unless it is stored
// already.
func (s *state) rememberEra(conn *connection, era message.KnownEra, out []kernel.Effect) []kernel.Effect {
	id := eraIdentity(s.server, conn.replica)
	if era.Era == protocol.EraUnknown || s.replicas.eras.known[id] == era {
		return out
	}
	s.replicas.eras.known[id] = era
	return append(out, kernel.Tell(s.store, message.RememberEra{Server: id, Known: era}))
}

// usesLegacyConnection reports whether a legacy client's call to a modern server uses a legacy connection. It does if
// the server may speak both eras (linkTraits.mayServeBoth): in the modern era, tools that send requests to the client
// while they run (such as Python's ctx.elicit) fail, so the client would be worse off than without the gateway. The
// modern connection is used if the server has refused the legacy era, or the legacy connection of the client's class is
// down.
func (s *state) usesLegacyConnection(w target, replica int) bool {
	entry, _, _ := s.server.Replica(replica)
	if !w.legacyClient || s.replicas.eras.modernOnly[replica] || !traitsOf(entry).mayServeBoth {
		return false
	}
	for _, conn := range s.replicas.connections {
		if conn.replica == replica && conn.legacy && conn.announces == w.announces && !conn.leaving && conn.attempts.everFailed && conn.phase != message.Ready {
			return false
		}
	}
	return true
}

// legacyRefused handles a server that speaks only the modern era. This is assumed until the replica's main connection
// is opened again.
func (s *state) legacyRefused(now time.Time, conn *connection, out []kernel.Effect) []kernel.Effect {
	s.replicas.eras.modernOnly[conn.replica] = true
	for _, other := range s.replicas.connections {
		if other.replica == conn.replica && other.legacy && !other.leaving {
			out = s.drain(other, out)
		}
	}
	out = append(out, kernel.Log(slog.LevelInfo, "server has no legacy era; legacy clients share its modern connection", "replica", conn.replica, "reason", conn.reason))
	out = s.sendQueued(now, out)
	if s.server.Isolates() { // their subscriptions move to the modern connection, too
		out = s.restoreSubscriptions(out)
	}
	return out
}

// recordEra records the era of a replica, and drains the connections that are not needed in this era. A modern replica
// needs no connection for each class of clients, since each call states the client's capabilities.
func (s *state) recordEra(conn *connection, info *message.ServerInfo, out []kernel.Effect) []kernel.Effect {
	if !conn.main || info == nil {
		return out
	}
	modern := protocol.IsModern(info.Version)
	s.replicas.eras.modern[conn.replica] = modern
	delete(s.replicas.eras.modernOnly, conn.replica)
	for _, other := range s.replicas.connections {
		if other.replica == conn.replica && !other.main && !other.leaving && other.legacy != modern && (other.legacy || other.announces != message.CanAll) {
			out = s.drain(other, out)
		}
	}
	return out
}

// replicaEras records what is known about the protocol eras of the replicas.
type replicaEras struct {
	modern     map[int]bool                // replicas that speak a modern version: one connection serves clients of all capability sets
	modernOnly map[int]bool                // modern replicas that have refused a legacy connection
	known      map[string]message.KnownEra // eras found earlier, by identity of the replica (see eraIdentity)
}
