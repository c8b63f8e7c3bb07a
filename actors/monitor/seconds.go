package monitor

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

// SpawnSeconds starts the actor that records what happens in each second: it takes the differences of the counters in m. It is an
// actor of its own so that a survey never delays it, and so that a simulation can run it apart from the actors that it observes.
func SpawnSeconds(system *kernel.System, m *status.Metrics) kernel.Reference {
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "seconds", Kind: "seconds"}, func(kernel.Self) kernel.Logic {
		return &seconds{metrics: m, state: newSecondsState()}
	})
}

// seconds is the actor's Logic.
type seconds struct {
	metrics *status.Metrics
	samples []status.Sample // reused for each sample
	state   *secondsState
}

func (s *seconds) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return stepSeconds(s.state, now, msg, out)
}

func (s *seconds) Act(self kernel.Self, act any) {
	if _, ok := act.(takeSample); ok {
		s.samples = s.metrics.Sample(s.samples)
		self.Next(sampled{s.samples, status.CPUTime()})
	}
}
