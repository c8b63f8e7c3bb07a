package admission

import (
	"time"

	"goblin-actor/actors/catalog"
)

// StartWaitOver tells an actor that StartWait has passed.
type StartWaitOver struct{}

// StartWait is how long the client on stdin and stdout waits at most for servers that are starting. Such clients list once, right after
// initialize, and many ignore list_changed.
const StartWait = 5 * time.Second

// CountSettled counts the servers for which the client need not wait: those whose lists are known, those that have failed, and those
// that are not in view.
func CountSettled(view *catalog.View) int {
	settled := 0
	for _, server := range view.Snapshot().Servers() {
		if server.Listed() || !view.Has(server.Name) {
			settled++
		}
	}
	return settled
}
