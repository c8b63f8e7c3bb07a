package session

import (
	"context"
	"slices"
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// The home of a session sends the session's heir a note of what the client has set: its log level and its subscriptions. A request
// that changes them is answered once the heir has the note, so that its effect outlasts the home. If sending the note fails, the
// request is answered nevertheless, and the note is sent again. The next home takes the note from its gateway, subscribes, and
// notifies the client once of each resource, since it may have changed meanwhile.

// noteAgain is the pause before a note that the heir has not kept is sent again.
const noteAgain = time.Second

// noting is what a session knows about its home and heir, and about the note that the heir gets. It is empty outside of a cluster, and
// for a session that cannot move.
type noting struct {
	members *cluster.View          // newest known view; nil = none yet
	sends   bool                   // there are other nodes to which notes can be sent
	heir    string                 // incarnation that has the note, or gets it; "" = none
	from    string                 // incarnation of this node in the last note
	seq     uint64                 // of the last note
	sending bool                   // the last note was sent, and noteSent follows
	stale   bool                   // the note has changed since it was sent
	covered int                    // of waiting: requests whose effect is in the last note
	waiting []*downstream.Exchange // requests that are answered once the heir has the note, or sending it has failed
	restore []string               // URIs of the note that are not in view yet
	lost    bool                   // the client's subscriptions are lost, so it must initialize again
}

type (
	// sendNote sends a note; noteSent follows.
	sendNote struct {
		to   string // incarnation
		note *cluster.Note
	}
	// dropNote tells a node to forget the session's note.
	dropNote struct {
		from string // incarnation
		note *cluster.Note
	}
	noteSent struct {
		seq  uint64
		kept bool
	}
	noteDue struct{ seq uint64 } // it is time to send a note again
)

func (s *session) sendNote(self kernel.Self, a sendNote) {
	self.Go(func(ctx context.Context) any { return noteSent{a.note.Seq, s.SendNote(ctx, a.to, a.note)} })
}

// dropNote waits for no answer. If the message gets lost, the other node forgets the note some time after this node's end.
func (s *session) dropNote(self kernel.Self, a dropNote) {
	self.Go(func(context.Context) any { s.SendNote(context.Background(), a.from, a.note); return nil })
}

// newNote returns the note about the session as it is now.
func (s *state) newNote() *cluster.Note {
	s.noting.seq++
	s.noting.from = s.noting.members.Self
	n := &cluster.Note{From: s.noting.from, Seq: s.noting.seq, Session: s.id, Holder: message.PrincipalOf(s.principal.who), Level: string(s.client.level), TooLarge: s.noting.lost}
	uris := slices.Clone(s.noting.restore)
	for _, sub := range s.subs.active {
		uris = append(uris, sub.Public)
	}
	for _, h := range s.subs.reserving {
		if h.restores != "" {
			uris = append(uris, h.restores)
		}
	}
	slices.Sort(uris)
	if n.SetURIs(slices.Compact(uris)); s.noting.lost {
		n.TooLarge, n.URIs = true, nil
	}
	return n
}

// hasNote reports whether there is something to tell the heir.
func (s *state) hasNote() bool {
	return s.client.level != protocol.LevelNone || len(s.subs.active)+len(s.noting.restore) > 0 || s.noting.lost
}

// answerNoted answers a request that has changed the note with an empty result, once the heir has the note or sending it has failed.
func (s *state) answerNoted(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if s.noting.heir = s.heir(); s.noting.heir == "" {
		return s.result(x, []byte("{}"), out)
	}
	s.noting.waiting = append(s.noting.waiting, x)
	return s.noteChanged(out)
}

// noteChanged sends the note to the heir, if there is one. At most one note is on its way at a time.
func (s *state) noteChanged(out []kernel.Effect) []kernel.Effect {
	n := &s.noting
	if n.heir = s.heir(); n.heir == "" {
		return out
	}
	if n.sending {
		n.stale = true
		return out
	}
	n.sending, n.stale, n.covered = true, false, len(n.waiting)
	return append(out, kernel.Act(sendNote{n.heir, s.newNote()}))
}

// heir returns the incarnation that needs the note, or "" if there is none.
func (s *state) heir() string {
	if !s.noting.sends || s.noting.members == nil || s.isGuest() {
		return ""
	}
	if m := s.noting.members.Heir(s.id); m != nil {
		return m.Incarnation
	}
	return ""
}

// noteSent answers the requests that have waited for the note, even if the heir has not kept it. Such a note is sent again later.
func (s *state) noteSent(m noteSent, out []kernel.Effect) []kernel.Effect {
	n := &s.noting
	n.sending = false
	if n.covered = min(n.covered, len(n.waiting)); n.covered > 0 {
		for _, x := range n.waiting[:n.covered] {
			out = s.result(x, []byte("{}"), out)
		}
		n.waiting = slices.Clone(n.waiting[n.covered:])
	}
	switch n.covered = 0; {
	case n.stale || len(n.waiting) > 0:
		if out = s.noteChanged(out); !n.sending {
			return s.answerWaiting(out)
		}
	case !m.kept && n.heir != "":
		out = append(out, kernel.WakeAfter(noteAgain, noteDue{m.seq}))
	}
	return out
}

// answerWaiting answers all requests that wait for the heir, because there is no heir anymore or the session ends.
func (s *state) answerWaiting(out []kernel.Effect) []kernel.Effect {
	for _, x := range s.noting.waiting {
		out = s.result(x, []byte("{}"), out)
	}
	s.noting.waiting, s.noting.covered, s.noting.stale = nil, 0, false
	return out
}

// heirChanged gives the note to another heir after a change of the members. The former heir forgets it.
func (s *state) heirChanged(out []kernel.Effect) []kernel.Effect {
	was := s.noting.heir
	if !s.noting.sends || s.isGuest() || was == s.heir() {
		return out
	}
	out = s.dropFrom(was, out)
	if s.noting.heir = s.heir(); s.hasNote() && s.noting.heir != "" {
		return s.noteChanged(out)
	}
	return out
}

// dropFrom makes a node forget the note, if it is still a member.
func (s *state) dropFrom(incarnation string, out []kernel.Effect) []kernel.Effect {
	if incarnation == "" || s.noting.from == "" || s.noting.members.Member(incarnation) == nil {
		return out
	}
	n := &cluster.Note{From: s.noting.from, Seq: s.noting.seq + 1, Session: s.id, Holder: message.PrincipalOf(s.principal.who), Ended: true}
	s.noting.seq++
	return append(out, kernel.Act(dropNote{incarnation, n}))
}

// handOver gives the note to the gateway, which passes it on to the session's home, and makes the former heir forget it.
func (s *state) handOver(home string, out []kernel.Effect) []kernel.Effect {
	if !s.noting.sends {
		return out
	}
	if s.noting.heir != home {
		out = s.dropFrom(s.noting.heir, out)
	}
	if s.hasNote() {
		out = append(out, kernel.Tell(s.gateway, message.KeepNote{Note: s.newNote()}))
	}
	s.noting.heir, s.noting.restore = "", nil
	return out
}

// takeNote asks the gateway for the note about the session, because this node is its home now.
func (s *state) takeNote(out []kernel.Effect) []kernel.Effect {
	if !s.noting.sends || s.isGuest() {
		return out
	}
	return append(out, kernel.Tell(s.gateway, message.TakeNote{Session: s.self, ID: s.id}))
}

// noteTaken restores what the note says. What the client has set since then stays.
func (s *state) noteTaken(m message.NoteTaken, out []kernel.Effect) []kernel.Effect {
	if s.isGuest() { // the members have changed again
		return append(out, kernel.Tell(s.gateway, message.KeepNote{Note: m.Note}))
	}
	if m.Note.Holder != message.PrincipalOf(s.principal.who) {
		return out
	}
	s.noting.lost = s.noting.lost || m.Note.TooLarge
	if level := protocol.LevelOf(rawjson.Quote(m.Note.Level)); level != protocol.LevelNone && s.client.level == protocol.LevelNone {
		s.client.level = level
		out = append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: level}))
	}
	s.noting.restore = append(s.noting.restore, m.Note.URIs...)
	return s.noteChanged(s.restoreSubscriptions(out))
}

