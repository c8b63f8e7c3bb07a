package registry

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"

	"pgregory.net/rapid"
)

// world simulates the shell of a state: the clock, the timers and the messages the registry sends itself.
type world struct {
	t interface {
		Fatalf(format string, args ...any)
	}
	s      *state
	now    time.Time
	timers []timer
	mail   []any
	last   map[kernel.Reference]*catalog.Snapshot // the last snapshot published to each subscriber
	early  map[kernel.Reference]bool              // whether it was early
	told   []time.Time                            // when clients were notified of a change
	known  *catalog.Snapshot                      // the snapshot of the last notification

	announced map[string]bool // servers with an announced change that no snapshot contains yet
}

type timer struct {
	at  time.Time
	msg any
}

func (w *world) step(msg any) {
	before := w.s.snapshot
	effects := w.s.step(w.now, msg, nil)
	if w.s.snapshot != before {
		w.checkAnnounced()
	}
	if !w.s.pace.behind && w.s.snapshot.Generation != w.known.Generation {
		w.told, w.known = append(w.told, w.now), w.s.snapshot
	}
	for _, e := range effects {
		switch e := e.Act.(type) {
		case publish:
			for _, to := range e.to {
				w.early[to] = e.early
				if old := w.last[to]; old != nil && old.Version > e.snapshot.Version {
					w.t.Fatalf("version %d after %d", e.snapshot.Version, old.Version)
				}
				w.last[to] = e.snapshot
			}
		case kernel.Wake:
			w.wake(e)
		case notifyMore:
			w.mail = append(w.mail, e)
		}
	}
}

// announce records that a server has announced a change of its tools.
func (w *world) announce(server string) { w.announced[server] = true }

// checkAnnounced checks that a new snapshot counts every announced change of its servers as a change.
func (w *world) checkAnnounced() {
	for server := range w.announced {
		if w.s.snapshot.Server(server) != nil && w.s.snapshot.Generation[protocol.Tools] != w.s.snapshot.Version {
			w.t.Fatalf("the announced change of %s does not count in version %d", server, w.s.snapshot.Version)
		}
		if known := w.s.servers[server]; known == nil || known.server != nil {
			delete(w.announced, server)
		}
	}
}

// wake sets a timer. Only one of each kind may be set at a time.
func (w *world) wake(e kernel.Wake) {
	limit := pause
	if _, ok := e.Msg.(logDue); ok {
		limit = logPause
	}
	sort := func(msg any) any {
		if d, ok := msg.(alarmFired); ok {
			return d.early
		}
		return reflect.TypeOf(msg)
	}
	for _, t := range w.timers {
		if sort(t.msg) == sort(e.Msg) {
			w.t.Fatalf("two timers at once: %T", e.Msg)
		}
	}
	if e.After <= 0 || e.After > limit {
		w.t.Fatalf("%T wakes in %v", e.Msg, e.After)
	}
	w.timers = append(w.timers, timer{w.now.Add(e.After), e.Msg})
	slices.SortStableFunc(w.timers, func(a, b timer) int { return a.at.Compare(b.at) })
}

// pass advances the clock and fires timers.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d)
	for len(w.timers) > 0 && !w.timers[0].at.After(until) {
		t := w.timers[0]
		w.timers = w.timers[1:]
		w.now = t.at
		w.step(t.msg)
	}
	w.now = until
}

// deliver handles the oldest message the registry sent itself.
func (w *world) deliver() bool {
	if len(w.mail) == 0 {
		return false
	}
	m := w.mail[0]
	w.mail = w.mail[1:]
	w.step(m)
	return true
}

