package sim

import (
	"context"
	"time"

	"goblin-actor/internal/status"
)

// keepPayloads keeps the payloads of every server for which none are kept yet, but of at most status.MaxKeepings servers.
// Nothing of this is left to the seed, so stories are the same as without it.
func (w *world) keepPayloads() {
	if w.keeping == nil {
		w.keeping = map[string]time.Time{}
	}
	for _, s := range w.config.Servers {
		if time.Now().Before(w.keeping[s.Name]) || len(w.keeping) == status.MaxKeepings {
			continue
		}
		until := time.Now().Add(status.PayloadTime)
		w.outside(func(ctx context.Context) {
			if err := w.gateway.Act(ctx, status.Action{Verb: status.Payloads, Server: s.Name}); err == nil { // a member of a group is refused
				w.keeping[s.Name] = until
			}
		})
	}
}

// checkPayloads checks that payloads are kept until their time is over and not longer, and that no more are kept than permitted.
func (w *world) checkPayloads(when string) {
	var all []status.KeptPayloads
	w.outside(func(ctx context.Context) { all, _ = w.gateway.Payloads(ctx, status.PayloadQuery{}) })
	kept := map[string]bool{}
	for _, k := range all {
		kept[k.Server] = true
		if until, known := w.keeping[k.Server]; !known || !k.Until.Equal(until) {
			w.violated("%s: the payloads of %s are kept until %v, want %v", when, k.Server, k.Until, until)
		}
		if len(k.Payloads) > status.MaxPayloads || len(k.Payloads) != k.Calls {
			w.violated("%s: %d payloads of %s are kept, and %d are counted", when, len(k.Payloads), k.Server, k.Calls)
		}
		for _, c := range k.Payloads {
			if c.Began.Before(k.Began) || !c.Began.Before(k.Until) || !c.Ended.IsZero() && c.Ended.Before(c.Began) || c.Request.Bytes == 0 {
				w.violated("%s: the payload of a call of %s, kept from %v until %v, is %+v", when, k.Server, k.Began, k.Until, c)
			}
			w.count("a kept payload")
		}
	}
	for server, until := range w.keeping {
		if ended := !time.Now().Before(until); ended == kept[server] {
			w.violated("%s: the payloads of %s until %v are kept: %v", when, server, until, kept[server])
		}
	}
	w.count("payloads compared")
}
