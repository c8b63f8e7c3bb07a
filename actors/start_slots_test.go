package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// fleet holds many servers: s000, s001, …
type fleet struct {
	servers []*actortest.Server
	order   map[string]int
}

func newFleet(n int, server func(i int) *actortest.Server) *fleet {
	f := &fleet{order: map[string]int{}}
	for i := range n {
		f.servers = append(f.servers, server(i))
		f.order[fleetName(i)] = i
	}
	return f
}

func fleetName(i int) string { return fmt.Sprintf("s%03d", i) }

func (f *fleet) open(t *testing.T, change func(*config.Config)) *stdioHarness {
	return f.openWith(t, Options{}, change)
}

func (f *fleet) openWith(t *testing.T, options Options, change func(*config.Config)) *stdioHarness {
	options.Open = func(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
		return f.servers[f.order[server.Name]].Open, "stdio"
	}
	return startStdioWith(t, nil, "", options, func(c *config.Config) {
		for i := range f.servers {
			c.Servers = append(c.Servers, fleetServer(i))
		}
		if change != nil {
			change(c)
		}
	})
}

func fleetServer(i int) config.Server {
	server := config.DefaultServer()
	server.Name, server.Written, server.Command, server.Order = fleetName(i), fleetName(i), "fake", i
	return server
}

// opened returns the number of servers that were started.
func (f *fleet) opened() (n int) {
	for _, server := range f.servers {
		n += min(1, server.Opened())
	}
	return n
}

// At most limits.startsAtOnce servers start at the same time. Four servers that hang delay the other 96 by slotTime, not by
// their own timeout.
func TestHangingServersDoNotDelayOthers(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(100, func(i int) *actortest.Server { return &actortest.Server{Tools: []string{"a"}, IgnoreInitialize: i < 4} })
		h := f.open(t, nil)
		defer h.close()
		time.Sleep(slotTime)
		if n := f.opened(); n != 4 {
			t.Errorf("%d servers were started at once, want 4", n)
		}
		time.Sleep(2 * time.Millisecond)
		if n := f.opened(); n != 100 {
			t.Errorf("%d servers were started after the slots of those that hang had expired, want 100", n)
		}
	})(t)
}

// If all servers hang, all are still started, limits.startsAtOnce at a time.
func TestAllServersHang(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(10, func(int) *actortest.Server { return &actortest.Server{IgnoreInitialize: true} })
		h := f.open(t, func(c *config.Config) { c.Limits.StartsAtOnce = 3 })
		defer h.close()
		for round, want := range []int{3, 6, 9, 10} {
			time.Sleep(2 * time.Millisecond)
			if n := f.opened(); n != want {
				t.Errorf("round %d: %d started, want %d", round, n, want)
			}
			time.Sleep(slotTime)
		}
	})(t)
}

// A slot is released when its server is removed or disabled while it starts. A reload that raises the limit applies at once.
func TestSlotsEndWithServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(9, func(int) *actortest.Server { return &actortest.Server{IgnoreInitialize: true} })
		h := f.open(t, func(c *config.Config) { c.Limits.StartsAtOnce = 2 })
		defer h.close()
		reload := func(most, from int, disabled ...int) {
			next := config.Default()
			next.Limits.StartsAtOnce = most
			for i := from; i < len(f.servers); i++ {
				next.Servers = append(next.Servers, fleetServer(i))
			}
			for _, i := range disabled {
				next.Servers[i-from].Disabled = true
			}
			h.gateway.Reload(&next)
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond)
		for _, c := range []struct {
			most, from int
			disabled   []int
			want       int
		}{{2, 1, nil, 3}, {2, 1, []int{1, 2}, 5}, {4, 1, []int{1, 2}, 7}, {0, 1, []int{1, 2}, 9}} {
			if reload(c.most, c.from, c.disabled...); f.opened() != c.want {
				t.Errorf("startsAtOnce %d, from %d, disabled %v: %d started, want %d", c.most, c.from, c.disabled, f.opened(), c.want)
			}
		}
	})(t)
}

// Servers with a URL need no start slot.
func TestURLsNeedNoSlot(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(10, func(int) *actortest.Server { return &actortest.Server{IgnoreInitialize: true} })
		h := f.open(t, func(c *config.Config) {
			for i := range c.Servers {
				c.Servers[i].Command, c.Servers[i].URLs = "", []string{"http://127.0.0.1:1/mcp"}
			}
		})
		defer h.close()
		if synctest.Wait(); f.opened() != 10 {
			t.Errorf("%d URLs were dialed, want 10", f.opened())
		}
	})(t)
}

