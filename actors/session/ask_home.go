package session

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// A guest asks the home whether the session lives: at its start, before it serves any request, and then, while it is used, once per
// idle limit. If the home does not answer, the guest relies on what the session id says.

// HomeAnswer is the answer of a session's home to a guest's question. The zero value means that there was no answer.
type HomeAnswer struct {
	Life  cluster.SessionLife
	Level protocol.Level // of the session
}

// talk performs the effects that concern other nodes.
func (s *session) talk(self kernel.Self, act any) {
	switch a := act.(type) {
	case moved:
		s.Metrics.Cluster().Moved.Add(1)
	case tellNodes:
		s.Nodes.Tell(message.TellNodes{Hint: a.hint})
	case askHome:
		if s.Home == nil {
			self.Next(HomeAnswer{})
			return
		}
		self.Go(func(ctx context.Context) any { return s.Home(ctx, s.ID, a.holder) })
	case homeAnswer:
		a.Reply(a.Life, a.Level)
	}
}

// askFirst asks the home before the guest serves anything.
func (s *state) askFirst(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.isGuest() {
		return out
	}
	s.guest.unsure = true
	return s.askHome(now, out)
}

// askHome asks the home whether the session lives, unless the guest is waiting for an answer.
func (s *state) askHome(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.guest.asking {
		return out
	}
	s.guest.asking, s.guest.asked, s.guest.leveled = true, now, false
	return append(out, kernel.Act(askHome{message.PrincipalOf(s.principal.who)}))
}

// askAgain asks the home if the guest was used since the last question, or has calls.
func (s *state) askAgain(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.isGuest() || s.calls.Len() == 0 && !s.life.lastSeen.After(s.guest.asked) {
		return out
	}
	return s.askHome(now, out)
}

// homeAnswered handles the home's answer, or its absence. Meanwhile this node may have become the home.
func (s *state) homeAnswered(now time.Time, m HomeAnswer, out []kernel.Effect) []kernel.Effect {
	if s.guest == nil {
		return out
	}
	first := s.guest.unsure
	s.guest.asking, s.guest.unsure = false, false
	if !s.isGuest() {
		return s.serveEnqueued(now, out)
	}
	switch m.Life {
	case cluster.SessionEnded:
		return s.homeEnded(out)
	case cluster.SessionLives:
		if !s.guest.leveled { // the hint may be newer than the answer
			out = s.adoptLevel(m.Level, out)
		}
		if first && s.client.level != protocol.LevelNone { // the servers get the level before the first call
			s.guest.unsure, s.guest.leveling = true, s.calls.Next()
			return append(out, kernel.Tell(s.gateway, message.SetSessionLevel{Session: s.self, Level: s.client.level, Seq: s.guest.leveling}))
		}
	}
	return s.serveEnqueued(now, out)
}

// guestLeveled lets a guest serve the messages that have waited until the gateway has passed the session's log level on to the servers.
func (s *state) guestLeveled(now time.Time, m message.SetSessionLevelResult, out []kernel.Effect) []kernel.Effect {
	if s.guest == nil || s.guest.leveling == 0 || m.Seq != s.guest.leveling {
		return out
	}
	s.guest.leveling, s.guest.unsure = 0, false
	return s.serveEnqueued(now, out)
}

// homeEnded ends the guest, because its session has ended. The messages that wait get the same answer as at home. If the client has
// ended the session at another node while that was its home, the present home ends, too.
func (s *state) homeEnded(out []kernel.Effect) []kernel.Effect {
	if s.guest != nil {
		for _, m := range s.guest.waiting {
			out = append(out, kernel.Act(refuseEnded{m.Exchange}))
		}
		s.guest.waiting = nil
	}
	return append(out, kernel.StopSelf())
}

// answerGuest answers the question of a guest at another node. The session counts as used, because the guest is in use.
func (s *state) answerGuest(now time.Time, m message.GuestAsks, out []kernel.Effect) []kernel.Effect {
	a := homeAnswer{m, HomeAnswer{Life: cluster.SessionLives, Level: s.client.level}}
	switch {
	case s.isGuest():
		a.HomeAnswer = HomeAnswer{}
	case m.Holder != message.PrincipalOf(s.principal.who):
		a.HomeAnswer = HomeAnswer{Life: cluster.SessionEnded}
	default:
		s.life.lastSeen = now
	}
	return append(out, kernel.Act(a))
}
