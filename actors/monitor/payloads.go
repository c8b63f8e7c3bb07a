package monitor

import (
	"sync/atomic"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// SpawnPayloads starts the actor that keeps the payloads of calls. It alone changes gate. It calls ended when a Keeping
// has ended; ended must not block. permitted is admin.payloads of the configuration. Payloads are kept in the memory of
// this actor only.
func SpawnPayloads(system *kernel.System, gate *message.PayloadGate, permitted bool, ended func(status.Keeping)) kernel.Reference {
	var allowed atomic.Bool // whether the newest configuration permits payloads; survives a restart of the actor
	allowed.Store(permitted)
	return kernel.Spawn(system, kernel.SpawnOptions{Name: "payloads", Kind: "payloads", Restarts: 10, Within: time.Minute}, func(self kernel.Self) kernel.Logic {
		for _, k := range gate.Keeping() { // those of an earlier incarnation, whose payloads are lost
			ended(k)
		}
		gate.Set(nil)
		return &payloads{gate: gate, ended: ended, allowed: &allowed, state: &payloadState{self: self.Reference(), permitted: allowed.Load()}}
	})
}

// payloads is the actor's Logic.
type payloads struct {
	gate    *message.PayloadGate
	ended   func(status.Keeping)
	allowed *atomic.Bool
	state   *payloadState
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
	case permissionChanged:
		p.allowed.Store(a.permitted)
	case replyPayloads:
		a.to <- a.err
	}
}
