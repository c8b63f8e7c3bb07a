package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// visible is the client's view of the catalog, and the changes it has been notified of.
type visible struct {
	key       catalog.Key
	snapshot  *catalog.Snapshot // nil until the first is published
	view      *catalog.View     // the part of snapshot that key selects; nil until the first is published
	gone      bool              // snapshot has no view for key; a project's view may come back
	announced clientsubs.Announced
}

// bindView decides what the session sees, once: over HTTP at initialize, else when its stream opens or at initialize, whichever
// names a project first. Later messages may name that project or none.
func (s *state) bindView(m message.Inbound) *message.Refusal {
	opens := !s.client.initialized && s.client.earlyInitialize == nil && m.Exchange.Batch == nil && m.Exchange.Frame.Method == protocol.MethodInitialize
	if opens && s.catalog.key.Project == "" && m.View.Project != "" {
		s.catalog.key.Project = m.View.Project
		s.catalog.key, s.client.asCaller = message.Narrowed(s.catalog.key, s.principal.who), nil
		if s.catalog.snapshot != nil {
			s.updateView()
		}
	}
	return admission.CheckProject(m.Admitted, s.catalog.key, m.Exchange)
}

// updateView looks up the session's view of its snapshot. There is none if its project no longer exists or its principal may no
// longer use it.
func (s *state) updateView() {
	view, ok := s.catalog.snapshot.View(s.catalog.key)
	if s.catalog.gone = !ok || s.lacksProject(); s.catalog.gone {
		view = s.catalog.snapshot.Nothing()
	}
	s.catalog.view = view
}

// mayComeBack reports whether the session's view is gone but may return with another configuration. Such a session stays: its
// requests are refused, and it is notified of both changes. A session of a single server ends instead.
func (s *state) mayComeBack() bool {
	return s.catalog.gone && s.client.initialized && s.lacksProject()
}

// lacksProject reports whether the session's project does not exist, or the session's principal may not use it.
func (s *state) lacksProject() bool {
	return s.catalog.key.Project != "" && !(s.catalog.snapshot.HasProject(s.catalog.key) && s.principal.who.May(s.catalog.key.Project))
}

// published adopts a newer catalog and notifies the client of changed lists.
func (s *state) published(now time.Time, m message.Published, out []kernel.Effect) []kernel.Effect {
	s.catalog.snapshot = m.Snapshot
	s.updateView()
	return s.viewChanged(now, m.Early, out)
}

// viewChanged handles a change of the view. A session whose view is gone for good ends, or refuses its initialize. If the
// parameter early is true, the client is not notified yet.
func (s *state) viewChanged(now time.Time, early bool, out []kernel.Effect) []kernel.Effect {
	switch {
	case !s.catalog.gone, s.mayComeBack():
	case s.client.earlyInitialize != nil:
		x := s.client.earlyInitialize
		s.client.earlyInitialize = nil
		return s.refuseNoView(x, out)
	case s.client.initialized, s.transport == "sse":
		return append(out, kernel.StopSelf())
	default: // initialize will be refused
		return out
	}
	out = s.serveEnqueued(now, s.serveWaiting(now, s.restoreSubscriptions(s.resubscribe(out))))
	if early {
		return out
	}
	return s.notifyChanges(out)
}

// refuseNoView refuses an initialize because the client can see nothing. The session is then useless and ends. Only the
// client on stdin and stdout may try again, because it has no other session.
func (s *state) refuseNoView(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	fault := admission.NoView(s.catalog.snapshot, s.catalog.key)
	if s.lacksProject() {
		fault = protocol.NoProject(s.catalog.key.Project)
	}
	out = append(out, kernel.Act(refuse{x, admission.NoViewStatus(fault), fault}))
	if s.transport == "stdio" {
		return out
	}
	return append(out, kernel.StopSelf())
}
