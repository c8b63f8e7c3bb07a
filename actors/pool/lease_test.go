package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// From the first question on that does not say to which call it belongs, a server gets one call at a time: a process,
// one over HTTP+SSE, one that asks on its GET stream alike, and also when the question had to be refused.
func TestLeasedFromTheFirstDoubt(t *testing.T) {
	url := []string{"http://127.0.0.1:1/mcp"}
	for name, c := range map[string]struct {
		urls   []string
		says   func(w *world) any
		leased bool
	}{
		"process":              {nil, func(w *world) any { return message.Parked{Backend: w.backends[0], Yes: true} }, true},
		"url, on its own":      {url, func(w *world) any { return message.Parked{Backend: w.backends[0], Yes: true} }, true},
		"url, on the stream":   {url, func(w *world) any { return message.Parked{Backend: w.backends[0], Yes: true, Certain: true} }, false},
		"refused":              {url, func(w *world) any { return message.Unattributed{Backend: w.backends[0]} }, true},
		"refused to a process": {nil, func(w *world) any { return message.Unattributed{Backend: w.backends[0]} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config.Server{URLs: c.urls, Isolation: "shared", Queue: queue}, 1)
			w.phase(0, message.Ready)
			w.dispatch(0)
			w.step(c.says(w))
			w.dispatch(1)
			w.dispatch(2)
			want := 3
			if c.leased {
				want = 2 // the parked one takes no slot
				if _, refused := c.says(w).(message.Unattributed); refused {
					want = 1
				}
			}
			if len(w.sent) != want {
				t.Errorf("%d calls run, want %d", len(w.sent), want)
			}
		})
	}
}
