package sim

import (
	"context"
	"time"

	"goblin-actor/internal/status"
)

// keepPayloads keeps the payloads of every server for which none are kept yet, but of at most status.MaxKeepings servers.
// Nothing of this is left to the seed, so stories are the same as without it.
func (w *world) keepPayloads() {
	for _, n := range w.nodes {
		n.keepPayloads()
	}
}

func (n *node) keepPayloads() {
	if n.keeping == nil {
		n.keeping = map[string]time.Time{}
	}
	for _, s := range n.w.config.Servers {
		if time.Now().Before(n.keeping[s.Name]) || len(n.keeping) == status.MaxKeepings {
			continue
		}
		until := time.Now().Add(status.PayloadTime)
		n.w.outside(func(ctx context.Context) {
			if err := n.gateway.Act(ctx, status.Action{Verb: status.Payloads, Server: s.Name}); err == nil { // a member of a group is refused
				n.keeping[s.Name] = until
			}
		})
	}
}

// checkPayloads checks that payloads are kept until their time is over and not longer, and that no more are kept than permitted.
func (w *world) checkPayloads(when string) {
	for _, n := range w.nodes {
		n.checkPayloads(when)
	}
	w.count("payloads compared")
}

func (n *node) checkPayloads(when string) {
	var all []status.KeptPayloads
	n.w.outside(func(ctx context.Context) { all, _ = n.gateway.Payloads(ctx, status.PayloadQuery{}) })
	kept := map[string]bool{}
	for _, k := range all {
		kept[k.Server] = true
		if until, known := n.keeping[k.Server]; !known || !k.Until.Equal(until) {
			n.violated("%s: the payloads of %s are kept until %v, want %v", when, k.Server, k.Until, until)
		}
		if len(k.Payloads) > status.MaxPayloads || len(k.Payloads) != k.Calls {
			n.violated("%s: %d payloads of %s are kept, and %d are counted", when, len(k.Payloads), k.Server, k.Calls)
		}
		for _, c := range k.Payloads {
			if c.Began.Before(k.Began) || !c.Began.Before(k.Until) || !c.Ended.IsZero() && c.Ended.Before(c.Began) || c.Request.Bytes == 0 {
				n.violated("%s: the payload of a call of %s, kept from %v until %v, is %+v", when, k.Server, k.Began, k.Until, c)
			}
			n.w.count("a kept payload")
		}
	}
	for server, until := range n.keeping {
		if ended := !time.Now().Before(until); ended == kept[server] {
			n.violated("%s: the payloads of %s until %v are kept: %v", when, server, until, kept[server])
		}
	}
}
