package monitor

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// RecordingEnded describes a recording that has ended.
type RecordingEnded struct {
	Server, Actor string // as in message.StartRecording
	Began         time.Time
	Actors        int // number of actors that were recorded until the end
}

// SpawnRecorder starts the actor that starts and ends the recordings of other actors' messages. It calls ended when a
// recording ends, but not if later recordings have taken over all its actors; ended must not block. It is an actor of
// its own so that a simulation can run it apart from the actors that it records.
func SpawnRecorder(system *kernel.System, ended func(RecordingEnded)) kernel.Reference {
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "recorder", Kind: "recorder", Restarts: 10, Within: time.Minute}, func(kernel.Self) kernel.Logic {
		return &recordings{system: system, ended: ended, state: &recorderState{}}
	})
}

// recordings is the actor's Logic.
type recordings struct {
	system *kernel.System
	ended  func(RecordingEnded)
	state  *recorderState
}

func (r *recordings) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return stepRecorder(r.state, now, msg, out)
}

func (r *recordings) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case attach:
		done := attached{attach: a, recorders: map[string]*kernel.Recorder{}}
		for _, name := range a.start.Actors {
			if recorder := r.system.Record(name, a.until); recorder != nil {
				recorder.Report(reporter(self, a.start, name))
				done.recorders[name] = recorder
			}
		}
		self.Next(done)
	case detach:
		for _, recorder := range a.recorders {
			recorder.Stop()
		}
		r.ended(a.ended)
	}
}

// reporter returns the function for kernel.Recorder.Report. If actor is the pool of a recorded server, the function tells the
// recorder which other actors take part in the pool's calls. Otherwise reporter returns nil.
func reporter(self kernel.Self, start message.StartRecording, actor string) func(string) {
	if start.Server == "" || actor != start.Actors[0] {
		return nil
	}
	recorder := self.Reference()
	return func(other string) { recorder.Tell(met{pool: actor, actor: other}) }
}
