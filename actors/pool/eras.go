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

// identity names what a connection reaches, as far as its era depends on it: the program and how it is started, or the
// URL. Values of variables and headers are left out: they may be secrets, and the state file is no place for them.
func identity(of config.Server, replica int) string {
	server, replica, _ := of.Replica(replica)
	what := struct {
		Command, Cwd, URL  string
		Args, Env, Headers []string
	}{
		Command: server.Command, Cwd: server.Cwd, Args: server.Args,
		Env: slices.Sorted(maps.Keys(server.Env)), Headers: slices.Sorted(maps.Keys(server.Headers)),
	}
	if filepath.Base(what.Command) != what.Command && !filepath.IsAbs(what.Command) { // beside the file it stands in
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

// known is what the state file says of the replicas of a server.
func known(o Options) map[string]message.KnownEra {
	eras := map[string]message.KnownEra{}
	for replica := range o.Server.ReplicaCount() {
		id := identity(o.Server, replica)
		if era, ok := o.Eras[id]; ok {
			eras[id] = era
		}
	}
	return eras
}

// remember notes the era a replica was found to speak, here and in the state file.
func (s *state) remember(sl *slot, era message.KnownEra, out []kernel.Effect) []kernel.Effect {
	id := identity(s.server, sl.replica)
	if era.Era == protocol.EraUnknown || s.eras[id] == era {
		return out
	}
	s.eras[id] = era
	return append(out, kernel.Tell(s.store, message.RememberEra{Server: id, Known: era}))
}

// asLegacy reports whether a legacy client's call to a modern server goes out on a legacy connection: behind a URL, where the
// server may have both eras. In the modern one tools that ask in the middle of their work cannot (Python's ctx.elicit and its
// like), and the client would be worse off than without us. The modern connection serves where there is no other: the
// server has refused the legacy era, or cannot be reached in it now.
func (s *state) asLegacy(w wanted, replica int) bool {
	server, _, _ := s.server.Replica(replica)
	if !w.oldClient || s.modernOnly[replica] || len(server.URLs) == 0 || server.Type == "sse" || server.Protocol != "" && server.Protocol != "auto" {
		return false
	}
	for _, sl := range s.slots {
		if sl.replica == replica && sl.legacy && sl.can == w.can && !sl.leaving && sl.hasFailed && sl.phase != message.Ready {
			return false
		}
	}
	return true
}

// refusedLegacy: the server speaks the modern era only, as far as anybody knows before it is replaced.
func (s *state) refusedLegacy(now time.Time, sl *slot, out []kernel.Effect) []kernel.Effect {
	s.modernOnly[sl.replica] = true
	for _, other := range s.slots {
		if other.replica == sl.replica && other.legacy && !other.leaving {
			out = s.dismiss(other, out)
		}
	}
	out = append(out, kernel.Log(slog.LevelInfo, "server has no legacy era; legacy clients share its modern connection", "replica", sl.replica, "reason", sl.reason))
	out = s.pump(now, out)
	if s.server.Isolates() { // so do their subscriptions
		out = s.askForLostUpdates(out)
	}
	return out
}

// speaks notes the era of a replica. A modern one needs no connections of classes: each call says what its client
// answers.
func (s *state) speaks(sl *slot, info *message.ServerInfo, out []kernel.Effect) []kernel.Effect {
	if !sl.main || info == nil {
		return out
	}
	modern := protocol.IsModern(info.Version)
	s.modern[sl.replica] = modern
	delete(s.modernOnly, sl.replica)
	for _, other := range s.slots {
		if other.replica == sl.replica && !other.main && !other.leaving && other.legacy != modern && (other.legacy || other.can != message.CanAll) {
			out = s.dismiss(other, out)
		}
	}
	return out
}
