package stateless

import (
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

const (
	keepOutcome = time.Minute // an answer nobody was there to take is kept so long
	maxOutcomes = 1024        // kept at once
	maxKept     = 16 << 20    // bytes of answers kept at once; a larger one is not kept
)

// outcome is an answer that may be asked for again, by the same sealed state.
type outcome struct {
	seq       uint64
	digest    [32]byte
	principal string
	project   string
	frame     []byte // without id: what stands after it
	fault     *protocol.Fault
	until     time.Time
}

// keep remembers an outcome, so that the same retry again gets the same answer.
func (s *state) keep(now time.Time, o outcome, out []kernel.Effect) []kernel.Effect {
	if len(o.frame) > maxKept {
		return out
	}
	o.until = now.Add(keepOutcome)
	s.outcomeBytes += len(o.frame)
	s.outcomes = append(s.outcomes, o)
	for len(s.outcomes) > maxOutcomes || s.outcomeBytes > maxKept {
		s.dropOutcome()
	}
	if s.outcomesTimed {
		return out
	}
	s.outcomesTimed = true
	return append(out, kernel.WakeAfter(keepOutcome, tidy{}))
}

// dropOutcome forgets the oldest.
func (s *state) dropOutcome() {
	s.outcomeBytes -= len(s.outcomes[0].frame)
	s.outcomes = slices.Delete(s.outcomes, 0, 1)
}

func (s *state) tidy(now time.Time, out []kernel.Effect) []kernel.Effect {
	for len(s.outcomes) > 0 && !now.Before(s.outcomes[0].until) {
		s.dropOutcome()
	}
	if s.outcomesTimed = len(s.outcomes) > 0; s.outcomesTimed {
		out = append(out, kernel.WakeAfter(s.outcomes[0].until.Sub(now), tidy{}))
	}
	return out
}

// replayOutcome answers a retry whose call has ended: with the outcome that was kept, or not at all.
func (s *state) replayOutcome(state *seal.State, digest [32]byte, who *message.Caller, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	for _, o := range s.outcomes {
		if o.seq != state.Call || o.digest != digest || o.principal != who.Principal || o.project != who.View.Project {
			continue
		}
		if o.fault != nil {
			return append(out, kernel.Act(reply.Refuse{X: x, Fault: o.fault}))
		}
		var f protocol.Frame
		if f.Parse(o.frame) != nil {
			break
		}
		frame := rawjson.AppendEdited(nil, f.Raw, admission.ReadAsTool([]rawjson.Edit{{Span: f.ID, With: x.Frame.IDBytes()}}, x, &f)...)
		if status := statusOf(&f); status != 200 {
			return append(out, kernel.Act(relayError{x, status, frame}))
		}
		return append(out, kernel.Act(reply.Answer{X: x, Message: protocol.Message{Frame: frame, Newline: f.Newline}}))
	}
	return append(out, kernel.Act(reply.Refuse{X: x, Fault: badStateFault()}))
}
