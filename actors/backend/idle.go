package backend

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reportIdle reports to the pool that the backend is idle, if closing the connection would lose nothing. A process
// would lose its running tasks, whose results clients may request much later. A server with a URL keeps its tasks.
func (s *state) reportIdle(out []kernel.Effect) []kernel.Effect {
	busy := len(s.conn.byCall)+len(s.carried.rounds)+len(s.conn.headerRetries) > 0 ||
		s.link.ownsServer && slices.ContainsFunc(s.conn.tasks, func(t task) bool { return !t.ended })
	if busy {
		return out
	}
	return append(out, kernel.Tell(s.pool, message.BackendIdle{Backend: s.self}))
}