// restoreSubscriptions subscribes to the resources of the note that are in view.
func (s *state) restoreSubscriptions(out []kernel.Effect) []kernel.Effect {
	if s.catalog.view == nil || s.isGuest() {
		return out
	}
	var later []string
	for _, uri := range s.noting.restore {
		found, fault := s.catalog.view.Resource(uri)
		if fault != nil {
			later = append(later, uri)
			continue
		}
		r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
		if s.subs.active[r] != nil || s.subs.restoring(uri) || s.subs.full(r) || len(found.Server.Rules.ForwardHeaders) > 0 { // only a request shows its headers
			continue
		}
		if count := s.missingReservations(r); count > 0 {
			seq := s.calls.Next()
			put(&s.subs.reserving, seq, &reservation{resource: r, count: count, restores: uri})
			out = append(out, kernel.Tell(s.gateway, message.ReserveSubscriptions{Session: s.self, Seq: seq, Count: count}))
			continue
		}
		out = s.restoreSubscription(uri, out)
	}
	s.noting.restore = later
	return out
}

// restoring reports whether a subscription that a note names waits for a reservation.
func (s *subscriptions) restoring(uri string) bool {
	for _, h := range s.reserving {
		if h.restores == uri {
			return true
		}
	}
	return false
}

// forget removes a URI from those that are to be restored.
func (n *noting) forget(uri string) {
	n.restore = slices.DeleteFunc(n.restore, func(u string) bool { return u == uri })
}

// restoreSubscription subscribes to a resource without a request of the client, and notifies the client that the resource may have
// changed.
func (s *state) restoreSubscription(uri string, out []kernel.Effect) []kernel.Effect {
	found, fault := s.catalog.view.Resource(uri)
	if fault != nil {
		return out
	}
	r := clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	if s.subs.active[r] != nil || s.missingReservations(r) > 0 {
		return out
	}
	s.useReservation(r)
	own := s.ownerOf(found.Server, nil)
	put(&s.subs.active, r, &clientsubs.Subscription{Public: uri, Own: own})
	put(&s.subs.pools, r.Server, clientsubs.LifeOf(found.Server))
	seq := s.calls.Next()
	put(&s.subs.pending, seq, subscribing{Resource: r, own: own, unlisted: found.Unlisted})
	out = append(out, kernel.Tell(found.Server.Pool, message.SubscribeURI{From: s.self, Seq: seq, URI: r.URI, Own: own, Unlisted: found.Unlisted}))
	if found.Unlisted { // the client may no longer be permitted to see it; the pool decides
		return out
	}
	return s.mayHaveChanged(r, out)
}

// mayHaveChanged notifies the client that a resource may have changed.
func (s *state) mayHaveChanged(r clientsubs.Resource, out []kernel.Effect) []kernel.Effect {
	if u, ok := message.UpdatedURI(r.URI); ok {
		out = s.updated(message.ResourceUpdated{Server: r.Server, URI: u.URI, Frame: u.Frame, Span: u.Span}, out)
	}
	return out
}
