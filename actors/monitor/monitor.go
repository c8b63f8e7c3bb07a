// Package monitor is the actor that pictures all the others: asked for the status, it asks every actor what it would
// tell people and puts the answers together. It owns nothing but the questions that wait for the same picture.
package monitor

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// surveyTime is how long actors have to answer; who has not by then is missing from the picture.
const surveyTime = 500 * time.Millisecond

// Spawn starts the monitor of a system.
func Spawn(system *kernel.System, version string) kernel.Reference {
	started := time.Now()
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "monitor", Kind: "monitor"}, func(kernel.Self) kernel.Logic {
		return &monitor{system: system, version: version, started: started, state: &state{}}
	})
}

// monitor is the shell.
type monitor struct {
	system  *kernel.System
	version string
	started time.Time
	state   *state
}

// state: those who wait for a picture.
type state struct {
	running bool                // a survey does
	asked   []message.GetStatus // before it began: they get its picture
	waiting []message.GetStatus // since: they may know of something for which it was too early, and get that of the next
}

// What the shell carries out.
type (
	survey struct{}
	show   struct { // to those who wait
		picture *status.Snapshot
		waiting []message.GetStatus
	}
)

// surveyed: the survey has its answers.
type surveyed struct{ picture *status.Snapshot }

// step: one survey runs at a time; all who ask meanwhile get the picture of the next.
func step(s *state, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.GetStatus:
		s.waiting = append(s.waiting, m)
	case surveyed:
		out = append(out, kernel.Act(show{m.picture, s.asked}))
		s.asked, s.running = nil, false
	case kernel.GoPanicked:
		abandon(s.asked, kernel.Panicked)
		s.asked, s.running = nil, false
	case kernel.Stopping:
		abandon(s.asked, kernel.ReceiverStopped)
		abandon(s.waiting, kernel.ReceiverStopped)
		s.asked, s.waiting = nil, nil
	}
	if s.running || len(s.waiting) == 0 {
		return out
	}
	s.running, s.asked, s.waiting = true, s.waiting, nil
	return append(out, kernel.Act(survey{}))
}

func abandon(them []message.GetStatus, why kernel.Reason) {
	for _, m := range them {
		m.Abandon(why)
	}
}

func (m *monitor) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(m.state, msg, out)
}

func (m *monitor) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case survey:
		self.Go(func(ctx context.Context) any { return surveyed{m.survey(ctx)} })
	case show:
		for _, w := range a.waiting {
			select {
			case w.Reply <- a.picture:
			default:
			}
		}
	}
}
