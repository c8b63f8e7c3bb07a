package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// payloadState is the actor's entire state. Only stepPayloads modifies it.
type payloadState struct {
	self      kernel.Reference
	permitted bool
	kept      []*keptPayloads // at most status.MaxKeepings, in the order of their beginning; no two of the same server
}

// keptPayloads are the payloads of a server's calls.
type keptPayloads struct {
	keeping *message.Keeping
	calls   []message.CallPayload // at most keeping.Most
}

// payloadsDue reports that the time of a Keeping is over.
type payloadsDue struct{ keeping *message.Keeping }

type (
	openGate          struct{ keepings []*message.Keeping } // replaces the list of the gate
	payloadsEnded     struct{ keeping *message.Keeping }
	permissionChanged struct{ permitted bool } // for the next incarnation
	replyPayloads     struct {                 // answers an operator, after the gate has changed
		to  chan<- error
		err error
	}
)

// stepPayloads applies msg to s and appends the resulting effects to out.
func stepPayloads(s *payloadState, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.KeepPayloads:
		return s.keep(now, m, out)
	case message.DiscardPayloads:
		return s.discard(m, out)
	case message.PermitPayloads:
		return s.permit(m, out)
	case message.PayloadBegan:
		if k := s.find(m.Keeping); k != nil && len(k.calls) < m.Keeping.Most {
			k.calls = append(k.calls, m.Payload)
		}
	case message.PayloadEnded:
		s.callEnded(m)
	case payloadsDue:
		return s.end(m.keeping, out)
	case message.GetPayloads:
		m.Reply <- s.list()
	case kernel.Stopping:
		return s.endAll(out)
	}
	return out
}

// keep starts to keep the payloads of a server, or refuses to.
func (s *payloadState) keep(now time.Time, m message.KeepPayloads, out []kernel.Effect) []kernel.Effect {
	if err := s.refusal(now, m.Server); err != nil {
		return append(out, kernel.Act(replyPayloads{m.Reply, err}))
	}
	k := &message.Keeping{Keeper: s.self, Server: m.Server, Began: now, Until: now.Add(status.PayloadTime), Most: status.MaxPayloads}
	s.kept = append(s.kept, &keptPayloads{keeping: k})
	return append(out, s.open(), kernel.WakeAfter(status.PayloadTime, payloadsDue{k}), kernel.Act(replyPayloads{m.Reply, nil}))
}

// refusal returns why the payloads of a server cannot be kept, or nil.
func (s *payloadState) refusal(now time.Time, server string) error {
	if !s.permitted {
		return fmt.Errorf("keep payloads of server %q: %w: admin.payloads is false", server, status.ErrForbidden)
	}
	first := now.Add(status.PayloadTime)
	for _, k := range s.kept {
		if k.keeping.Server == server {
			return fmt.Errorf("keep payloads of server %q: they are being kept already, %d of %d calls, for another %s; to start over, stop it first",
				server, k.keeping.Calls(), k.keeping.Most, k.keeping.Until.Sub(now).Round(time.Second))
		}
		if k.keeping.Until.Before(first) {
			first = k.keeping.Until
		}
	}
	if len(s.kept) < status.MaxKeepings {
		return nil
	}
	return fmt.Errorf("keep payloads of server %q: the payloads of %d servers are being kept already, which is the maximum; try again in %s, when the first of them are discarded, or stop one of them",
		server, len(s.kept), first.Sub(now).Round(time.Second))
}

func (s *payloadState) discard(m message.DiscardPayloads, out []kernel.Effect) []kernel.Effect {
	for _, k := range s.kept {
		if k.keeping.Server == m.Server {
			return append(s.end(k.keeping, out), kernel.Act(replyPayloads{m.Reply, nil}))
		}
	}
	return append(out, kernel.Act(replyPayloads{m.Reply, fmt.Errorf("discard payloads of server %q: none are kept: %w", m.Server, status.ErrNotThere)}))
}

// permit applies a reload: it discards the payloads of removed servers, or all payloads if they are no longer permitted
// or may contain a secret that was removed.
func (s *payloadState) permit(m message.PermitPayloads, out []kernel.Effect) []kernel.Effect {
	if s.permitted != m.Permitted {
		s.permitted = m.Permitted
		out = append(out, kernel.Act(permissionChanged{m.Permitted}))
	}
	if !m.Permitted || m.Rotated {
		return s.endAll(out)
	}
	for _, k := range slices.Clone(s.kept) {
		if slices.Contains(m.Removed, k.keeping.Server) {
			out = s.end(k.keeping, out)
		}
	}
	return out
}

// find returns the payloads of a Keeping, or nil if it has ended.
func (s *payloadState) find(keeping *message.Keeping) *keptPayloads {
	for _, k := range s.kept {
		if k.keeping == keeping {
			return k
		}
	}
	return nil
}

// callEnded adds the answer to the newest call with that name that has none. If the Keeping has ended, it does nothing.
func (s *payloadState) callEnded(m message.PayloadEnded) {
	k := s.find(m.Keeping)
	if k == nil {
		return
	}
	for i := len(k.calls) - 1; i >= 0; i-- {
		if c := &k.calls[i]; c.Call == m.Call && c.Ended.IsZero() {
			c.Ended, c.Answer, c.AnswerWithheld = m.At, m.Answer, m.Withheld
			return
		}
	}
}

// end discards the payloads of a Keeping, if it has not ended.
func (s *payloadState) end(keeping *message.Keeping, out []kernel.Effect) []kernel.Effect {
	before := len(s.kept)
	s.kept = slices.DeleteFunc(s.kept, func(k *keptPayloads) bool { return k.keeping == keeping })
	if len(s.kept) == before {
		return out
	}
	return append(out, s.open(), kernel.Act(payloadsEnded{keeping}))
}

func (s *payloadState) endAll(out []kernel.Effect) []kernel.Effect {
	for len(s.kept) > 0 {
		out = s.end(s.kept[0].keeping, out)
	}
	return out
}

// open returns the effect that opens the gate for exactly the Keepings in s.
func (s *payloadState) open() kernel.Effect {
	all := make([]*message.Keeping, 0, len(s.kept))
	for _, k := range s.kept {
		all = append(all, k.keeping)
	}
	return kernel.Act(openGate{all})
}

func (s *payloadState) list() []message.KeptPayloads {
	all := make([]message.KeptPayloads, 0, len(s.kept))
	for _, k := range s.kept {
		all = append(all, message.KeptPayloads{Keeping: k.keeping.Shown(), Calls: slices.Clone(k.calls)})
	}
	slices.SortFunc(all, func(a, b message.KeptPayloads) int { return strings.Compare(a.Server, b.Server) })
	return all
}
