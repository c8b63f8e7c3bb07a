package stateless

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// usage counts a client's calls in this actor.
type usage struct {
	inFlight, parked int
	sharedBy         int // number of stateless sessions that share the client's limits
}

// newUsage returns the usage of a client that begins its first call with x. Requests over HTTP go to each stateless session
// in turn, so the requests of one client are distributed about evenly. Requests on stdio all go to the same one.
func (s *state) newUsage(x *downstream.Exchange) *usage {
	if x.Origin.Stdio {
		return &usage{sharedBy: 1}
	}
	return &usage{sharedBy: s.count}
}

// share returns this actor's share of the client's limit, rounded up. 0 = no limit.
func (u *usage) share(limit int) int {
	n := max(1, u.sharedBy)
	return (limit + n - 1) / n
}

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
