package actors

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/monitor"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// keptPayloads is the gateway's part of keeping payloads of calls. Nothing of it changes after Start.
type keptPayloads struct {
	keeper  kernel.Reference     // keeps them, and owns the gate
	gate    *message.PayloadGate // tells the holders of calls which to keep
	secrets *secret.Redactor
}

// startPayloads spawns the actor that keeps payloads.
func (g *Gateway) startPayloads(cfg *config.Config, o Options) {
	gate := &message.PayloadGate{}
	g.payloads = keptPayloads{monitor.SpawnPayloads(g.system, gate, cfg.Admin.Payloads, g.payloadsEnded), gate, o.Secrets}
}

// permitPayloads is the effect of a reload that changes something for kept payloads.
type permitPayloads struct{ change message.PermitPayloads }

// changePayloads discards what must not be kept any longer after a reload. Payloads are shown without the secrets that are known then. The
// secrets of the previous configuration are known until the next reload, so payloads that may contain older ones are discarded.
func (s *state) changePayloads(next *config.Config, removed []config.Server, out []kernel.Effect) []kernel.Effect {
	change := message.PermitPayloads{Permitted: next.Admin.Payloads, Removed: names(removed)}
	change.Rotated = slices.ContainsFunc(s.reloads.secrets, func(value string) bool { return !slices.Contains(next.Secrets, value) })
	s.reloads.secrets = slices.Concat(s.config.Secrets, next.Secrets)
	if change.Rotated || len(removed) > 0 || next.Admin.Payloads != s.config.Admin.Payloads {
		out = append(out, kernel.Act(permitPayloads{change}))
	}
	return out
}

// keepPayloads begins or ends the keeping of a server's payloads. It blocks until the actor has answered or ctx ends.
func (g *Gateway) keepPayloads(ctx context.Context, a status.Action) error {
	if a.Server == "" {
		return fmt.Errorf("keep payloads: %w; name a server", status.ErrBadAction)
	}
	if _, there := g.system.Lookup("gateway/pool/" + a.Server); !there && !a.Stop {
		return fmt.Errorf("keep payloads of server %q: %w", a.Server, status.ErrNotThere)
	}
	reply := make(chan error, 1)
	if a.Stop {
		g.payloads.keeper.Tell(message.DiscardPayloads{Server: a.Server, Reply: reply})
	} else {
		g.payloads.keeper.Tell(message.KeepPayloads{Server: a.Server, Reply: reply})
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// payloadsEnded adds the end of a Keeping to the audit log. Its beginning is there as an action.
func (g *Gateway) payloadsEnded(k status.Keeping) {
	g.audit.Record(audit.Record{Event: audit.EventAdmin, Who: identity.LocalID, Via: identity.ViaLocal, Method: "payloads ended", Server: k.Server, Outcome: "ok",
		Took: time.Since(k.Began), Detail: strconv.Itoa(k.Calls) + " calls"})
}

// withKeeping returns s with the servers whose payloads are kept. It does not modify s, which other callers may share.
func (g *Gateway) withKeeping(s *status.Snapshot) *status.Snapshot {
	keeping := g.payloads.gate.Keeping()
	if keeping == nil {
		return s
	}
	with := *s
	with.Keeping = keeping
	return &with
}

// Payloads returns the kept payloads of calls without secrets: see status.Local.
func (g *Gateway) Payloads(ctx context.Context, q status.PayloadQuery) ([]status.KeptPayloads, error) {
	reply := make(chan []message.KeptPayloads, 1)
	g.payloads.keeper.Tell(message.GetPayloads{Reply: reply})
	select {
	case all := <-reply:
		if all == nil {
			return nil, ErrStopped
		}
		return g.shownPayloads(ctx, all, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *Gateway) shownPayloads(ctx context.Context, all []message.KeptPayloads, q status.PayloadQuery) ([]status.KeptPayloads, error) {
	list := []status.KeptPayloads{} // an empty list in JSON is [], not null
	for _, k := range all {
		shown := status.KeptPayloads{Keeping: k.Keeping, Payloads: []status.CallPayload{}}
		for i := range k.Calls {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if q.Call == "" || q.Call == k.Calls[i].Call {
				shown.Payloads = append(shown.Payloads, g.shownPayload(&k.Calls[i], q.Call != ""))
			}
		}
		if q.Call == "" || len(shown.Payloads) > 0 {
			list = append(list, shown)
		}
	}
	return list, nil
}

// The values of status.CallPayload.Withheld.
const (
	withheldItem   = "the name of the item suggests that the call is about secrets"
	withheldTask   = "the answer may have the result of a task, whose tool is not known here"
	withheldAnswer = "the answer asks the user to log in, or for input"
)

// shownPayload returns a call as it is shown. The texts are made only if they are wanted, because that takes milliseconds.
func (g *Gateway) shownPayload(c *message.CallPayload, texts bool) status.CallPayload {
	shown := status.CallPayload{Call: c.Call, Method: c.Method, Item: c.Item, Began: c.Began, Ended: c.Ended}
	switch {
	case secret.Item(c.Item) || strings.HasSuffix(c.Item, "…"): // what is cut off may suggest it
		shown.Withheld = withheldItem
	case protocol.ParseMethod([]byte(c.Method)).Names() == protocol.SubjectTask:
		shown.Withheld = withheldTask
	case c.AnswerWithheld:
		shown.Withheld = withheldAnswer
	}
	side := func(raw message.RawPayload, texts bool) status.Payload {
		p := status.Payload{Bytes: raw.Bytes, Shape: g.payloads.secrets.Shape(raw.Text), Cut: raw.Bytes > len(raw.Text)}
		if texts {
			p.Text = g.payloads.secrets.Payload(raw.Text, p.Cut)
		}
		return p
	}
	shown.Request = side(c.Request, texts && shown.Withheld != withheldItem)
	shown.Answer = side(c.Answer, texts && shown.Withheld == "")
	return shown
}
