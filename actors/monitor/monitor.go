// Package monitor implements the actors that observe the gateway for its operators. The monitor assembles the status:
// it queries every actor that reports a part of the status, and combines the answers. Its only state is the requests
// that wait for a status, and whether a survey is in progress. A survey keeps the reports of the actors that serve
// clients, so that the next survey queries only those that have handled a message since.
//
// The other actors are named seconds (what happens in each second), recorder (recordings of actors' messages) and payloads
// (payloads of calls).
package monitor

import (
	"context"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// surveyTime is how long actors have to answer. Later answers are missing from the status.
const surveyTime = 500 * time.Millisecond

// Spawn starts the monitor of a system. started is status.Snapshot.Started.
func Spawn(system *kernel.System, version string, started time.Time) kernel.Reference {
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "monitor", Kind: "monitor"}, func(kernel.Self) kernel.Logic {
		return &monitor{system: system, version: version, started: started, state: &state{}}
	})
}

// monitor is the actor's Logic.
type monitor struct {
	system  *kernel.System
	version string
	started time.Time
	reports reports // used by the survey in progress
	state   *state
}

// state is the monitor's entire state. Only step modifies it.
type state struct {
	running   bool                // a survey is in progress
	answering []message.GetStatus // requests that the current survey answers
	waiting   []message.GetStatus // later requests, answered by the next survey: they may be about an event that the current one missed
}

// The actions that step requests from the shell.
type (
	survey struct{}
	show   struct { // answers the requests for which the survey was made
		overview *status.Snapshot
		waiting  []message.GetStatus
	}
)

// surveyed is the result of a survey.
type surveyed struct{ overview *status.Snapshot }

// Observation implements kernel.Observation: showing the status must not count as work.
func (surveyed) Observation() {}

// step applies msg to s and appends the resulting effects to out. Only one survey runs at a time.
func step(s *state, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.GetStatus:
		s.waiting = append(s.waiting, m)
	case surveyed:
		out = append(out, kernel.Act(show{m.overview, s.answering}))
		s.answering, s.running = nil, false
	case kernel.GoPanicked:
		abandon(s.answering, kernel.Panicked)
		s.answering, s.running = nil, false
	case kernel.Stopping:
		abandon(s.answering, kernel.ReceiverStopped)
		abandon(s.waiting, kernel.ReceiverStopped)
		s.answering, s.waiting = nil, nil
	}
	if s.running || len(s.waiting) == 0 {
		return out
	}
	s.running, s.answering, s.waiting = true, s.waiting, nil
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
			case w.Reply <- a.overview:
			default:
			}
		}
	}
}
