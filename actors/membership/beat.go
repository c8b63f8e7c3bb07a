package membership

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// minBeatGap is the minimum time between the last beat and one that greet sends early, however much changes.
const minBeatGap = 20 * time.Millisecond

// collected ends the round: it sends the regular beat.
func (s *state) collected(now time.Time, m collected, out []kernel.Effect) []kernel.Effect {
	s.own.round++
	s.spending.push(m.spent)
	return s.beat(now, out)
}

// greet sends a beat before it is due, because something has changed.
func (s *state) greet(now time.Time, out []kernel.Effect) []kernel.Effect {
	wait := minBeatGap - now.Sub(s.own.beat)
	switch {
	case wait <= 0:
		return s.beat(now, out)
	case s.own.greeting:
		return out
	}
	s.own.greeting = true
	return append(out, kernel.WakeAfter(wait, greeting{s.own.generation}))
}

// greetLater sends the beat that greet has put off, unless a regular one was sent meanwhile.
func (s *state) greetLater(now time.Time, m greeting, out []kernel.Effect) []kernel.Effect {
	if m.generation != s.own.generation {
		return out
	}
	if s.own.greeting = false; now.Sub(s.own.beat) < minBeatGap {
		return out
	}
	return s.beat(now, out)
}

func (s *state) beat(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.own.condemned {
		return out
	}
	s.own.beat = now
	return append(out, kernel.Act(publish{cluster.SubjectBeat, s.newBeat(now).Encode()}))
}

func (s *state) newBeat(now time.Time) *cluster.Beat {
	s.own.seq++
	o := s.options
	return &cluster.Beat{
		Head:   cluster.Head{Cluster: o.Cluster, Node: o.Node, Incarnation: s.own.incarnation, Speaks: cluster.Spoken, Version: o.Version},
		Former: s.formerNames(), Address: o.Address, Seq: s.own.seq, Round: s.own.round, Since: s.own.since, Time: now.UnixMilli(),
		Joining: !s.join.done, Draining: s.own.draining, Config: s.facts.Config, Keys: s.facts.Keys, Revoked: s.revoked.digestText(),
		Generations: s.generations, Spent: s.spending.entries(),
	}
}

// condemn records that this node's incarnation was given up, and takes a new one.
func (s *state) condemn(now time.Time, why string, out []kernel.Effect) []kernel.Effect {
	if s.own.condemned {
		return out
	}
	s.own.condemned = true
	out = append(out, kernel.Log(slog.LevelWarn, "the cluster has given this node up; it continues under a new incarnation", "incarnation", s.own.incarnation, "reason", why))
	return s.renewSoon(now, out)
}

// renewSoon takes a new incarnation, unless the last one was taken less than renewEvery ago. In that case, the next tick
// tries again.
func (s *state) renewSoon(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.own.renewed.IsZero() && now.Sub(s.own.renewed) < renewEvery {
		return out
	}
	return append(out, kernel.Act(renew{}))
}

// takeIncarnation continues under a new incarnation.
func (s *state) takeIncarnation(now time.Time, incarnation string, out []kernel.Effect) []kernel.Effect {
	if !s.own.condemned {
		return out
	}
	was := former{s.own.incarnation, now}
	s.own.former = append([]former{was}, s.own.former[:min(len(s.own.former), cluster.MaxFormer-1)]...)
	s.own.incarnation, s.own.since, s.own.renewed, s.own.condemned = incarnation, now.UnixMilli(), now, false
	s.missEnded()
	out = append(out, kernel.Act(serve{incarnation}))
	return s.publishView(s.beat(now, out))
}
