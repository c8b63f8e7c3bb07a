package session

import (
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A session of a cluster has one home (cluster.View.Home). Before each step, a session that can move compares its role with the
// newest view. A guest whose node has become the home takes over: it accepts streams and subscriptions, and sends the change
// notifications of all lists on its first stream. A session whose home is another node now becomes a guest: it closes its streams,
// so that its client reconnects, and ends its subscriptions.

// passOn gives a request or stream back to the front, because this node is not the session's home.
type passOn struct {
	x        *downstream.Exchange // nil = a stream
	stream   *downstream.EventStream
	ends     bool // x is a DELETE
	admitted message.Admitted
}

func (s *session) passOn(a passOn) {
	switch {
	case a.stream != nil:
		s.Elsewhere.Open(a.stream, a.admitted)
	case a.ends:
		s.Elsewhere.Delete(a.x, a.admitted)
	default:
		s.Elsewhere.Post(a.x, a.admitted)
	}
}

// moved counts a session whose home this node has become.
type moved struct{}

// isGuest reports whether another node is the session's home.
func (s *state) isGuest() bool { return s.guest != nil && !s.guest.home }

// adopt makes the session a home or a guest, as the newest view of the members says. It does nothing if the view has no home for the
// session, or before the client has initialized.
func (s *state) adopt(now time.Time, view *cluster.View, out []kernel.Effect) []kernel.Effect {
	if view == s.noting.members || !s.client.initialized {
		return out
	}
	s.noting.members = view
	home := view.Home(s.id)
	if home == nil {
		return out
	}
	switch here := home.Incarnation == view.Self; {
	case here && s.isGuest():
		out = s.becomeHome(out)
	case !here && !s.isGuest():
		return s.becomeGuest(now, home.Incarnation, out)
	}
	return s.heirChanged(out)
}

// becomeHome makes a guest the session's home. Its client is notified of all lists, because it may have missed changes.
func (s *state) becomeHome(out []kernel.Effect) []kernel.Effect {
	s.guest.home = true
	s.catalog.announced = clientsubs.Announced{}
	return s.takeNote(append(out, kernel.Act(moved{})))
}

// becomeGuest ends what only the session's home has, and tells the new home about it. Requests that wait for a server or for the
// gateway are still answered.
func (s *state) becomeGuest(now time.Time, home string, out []kernel.Effect) []kernel.Effect {
	out = s.handOver(home, out)
	if s.guest == nil {
		s.guest = &guest{}
	}
	s.guest.home = false
	for _, stream := range s.streams {
		out = append(out, kernel.Act(closeStream{stream}))
	}
	s.streams = nil
	for _, seq := range kernel.SortedKeys(s.subs.reserving) {
		s.subs.reserving[seq].restores = ""
		if h := s.subs.reserving[seq]; h.x != nil {
			out = s.fault(h.x, message.SessionMoves, out)
			h.x = nil
		}
	}
	out = clientsubs.UnsubscribeAll(s.subs.pools, s.self, out)
	out = s.releaseAll(out)
	s.subs = subscriptions{pending: s.subs.pending, reserving: s.subs.reserving}
	s.life.lastSeen = now
	s.life.checks++
	return append(out, kernel.WakeAfter(s.idleLimit(), idleCheck{s.life.checks}))
}

// notHere handles what this session must not handle itself, and reports whether it did. A guest gives back the messages that only the
// home can handle, and all requests if this node is about to stop. A home refuses messages of a client whose subscriptions are lost.
func (s *state) notHere(m any, out []kernel.Effect) (_ []kernel.Effect, passed bool) {
	if !s.isGuest() {
		return s.refuseLost(m, out)
	}
	switch m := m.(type) {
	case message.Inbound:
		if x := m.Exchange; x.Batch != nil || x.Frame.Kind == protocol.KindRequest && (s.life.draining || !ServedByGuests(x)) {
			return append(out, kernel.Act(passOn{x: x, admitted: m.Admitted})), true
		}
	case message.StreamOpened:
		if _, call := cluster.NodeOfEvent(m.Stream.Origin.LastEvent); !call {
			return append(out, kernel.Act(passOn{stream: m.Stream, admitted: m.Admitted})), true
		}
	case message.EndSession:
		return append(out, kernel.Act(passOn{x: m.Exchange, ends: true, admitted: m.Admitted})), true
	}
	return out, false
}

// refuseLost refuses messages of a client whose subscriptions are lost, as if the session had ended, so that the client initializes
// again.
func (s *state) refuseLost(m any, out []kernel.Effect) (_ []kernel.Effect, refused bool) {
	if !s.noting.lost {
		return out, false
	}
	switch m := m.(type) {
	case message.Inbound:
		return append(out, kernel.Act(refuse{m.Exchange, 404, message.NoSession})), true
	case message.StreamOpened:
		return append(out, kernel.Act(openStream{stream: m.Stream, refusal: 404})), true
	}
	return out, false
}

// ServedByGuests reports whether every node can serve a request, whichever node is the session's home.
func ServedByGuests(x *downstream.Exchange) bool {
	if x.Batch != nil || x.Frame.Kind != protocol.KindRequest || downstream.RouteMessages.Ends(x.Origin.Path) {
		return false
	}
	switch x.Frame.Method.Owner() {
	case protocol.OwnerCatalog:
		return true
	case protocol.OwnerServer: // only the session's home knows its tasks
		return x.Frame.Method != protocol.MethodToolsCall || !rawjson.Member(x.Frame.Raw, x.Frame.Params, "task").Present()
	}
	return x.Frame.Method == protocol.MethodPing
}
