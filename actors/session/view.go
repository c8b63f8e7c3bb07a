package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// bind takes what a message may see. The session's own view is decided when it is opened: over HTTP by its initialize, else by its
// stream or its initialize, whichever names a project. From then on a message may name that project or none.
func (s *state) bind(m message.Inbound) *message.Refusal {
	opens := !s.initialized && s.earlyInitialize == nil && m.Exchange.Batch == nil && m.Exchange.Frame.M == protocol.MethodInitialize
	if opens && s.key.Project == "" && m.View.Project != "" {
		s.key.Project = m.View.Project
		s.key, s.asks = message.Narrowed(s.key, s.who), nil
		if s.snapshot != nil {
			s.look()
		}
	}
	return admission.Belongs(m.Admitted, s.key, m.Exchange)
}

// look finds what the session sees of its snapshot. In a project that is no more, or that its principal may not use any more, it sees nothing.
func (s *state) look() {
	view, ok := s.snapshot.View(s.key)
	if s.viewGone = !ok || s.lacksProject(); s.viewGone {
		view = s.snapshot.Nothing()
	}
	s.view = view
}

// mayComeBack reports whether what the session saw is gone and may be there again with another configuration: the session stays,
// its requests are refused, and it hears of both. A session of one server ends with that.
func (s *state) mayComeBack() bool {
	return s.viewGone && s.initialized && s.lacksProject()
}

// lacksProject reports whether there is no such project as the session's, or none for its principal.
func (s *state) lacksProject() bool {
	return s.key.Project != "" && !(s.snapshot.HasProject(s.key) && s.who.May(s.key.Project))
}

// published takes a newer catalog, and tells the client what changed.
func (s *state) published(now time.Time, m message.Published, out []kernel.Effect) []kernel.Effect {
	s.snapshot = m.Snapshot
	s.look()
	return s.looked(now, m.Early, out)
}

// looked has the client told of what it sees now; early: not yet.
func (s *state) looked(now time.Time, early bool, out []kernel.Effect) []kernel.Effect {
	switch {
	case !s.viewGone, s.mayComeBack():
	case s.earlyInitialize != nil:
		x := s.earlyInitialize
		s.earlyInitialize = nil
		return s.noView(x, out)
	case s.initialized, s.transport == "sse":
		return append(out, kernel.StopSelf())
	default: // the initialize is on its way, and is to be told why
		return out
	}
	out = s.serveWaiting(now, s.resubscribe(out))
	if early {
		return out
	}
	return s.tellChanges(out)
}

// noView refuses an initialize that there is nothing to see for. Nobody can use the session then; only the client on stdin and
// stdout, who has no other, may try again.
func (s *state) noView(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	fault := admission.NoView(s.snapshot, s.key)
	if s.lacksProject() {
		fault = protocol.NoProject(s.key.Project)
	}
	out = append(out, kernel.Act(refuse{x, admission.NoViewStatus(fault), fault}))
	if s.transport == "stdio" {
		return out
	}
	return append(out, kernel.StopSelf())
}
