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
	keepOutcome = time.Minute // time for which an answer is kept
	maxOutcomes = 1024        // maximum number of kept answers
	maxKept     = 16 << 20    // maximum total size of kept answers, in bytes; a larger answer is not kept
)

// outcome is an answer that is kept in case its retry is repeated.
type outcome struct {
	seq       uint64
	digest    [32]byte
	principal string
	project   string
	frame     []byte // with id 0; nil = fault
	fault     *protocol.Fault
	until     time.Time
}

// outcomes are the answers that are kept, oldest first.
type outcomes struct {
	list  []outcome
	bytes int  // total size of their frames
	timed bool // the tidy timer is set
}

// add keeps an outcome for keepOutcome, and drops the oldest outcomes beyond the limits. It reports whether the caller must set the
// tidy timer.
func (k *outcomes) add(now time.Time, o outcome) (timer bool) {
	if len(o.frame) > maxKept {
		return false
	}
	o.until = now.Add(keepOutcome)
	k.bytes += len(o.frame)
	k.list = append(k.list, o)
	for len(k.list) > maxOutcomes || k.bytes > maxKept {
		k.drop()
	}
	timer = !k.timed
	k.timed = true
	return timer
}

// drop drops the oldest outcome.
func (k *outcomes) drop() {
	k.bytes -= len(k.list[0].frame)
	k.list = slices.Delete(k.list, 0, 1)
}

// tidy drops the expired outcomes. It returns when to tidy next; zero = no outcomes are left.
func (k *outcomes) tidy(now time.Time) (next time.Time) {
	for len(k.list) > 0 && !now.Before(k.list[0].until) {
		k.drop()
	}
	if k.timed = len(k.list) > 0; k.timed {
		next = k.list[0].until
	}
	return next
}

// keep keeps an outcome, so that a repeated retry gets the same answer.
func (s *state) keep(now time.Time, o outcome, out []kernel.Effect) []kernel.Effect {
	if s.outcomes.add(now, o) {
		return append(out, kernel.WakeAfter(keepOutcome, tidy{}))
	}
	return out
}

func (s *state) tidy(now time.Time, out []kernel.Effect) []kernel.Effect {
	if next := s.outcomes.tidy(now); !next.IsZero() {
		out = append(out, kernel.WakeAfter(next.Sub(now), tidy{}))
	}
	return out
}

// replayOutcome answers a retry whose call has ended: with the kept outcome, or with an error.
func (s *state) replayOutcome(state *seal.State, digest [32]byte, who *message.Caller, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	for _, o := range s.outcomes.list {
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
