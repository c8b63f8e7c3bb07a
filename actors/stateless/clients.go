package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// usage counts a client's calls in this actor.
type usage struct{ inFlight, parked int }

// evictParked ends the client's oldest parked call for which no request waits: the client may have dropped it, and the protocol has
// no way to say so. It reports whether there was one.
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
	const why = "the client did not return with the answer, and the call was ended to make room for a newer one that waits for the client (limits.parkedPerClient)"
	return s.calls.End(now, oldest, why, &protocol.Fault{Name: protocol.Overloaded, Server: oldest.Server, Message: why}, out), true
}