// slotHarness is the gateway's state with pools that only record messages.
type slotHarness struct {
	t       *testing.T
	s       *state
	pools   []kernel.Reference
	granted []string
	expired []slotExpired
}

func newSlotHarness(t *testing.T, most int) *slotHarness {
	cfg := config.Default()
	cfg.Limits.StartsAtOnce = most
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	w := &slotHarness{t: t, s: newState(&cfg, kernel.Reference{})}
	for i := range 4 {
		w.pools = append(w.pools, actortest.NewProbe(system, fmt.Sprint(i)).Reference)
		w.s.servers.pools[fmt.Sprint(i)] = w.pools[i]
	}
	return w
}

func (w *slotHarness) step(msg any) {
	for _, e := range step(w.s, time.Time{}, msg, nil) {
		if m, ok := e.Msg.(message.StartSlotGranted); ok {
			w.granted = append(w.granted, fmt.Sprintf("%s.%d", e.To.Name(), m.Number))
		}
		if a, ok := e.Act.(kernel.Wake); ok {
			if m, ok := a.Msg.(slotExpired); ok {
				w.expired = append(w.expired, m)
			}
		}
	}
}

func (w *slotHarness) expectGranted(want ...string) {
	w.t.Helper()
	if fmt.Sprint(w.granted) != fmt.Sprint(want) {
		w.t.Errorf("slots were granted to %v, want %v", w.granted, want)
	}
	w.granted = nil
}

// Slots are granted first to backends that a call waits for, then to backends that lost their connection, then to first
// starts in the order of the configuration, then to retries.
func TestSlotOrder(t *testing.T) {
	w := newSlotHarness(t, 1)
	ask := func(pool, number int, m message.RequestStartSlot) {
		m.Pool, m.Number, m.Order = w.pools[pool], number, pool
		w.step(m)
	}
	ask(0, 1, message.RequestStartSlot{Wanted: true})
	w.expectGranted("0.1")
	ask(0, 2, message.RequestStartSlot{Retries: true})
	ask(1, 1, message.RequestStartSlot{Retries: true})
	ask(3, 1, message.RequestStartSlot{})
	ask(2, 1, message.RequestStartSlot{})
	ask(3, 2, message.RequestStartSlot{Lost: true})
	ask(2, 2, message.RequestStartSlot{})
	ask(2, 2, message.RequestStartSlot{Wanted: true})
	w.step(requestsGathered{})
	ask(1, 2, message.RequestStartSlot{Wanted: true})
	last := backendID{w.pools[0], 1}
	for range 8 {
		w.step(message.ReleaseStartSlot{Pool: last.pool, Number: last.number})
		if n := len(w.expired); n > 0 {
			last = w.expired[n-1].backendID
		}
	}
	w.expectGranted("2.2", "1.2", "3.2", "2.1", "3.1", "0.2", "1.1")
	if len(w.s.starts.running)+len(w.s.starts.waiting) != 0 {
		t.Errorf("slots or requests remain: %v", w.s.starts)
	}
}

// When a pool restarts or ends, its slots and requests are released, and its late messages are ignored. The timer of an expired slot
// does not end a slot that was granted later.
func TestSlotsAreReleased(t *testing.T) {
	w := newSlotHarness(t, 1)
	ask := func(pool, number int) {
		w.step(message.RequestStartSlot{Pool: w.pools[pool], Number: number, Order: pool})
		w.step(requestsGathered{})
	}
	ask(0, 1)
	ask(0, 2)
	ask(1, 1)
	w.expectGranted("0.1")
	w.step(message.StartSlotsReset{Pool: w.pools[0]})
	w.expectGranted("1.1")
	ask(2, 1)
	w.step(kernel.ChildStopped{Child: w.pools[1]})
	w.expectGranted("2.1")
	ask(1, 2) // sent before the pool ended, received after
	w.step(message.ReleaseStartSlot{Pool: w.pools[2], Number: 1})
	ask(2, 1)
	w.expectGranted("2.1")
	ask(3, 1)
	w.step(w.expired[2])
	w.expectGranted()
	w.step(w.expired[3])
	w.expectGranted("3.1")
	w.step(message.ReleaseStartSlot{Pool: w.pools[3], Number: 7}) // an unknown backend
	w.step(message.ReleaseStartSlot{Pool: w.pools[3], Number: 1})
	if len(w.s.starts.running)+len(w.s.starts.waiting) != 0 {
		t.Errorf("slots or requests remain: %v", w.s.starts)
	}
}
