package monitor

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// SpawnPayloads starts the actor that keeps the payloads of calls. It alone changes gate, and calls ended after each Keeping; ended must
// not block. Payloads are in the memory of this actor only.
func SpawnPayloads(system *kernel.System, gate *message.PayloadGate, permitted bool, ended func(status.Keeping)) kernel.Reference {
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "payloads", Kind: "payloads", Restarts: 10, Within: time.Minute}, func(self kernel.Self) kernel.Logic {
		gate.Set(nil) // of an earlier incarnation
		return &payloads{gate: gate, ended: ended, state: &payloadState{self: self.Reference(), permitted: permitted}}
	})
}

// payloads is the shell.
type payloads struct {
	gate  *message.PayloadGate
	ended func(status.Keeping)
	state *payloadState
}

func (p *payloads) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return stepPayloads(p.state, now, msg, out)
}

func (p *payloads) Act(_ kernel.Self, act any) {
	switch a := act.(type) {
	case openGate:
		p.gate.Set(a.keepings)
	case payloadsEnded:
		p.ended(a.keeping.Shown())
	case replyPayloads:
		a.to <- a.err
	}
}
