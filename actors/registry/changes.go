package registry

import (
	"log/slog"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

const (
	logDelay = time.Second     // delay before changes are logged: a server's lists arrive one by one and are logged together
	logPause = 5 * time.Second // shortest interval between two summaries
	logLines = 20              // log lines of one summary; each is about one server
	logNames = 5               // names of one kind in a line
	logBytes = 400             // bytes of a line's text
)

// remember is an effect: the shell records the changes in status.CatalogChanges.
type remember struct{ changes []status.CatalogChange }

// changeLog tracks which snapshot was logged last. If the catalog changes often, only the difference between two logged
// snapshots is logged.
type changeLog struct {
	of         *catalog.Snapshot // the snapshot that was logged last
	at         time.Time         // when it was logged; zero = never
	waiting    bool              // a logDue timer is set
	generation uint64            // of the newest timer; older ones are ignored
}

// logDue reports that it is time to log changes.
type logDue struct{ generation uint64 }

// changed records the difference between old and the current snapshot for clients that watch the catalog.
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

// scheduleLog schedules a summary for the log if the catalog differs from the logged one.
func (s *state) scheduleLog(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := &s.changeLog
	if t.of == s.snapshot || t.waiting {
		return out
	}
	t.waiting = true
	t.generation++
	return append(out, kernel.WakeAfter(max(logDelay, t.at.Add(logPause).Sub(now)), logDue{t.generation}))
}

// logChanges logs the changes.
func (s *state) logChanges(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := &s.changeLog
	t.waiting = false
	changes := catalog.Changes(t.of, s.snapshot)
	t.of = s.snapshot
	if len(changes) > 0 {
		t.at = now
	}
	return append(out, lines(changes)...)
}

// lines returns the log lines about changes, one per server, at most logLines and a last one about the rest. The changes
// must be sorted by server.
func lines(changes []status.CatalogChange) (out []kernel.Effect) {
	for len(changes) > 0 {
		server, text, kinds := changes[0].Server, "", 0
		for ; kinds < len(changes) && changes[kinds].Server == server; kinds++ {
			if kinds > 0 {
				text += ", "
			}
			text += changes[kinds].Text(logNames)
		}
		changes = changes[kinds:]
		out = append(out, kernel.Log(slog.LevelInfo, "catalog", "server", server, "change", status.Cut(text, logBytes)))
		if len(out) == logLines && len(changes) > 0 {
			return append(out, kernel.Log(slog.LevelInfo, "catalog", "change", "and more servers; \"goblin-actor list servers\" shows all"))
		}
	}
	return out
}
