package admission

import (
	"time"

	"goblin-actor/actors/catalog"
)

// StartWaitOver tells an actor that StartWait has passed.
type StartWaitOver struct{}

// StartWait is how long the client on stdin and stdout waits for servers that are still starting. It lists once, right after
// initialize, and many such clients ignore list_changed.
const StartWait = 5 * time.Second

// CountSettled counts the servers that have sent their lists, now or before, or failed to, and those that are not in view, for
// which the client does not wait.
func CountSettled(view *catalog.View) int {
	settled := 0
	for _, server := range view.Snapshot().Servers() {
		if server.Listed() || !view.Has(server.Name) {
			settled++
		}
	}
	return settled
}
