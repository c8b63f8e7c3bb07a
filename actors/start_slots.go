package actors

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// slotTime is the maximum time that a starting process occupies a start slot. A start that takes longer is assumed to wait for
// something other than this machine's CPU, such as a download, and must not delay other servers.
const slotTime = time.Second

// gatherTime is how long requests for start slots are collected before slots are granted, unless one is urgent. So servers that
// request slots at the same time, as at startup, start in the order of the configuration.
const gatherTime = time.Millisecond

// startSlots limits how many processes start at the same time, over all servers (limits.startsAtOnce). The backends of a pool
// request slots; a pool that ends releases its slots and requests.
type startSlots struct {
	running   map[backendID]uint64 // grant number of each occupied slot
	waiting   []*slotRequest       // in order of arrival
	grants    uint64               // slots granted so far
	gathering bool                 // requests are being collected
}

// backendID identifies a backend by its pool and its number.
type backendID struct {
	pool   kernel.Reference
	number int
}

type slotRequest struct {
	backendID
	message.RequestStartSlot
}

// urgent reports whether the request is served without collecting others first.
func (r *slotRequest) urgent() bool { return r.Wanted || r.Lost }

// slotExpired arrives when a backend has occupied a slot for slotTime.
type slotExpired struct {
	backendID
	grant uint64
}

// requestsGathered arrives when gatherTime has passed.
type requestsGathered struct{}

// step handles the messages about start slots. The limit is the number of slots, 0 = unlimited.
func (t *startSlots) step(msg any, servers *servers, limit int, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.RequestStartSlot:
		if !servers.runs(m.Pool) { // ChildStopped may overtake messages that an ended pool has sent
			return out
		}
		return t.request(m, limit, out)
	case requestsGathered:
		t.gathering = false
	case message.ReleaseStartSlot:
		t.release(backendID{m.Pool, m.Number})
	case message.StartSlotsReset:
		t.forget(m.Pool)
	case slotExpired:
		if t.running[m.backendID] == m.grant {
			delete(t.running, m.backendID)
		}
	default:
		return out
	}
	return t.grant(limit, out)
}

// request records a request. It replaces an earlier request of the same backend.
func (t *startSlots) request(m message.RequestStartSlot, limit int, out []kernel.Effect) []kernel.Effect {
	r := &slotRequest{backendID{m.Pool, m.Number}, m}
	if i := slices.IndexFunc(t.waiting, func(w *slotRequest) bool { return w.backendID == r.backendID }); i >= 0 {
		t.waiting[i] = r
	} else {
		t.waiting = append(t.waiting, r)
	}
	switch {
	case r.urgent():
		return t.grant(limit, out)
	case t.gathering:
		return out
	}
	t.gathering = true
	return append(out, kernel.WakeAfter(gatherTime, requestsGathered{}))
}

// grant grants slots while requests wait and slots are free. While requests are being collected, it grants only
// urgent ones.
func (t *startSlots) grant(limit int, out []kernel.Effect) []kernel.Effect {
	for len(t.waiting) > 0 && (!t.gathering || slices.ContainsFunc(t.waiting, (*slotRequest).urgent)) && (limit == 0 || len(t.running) < limit) {
		next := t.next()
		t.grants++
		if t.running == nil {
			t.running = map[backendID]uint64{}
		}
		t.running[next] = t.grants
		out = append(out, kernel.Tell(next.pool, message.StartSlotGranted{Number: next.number}), kernel.WakeAfter(slotTime, slotExpired{next, t.grants}))
	}
	return out
}

// next removes the request that is served next and returns its backend.
func (t *startSlots) next() backendID {
	best := 0
	for i, r := range t.waiting {
		if startsBefore(r.RequestStartSlot, t.waiting[best].RequestStartSlot) {
			best = i
		}
	}
	next := t.waiting[best].backendID
	t.waiting = slices.Delete(t.waiting, best, best+1)
	return next
}

// startsBefore reports whether a is served before b, which arrived earlier. The order is: backends that a client waits
// for, backends that lost their connection, first starts in the order of the configuration, backends that have failed
// before. Except for first starts, backends of one kind are served in order of arrival, so that each of them gets a
// slot eventually.
func startsBefore(a, b message.RequestStartSlot) bool {
	rank := func(m message.RequestStartSlot) int {
		switch {
		case m.Wanted:
			return 0
		case m.Lost:
			return 1
		case !m.Retries:
			return 2
		}
		return 3
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	return rank(a) == 2 && a.Order < b.Order
}

// release removes a backend's slot and request.
func (t *startSlots) release(id backendID) {
	delete(t.running, id)
	t.waiting = slices.DeleteFunc(t.waiting, func(r *slotRequest) bool { return r.backendID == id })
}

// forget removes all slots and requests of a pool.
func (t *startSlots) forget(pool kernel.Reference) {
	maps.DeleteFunc(t.running, func(id backendID, _ uint64) bool { return id.pool == pool })
	t.waiting = slices.DeleteFunc(t.waiting, func(r *slotRequest) bool { return r.pool == pool })
}