// For any order of messages, notifications of clients are at least a pause apart, no subscriber receives an older snapshot
// after a newer one, and in the end every subscriber has the newest one with everything that the servers offer. No announced
// change is lost.
func TestScripts(t *testing.T) {
	system := kernel.New(kernel.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer actortest.Stop(t, system)
	refs := make([]kernel.Reference, 2*slice+10) // only their identity matters
	for i := range refs {
		refs[i] = actortest.NewProbe(system, fmt.Sprintf("p%d", i)).Reference
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, s: newState(Options{Naming: naming}), now: time.Unix(1e9, 0), last: map[kernel.Reference]*catalog.Snapshot{}, early: map[kernel.Reference]bool{}, announced: map[string]bool{}}
		w.known = w.s.snapshot
		subscribed := map[kernel.Reference]bool{}
		lists, known := map[string][][]byte{}, map[string]*catalog.Server{}
		if rapid.Bool().Draw(rt, "many") {
			for _, ref := range refs {
				w.step(message.Subscribe{From: ref})
				subscribed[ref] = true
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "server")
			who := refs[rapid.IntRange(0, 600).Draw(rt, "who")]
			switch rapid.IntRange(0, 8).Draw(rt, "what") {
			case 0:
				server := catalog.Server{Name: name, Rules: config.Server{Disabled: rapid.Bool().Draw(rt, "disabled")}}
				known[name] = &server
				w.step(message.SetServerRules{Server: server})
			case 1, 2:
				lists[name] = items(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3).Draw(rt, "tools")...)
				announced := rapid.Bool().Draw(rt, "announced")
				if announced {
					w.announce(name)
				}
				w.step(message.ServerCatalog{Server: name, Kind: protocol.Tools, Items: lists[name], Announced: announced})
			case 3:
				delete(lists, name)
				delete(known, name)
				delete(w.announced, name)
				w.step(message.RemoveServer{Server: name})
			case 4:
				subscribed[who] = true
				w.step(message.Subscribe{From: who})
			case 5:
				delete(subscribed, who)
				w.step(message.Unsubscribe{From: who})
			case 6:
				w.pass(time.Duration(rapid.IntRange(0, 300).Draw(rt, "ms")) * time.Millisecond)
			case 7:
				w.deliver()
			case 8: // a restart: timers are lost, queued messages stay
				w.timers = nil
				w.step(kernel.Started{})
			}
		}
		w.pass(logPause)
		for w.deliver() {
		}
		if len(w.timers) > 0 || w.s.dirty {
			rt.Fatal("timers or changes are left")
		}
		var sources []catalog.Source
		for name, server := range known {
			source := catalog.Source{Server: server}
			source.Items[protocol.Tools] = lists[name]
			sources = append(sources, source)
		}
		want := tools(catalog.Build(nil, sources, naming))
		if got := tools(w.s.snapshot); got != want {
			rt.Fatalf("published %q, the servers offer %q", got, want)
		}
		for ref := range subscribed {
			if w.last[ref] != w.s.snapshot {
				rt.Fatalf("%s does not have the newest snapshot", ref.Name())
			}
			if w.early[ref] {
				rt.Fatalf("%s has the newest snapshot only early", ref.Name())
			}
		}
		for i := 1; i < len(w.told); i++ {
			if gap := w.told[i].Sub(w.told[i-1]); gap < pause {
				rt.Fatalf("%v between two notifications", gap)
			}
		}
	})
}

// TestStep checks the effects of single messages.
func TestStep(t *testing.T) {
	s := newState(Options{Naming: naming})
	now := time.Unix(1e9, 0)
	describe := func(effects []kernel.Effect) (out string) {
		for _, e := range effects {
			switch e := e.Act.(type) {
			case kernel.Wake:
				if d, ok := e.Msg.(alarmFired); ok {
					out += fmt.Sprintf("wake %v #%d %t;", e.After, d.generation, d.early)
				} else {
					out += fmt.Sprintf("%T %v;", e.Msg, e.After)
				}
			case kernel.Logged:
				out += "log;"
			case remember:
				out += fmt.Sprintf("remember %d;", len(e.changes))
			default:
				out += fmt.Sprintf("%T;", e)
			}
		}
		return out
	}
	for i, tt := range []struct {
		after time.Duration
		msg   any
		want  string
	}{
		{0, kernel.Started{}, ""},
		{0, message.SetServerRules{Server: catalog.Server{Name: "s"}}, "registry.logDue 1s;"}, // no subscribers
		{0, message.ServerCatalog{Server: "s", Items: items("a", "a")}, "log;remember 1;"},
		{earlyLeast / 2, message.ServerCatalog{Server: "s", Items: items("a")}, "wake 500µs #1 true;"},
		{earlyLeast / 4, message.ServerCatalog{Server: "s", Items: items("b")}, ""},
		{0, alarmFired{true, 0}, ""}, // from before a restart
		{earlyLeast / 4, alarmFired{true, 1}, "remember 1;wake 249ms #1 false;"}, // published early; clients are notified later
		{0, alarmFired{true, 1}, ""},
		{0, message.ServerCatalog{Server: "s", Items: items("b")}, ""}, // equal
		{pause - earlyLeast, alarmFired{false, 1}, ""},
		{0, message.ServerCatalog{Server: "s", Items: items("c")}, "wake 1ms #2 true;"},
		{earlyLeast, alarmFired{true, 2}, "remember 1;wake 249ms #2 false;"},
		{pause - earlyLeast, alarmFired{false, 2}, ""},
		{0, message.ServerCatalog{Server: "s", Items: items("d"), Announced: true}, "wake 1ms #3 true;"},
		{earlyLeast, alarmFired{true, 3}, "remember 1;wake 249ms #3 false;"},
		{pause - earlyLeast, alarmFired{false, 3}, ""},
		{0, message.ServerCatalog{Server: "s", Items: items("e")}, "wake 1ms #4 true;"},
		{earlyLeast, alarmFired{true, 4}, "remember 1;wake 249ms #4 false;"},
		{pause - earlyLeast, alarmFired{false, 4}, ""},
		{0, message.ServerCatalog{Server: "s", Items: items("f")}, "wake 1ms #5 true;"},
		{earlyLeast, alarmFired{true, 5}, "remember 1;wake 249ms #5 false;"},
		{0, message.ServerCatalog{Server: "s", Items: items("g")}, ""}, // the server no longer counts as new
		{pause - earlyLeast, alarmFired{false, 5}, "remember 1;"},
		{0, notifyMore{99}, ""},
		{0, message.Subscribe{}, ""},
		{0, kernel.Stopping{}, ""},
	} {
		now = now.Add(tt.after)
		if got := describe(s.step(now, tt.msg, nil)); got != tt.want {
			t.Errorf("step %d, %T: %q, want %q", i, tt.msg, got, tt.want)
		}
	}
}
