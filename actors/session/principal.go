package session

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
)

// A session belongs to the principal that opened it. For any other principal it does not exist: a message with a
// guessed or stolen id gets the same answer as one with an unknown id. Such a message does not keep the session alive. It
// is recorded in the audit log and counted as a refusal.

// principal is the newest known value of the session's principal.
type principal struct {
	who     *identity.Principal // nil = identity.Local. A newer value with the same id replaces it
	epoch   uint64              // of who, Admitted.Epoch
	revoked bool                // it no longer exists
	expiry  time.Time           // when the next streamsExpired arrives; zero = none is due
	behalf  *identity.Behalf    // for whom another node of the cluster opened the session; nil = no node opened it
}

// isTheirs reports whether the principal who is the session's principal.
func (s *state) isTheirs(who *identity.Principal) bool {
	return identity.Same(who, s.principal.who)
}

// renew replaces the session's principal with a newer value, which may have other rights and another expiry. A value
// from before the newest change of principals that the session knows of is ignored.
func (s *state) renew(now time.Time, who *identity.Principal, epoch uint64, out []kernel.Effect) []kernel.Effect {
	if who == nil || epoch < s.principal.epoch {
		return out
	}
	if epoch != s.principal.epoch {
		s.principal.epoch, s.client.asCaller = epoch, nil
	}
	if who == s.principal.who {
		return out
	}
	s.principal.who, s.catalog.key, s.client.asCaller = who, message.Narrowed(s.catalog.key, who), nil
	out = s.setStreamExpiry(now, out)
	if s.catalog.snapshot == nil {
		return out
	}
	was := s.catalog.view
	s.updateView()
	s.catalog.announced.Carry(was, s.catalog.view)
	return s.viewChanged(now, false, out)
}

// principals replaces the session's principal with its newest value. If the principal no longer exists, the session
// ends with its calls and streams.
func (s *state) principals(now time.Time, m message.Principals, out []kernel.Effect) []kernel.Effect {
	if m.Epoch < s.principal.epoch {
		return out // a later admission has brought a newer value
	}
	newest, ok := m.Of(s.principal.who)
	if !ok {
		s.principal.revoked = true
		return append(out, kernel.StopSelf())
	}
	return s.renew(now, newest, m.Epoch, out)
}

// setStreamExpiry sets a timer for the expiry of the credential if the client has open streams. A later expiry sets no
// second timer: when the timer fires, it is compared with the newest expiry.
func (s *state) setStreamExpiry(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.principal.who == nil || s.principal.who.Expires.IsZero() || len(s.streams) == 0 || !s.principal.expiry.IsZero() && !s.principal.who.Expires.Before(s.principal.expiry) {
		return out
	}
	s.principal.expiry = s.principal.who.Expires
	return append(out, kernel.WakeAfter(max(0, s.principal.expiry.Sub(now)), streamsExpired{s.principal.expiry}))
}

// streamsExpired closes the client's streams if its credential has expired. The client may open new ones with a new credential.
// Its calls continue.
func (s *state) streamsExpired(now time.Time, m streamsExpired, out []kernel.Effect) []kernel.Effect {
	if !m.at.Equal(s.principal.expiry) {
		return out
	}
	s.principal.expiry = time.Time{}
	if s.principal.who.Expires.IsZero() || now.Before(s.principal.who.Expires) {
		return s.setStreamExpiry(now, out)
	}
	for _, stream := range s.streams {
		out = append(out, kernel.Act(closeStream{stream}))
	}
	s.streams = nil
	return out
}
