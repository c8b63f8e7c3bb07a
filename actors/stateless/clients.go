package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// usage counts a client's calls at this desk.
type usage struct{ inFlight, parked int }

// makeRoom ends the oldest call of a client that waits for an answer while nobody waits for the call: whoever it was may have
// given it up without a word, as nothing in the protocol says so. It reports whether there was one.
func (s *state) evictParked(now time.Time, client string, out []kernel.Effect) ([]kernel.Effect, bool) {
	var oldest *heldCall
	for _, v := range s.calls.All() {
		if v.caller.ClientKey == client && v.State == call.Parked && v.round > 0 && len(v.exchanges) == 0 && (oldest == nil || v.Seq < oldest.Seq) {
			oldest = v
		}
	}
	if oldest == nil {
		return out, false
	}
	const why = "nobody came back with the answer, and newer calls of this client wait for theirs (limits.parkedPerClient)"
	return s.calls.End(now, oldest, why, &protocol.Fault{Name: protocol.Overloaded, Server: oldest.Server, Message: why}, out), true
}
