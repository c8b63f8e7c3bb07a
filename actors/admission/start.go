package admission

import (
	"time"

	"goblin-actor/actors/catalog"
)

// StartWaitOver tells an actor that the servers have had their time to start.
type StartWaitOver struct{}

// StartWait is how long the client on stdin and stdout waits for servers that are still starting: it lists once,
// right after initialize, and many such clients do not listen to list_changed.
const StartWait = 5 * time.Second

// SettledIn counts the servers that have said what they have, now or before, or failed to, and those that are not in view: for
// them nobody there waits.
func CountSettled(view *catalog.View) int {
	settled := 0
	for _, server := range view.Snapshot().Servers() {
		if server.Listed() || !view.Has(server.Name) {
			settled++
		}
	}
	return settled
}
