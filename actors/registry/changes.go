package registry

import (
	"log/slog"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

const (
	spokenAfter = time.Second     // how long a change waits for those that come with it: a server's lists are published one by one
	spokenPause = 5 * time.Second // the shortest time between two tellings of the log what has changed
	spokenLines = 20              // of one telling
	spokenNames = 5               // of one sort, in a line
	spokenBytes = 400             // of what a line says
)

// remember is carried out by the shell: those who watch the catalog are shown what has changed.
type remember struct{ changes []status.CatalogChange }

// spoken is what the log has been told. A catalog that changes all the time is told of as what it was and has become, once in a
// while, however often it changed between.
type spoken struct {
	of         *catalog.Snapshot // what the log knows
	at         time.Time         // when it was told; zero = never
	waiting    bool              // a speak is on its way
	generation uint64            // of the newest speak; older ones count for nothing
}

// speak: the pause of the log is over.
type speak struct{ generation uint64 }

// changed shows those who watch what the snapshot has changed, which was old.
func (s *state) changed(now time.Time, old *catalog.Snapshot, out []kernel.Effect) []kernel.Effect {
	changes := catalog.Changes(old, s.snapshot)
	if len(changes) == 0 {
		return out
	}
	for i := range changes {
		changes[i].Time = now
	}
	return append(out, kernel.Act(remember{changes}))
}

// wantLog has the log told in a while when the catalog is not what it knows.
func (s *state) wantLog(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := &s.spoken
	if t.of == s.snapshot || t.waiting {
		return out
	}
	t.waiting = true
	t.generation++
	return append(out, kernel.WakeAfter(max(spokenAfter, t.at.Add(spokenPause).Sub(now)), speak{t.generation}))
}

// tellLog tells the log what has changed.
func (s *state) tellLog(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := &s.spoken
	t.waiting = false
	changes := catalog.Changes(t.of, s.snapshot)
	t.of = s.snapshot
	if len(changes) > 0 {
		t.at = now
	}
	return append(out, lines(changes)...)
}

// lines are what the log says of changes, which are sorted by server: a line for each server.
func lines(changes []status.CatalogChange) (out []kernel.Effect) {
	for len(changes) > 0 {
		server, text, kinds := changes[0].Server, "", 0
		for ; kinds < len(changes) && changes[kinds].Server == server; kinds++ {
			if kinds > 0 {
				text += ", "
			}
			text += changes[kinds].Text(spokenNames)
		}
		changes = changes[kinds:]
		out = append(out, kernel.Log(slog.LevelInfo, "catalog", "server", server, "change", status.Cut(text, spokenBytes)))
		if len(out) == spokenLines && len(changes) > 0 {
			return append(out, kernel.Log(slog.LevelInfo, "catalog", "change", "and that of more servers: \"goblin-actor list servers\" shows them all"))
		}
	}
	return out
}
