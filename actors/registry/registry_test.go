package registry

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

var naming = catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix", PageSize: 1000, MetaTools: true}

// fixture is a registry in a synctest bubble.
type fixture struct {
	t        *testing.T
	system   *kernel.System
	registry kernel.Reference
	changes  *status.CatalogChanges
	log      *bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	log := new(bytes.Buffer)
	logger := slog.New(slog.NewTextHandler(log, nil))
	system := kernel.New(kernel.Options{Logger: logger})
	t.Cleanup(func() { actortest.Stop(t, system) })
	changes := status.NewCatalogChanges()
	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: "registry", Kind: "registry"}, build(Options{Naming: naming, Changes: changes}))
	return &fixture{t, system, ref, changes, log}
}

func (h *fixture) subscriber(name string) actortest.Probe {
	p := actortest.NewProbe(h.system, name)
	h.registry.Tell(message.Subscribe{From: p.Reference})
	return p
}

func (h *fixture) rules(name string, order int) {
	h.registry.Tell(message.SetServerRules{Server: catalog.Server{Name: name, Order: order}})
}

func items(names ...string) (list [][]byte) {
	for _, n := range names {
		list = append(list, fmt.Appendf(nil, `{"name":%q,"uri":%q}`, n, "f:///"+n))
	}
	return list
}

func (h *fixture) tools(server string, names ...string) {
	h.registry.Tell(message.ServerCatalog{Server: server, Kind: protocol.Tools, Items: items(names...)})
}

// seen returns the tools of each snapshot that the probe received since the last call, oldest first, without early ones.
func (h *fixture) seen(p actortest.Probe) []string { return h.sent(p, false) }

func (*fixture) sent(p actortest.Probe, early bool) (list []string) {
	synctest.Wait()
	for _, m := range actortest.Of[message.Published](p) {
		if m.Early == early {
			list = append(list, tools(m.Snapshot))
		}
	}
	return list
}

func tools(s *catalog.Snapshot) string {
	view, _ := s.View(catalog.Key{})
	var names []string
	for _, e := range view.Entries(protocol.Tools) {
		names = append(names, e.Public)
	}
	return strings.Join(names, " ")
}

func (h *fixture) expect(p actortest.Probe, when string, want ...string) {
	h.t.Helper()
	if got := h.seen(p); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		h.t.Errorf("%s: %s was sent %q, want %q", when, p.Name(), got, want)
	}
}

// S0.4.4, S2.1.1, S3.5.1, S4.1.3: a change is published at once, and the next one exactly when the pause ends. The last
// change is always published.
func TestCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		p := h.subscriber("p")
		h.expect(p, "at first", "")
		h.rules("s", 0)
		h.expect(p, "a server without items", "") // clients see no change, so no pause begins
		h.tools("s", "a")
		h.expect(p, "the first change", "s_a")
		for i := range 100 {
			h.tools("s", "a", fmt.Sprintf("b%d", i))
		}
		h.expect(p, "a burst")
		time.Sleep(pause - 1)
		h.expect(p, "a nanosecond before")
		time.Sleep(time.Nanosecond)
		h.expect(p, "at the end of the pause", "s_a s_b99")
		h.tools("s", "a")
		h.expect(p, "just after")
		time.Sleep(pause)
		h.expect(p, "at the end of the next pause", "s_a")
		time.Sleep(time.Hour)
		h.expect(p, "an hour later")
		h.tools("s", "z")
		h.expect(p, "after a rest", "s_z")
	})
}

// The lists of a new server are published before the pause ends, so that a client that lists soon after the start
// misses nothing. Clients are notified once, at the end of the pause.
func TestNewServersArePublishedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		p := h.subscriber("p")
		h.rules("a", 0)
		h.rules("b", 1)
		h.tools("a", "x")
		if got := h.seen(p); len(got) == 0 || got[len(got)-1] != "a_x" {
			t.Errorf("the first list was not published at once: %q", got)
		}
		h.tools("b", "y")
		time.Sleep(earlyLeast)
		if got := h.sent(p, true); fmt.Sprint(got) != "[a_x b_y]" {
			t.Errorf("a millisecond later: %q", got)
		}
		late := h.subscriber("late")
		if got := h.sent(late, true); fmt.Sprint(got) != "[a_x b_y]" {
			t.Errorf("a later subscriber received %q", got)
		}
		time.Sleep(pause - earlyLeast - 1)
		h.expect(p, "a nanosecond before the end of the pause")
		time.Sleep(time.Nanosecond)
		h.expect(p, "at the end of the pause", "a_x b_y")
		h.expect(late, "at the end of the pause", "a_x b_y")
		time.Sleep(time.Hour)
		h.expect(p, "an hour later")
	})
}

// S2.1.2, S3.5.2: the items of a disabled or removed server are removed, and return with it.
func TestServersAreRemovedAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.tools("a", "x") // waits until the server's rules are known
		h.rules("a", 1)
		h.rules("b", 0)
		h.tools("b", "y")
		time.Sleep(time.Minute)
		p := h.subscriber("p")
		h.expect(p, "both", "a_x b_y")
		disabled := message.SetServerRules{Server: catalog.Server{Name: "a", Order: 1, Rules: config.Server{Disabled: true}}}
		h.registry.Tell(disabled)
		h.expect(p, "a disabled", "b_y")
		time.Sleep(time.Minute)
		h.registry.Tell(disabled)
		h.expect(p, "the same rules again")
		h.rules("a", 1)
		h.expect(p, "a enabled", "a_x b_y")
		time.Sleep(time.Minute)
		h.registry.Tell(message.RemoveServer{Server: "b"})
		h.registry.Tell(message.RemoveServer{Server: "unknown"})
		h.expect(p, "b gone", "a_x")
		time.Sleep(time.Minute)
		h.tools("b", "y")
		time.Sleep(time.Minute)
		h.expect(p, "a late list of b")
		other := naming
		other.Namespace.Mode = "never"
		h.registry.Tell(message.CatalogNaming{Naming: other})
		h.expect(p, "another naming", "x")
	})
}

// C7, C9: an announced list counts as a change even if it is equal. A list that was not announced counts only if it
// differs.
func TestAnnouncedListsCountAsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.rules("s", 0)
		h.tools("s", "a")
		time.Sleep(time.Minute)
		p := h.subscriber("p")
		before := lastSnapshot(t, p)
		h.tools("s", "a") // listed again after a reconnect
		h.registry.Tell(message.ServerCatalog{Server: "s", Kind: protocol.Prompts, Items: nil})
		h.expect(p, "an equal list")
		for range 3 {
			h.registry.Tell(message.ServerCatalog{Server: "s", Kind: protocol.Tools, Items: items("a"), Announced: true})
		}
		first := lastSnapshot(t, p)
		time.Sleep(pause)
		second := lastSnapshot(t, p)
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			up1, up2 := first.Generation[kind] > before.Generation[kind], second.Generation[kind] > first.Generation[kind]
			if want := kind == protocol.Tools; up1 != want || up2 != want {
				t.Errorf("%s: generation increased %v, then %v", kind, up1, up2)
			}
		}
		h.tools("s", "b")
		if third := lastSnapshot(t, p); third == nil {
			time.Sleep(pause)
			if third = lastSnapshot(t, p); third.Generation[protocol.Tools] <= second.Generation[protocol.Tools] {
				t.Error("another list did not increase the generation")
			}
		}
	})
}

// lastSnapshot returns the last snapshot published to the probe.
func lastSnapshot(t *testing.T, p actortest.Probe) *catalog.Snapshot {
	t.Helper()
	synctest.Wait()
	list := actortest.Of[message.Published](p)
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].Snapshot
}

// S4.5.1: every subscriber receives each snapshot once. A subscriber that has unsubscribed receives none.
func TestManySubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		var probes []actortest.Probe
		for i := range 2*slice + 3 {
			probes = append(probes, h.subscriber(fmt.Sprintf("p%d", i)))
		}
		h.registry.Tell(message.Subscribe{From: probes[7].Reference}) // a repeated subscription has no effect
		h.registry.Tell(message.Subscribe{})
		for _, p := range probes {
			h.expect(p, "at first", "")
		}
		h.rules("s", 0)
		for _, p := range probes {
			h.expect(p, "the empty server", "")
		}
		h.tools("s", "a")
		for i := 0; i < len(probes); i += 2 {
			h.registry.Tell(message.Unsubscribe{From: probes[i].Reference})
		}
		h.registry.Tell(message.Unsubscribe{})
		for i, p := range probes {
			got := h.seen(p)
			if i%2 == 1 && len(got) != 1 || len(got) > 1 {
				t.Fatalf("p%d was sent %q", i, got)
			}
		}
		time.Sleep(time.Minute)
		h.tools("s", "b")
		for i, p := range probes {
			if got := h.seen(p); len(got) != i%2 {
				t.Fatalf("p%d was sent %q", i, got)
			}
		}
	})
}

// A warning about the catalog is logged once.
func TestWarningsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.rules("s", 0)
		h.tools("s", "a", "a")
		time.Sleep(time.Minute)
		h.registry.Tell(message.ServerCatalog{Server: "s", Kind: protocol.Prompts, Items: items("p")})
		time.Sleep(time.Minute)
		actortest.Stop(t, h.system)
		if got := strings.Count(h.log.String(), "twice"); got != 1 {
			t.Errorf("logged %d times:\n%s", got, h.log)
		}
	})
}

// keeper is a parent that spawns the registry as its child.
type keeper struct{ child chan kernel.Reference }

func (*keeper) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if _, ok := msg.(kernel.Started); ok {
		return append(out, kernel.Act("spawn"))
	}
	return out
}

func (k *keeper) Act(self kernel.Self, _ any) {
	k.child <- Spawn(self, Options{Naming: naming, Changes: status.NewCatalogChanges(), Log: self.Logger()})
}

// The registry is a child of the gateway. Its state survives a panic.
func TestChildAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := kernel.New(kernel.Options{Logger: slog.New(slog.DiscardHandler)})
		defer actortest.Stop(t, system)
		k := &keeper{make(chan kernel.Reference, 1)}
		kernel.Spawn(system, kernel.SpawnOptions{Name: "gateway"}, func(kernel.Self) kernel.Logic { return k })
		ref := <-k.child
		if ref.Name() != "gateway/registry" {
			t.Errorf("the registry is named %q", ref.Name())
		}
		h := &fixture{t: t, system: system, registry: ref}
		p := h.subscriber("p")
		h.rules("s", 0)
		h.tools("s", "a")
		time.Sleep(time.Minute)
		h.seen(p)
		ref.Tell(message.ServerCatalog{Server: "s", Kind: protocol.ItemKind(200)}) // an invalid kind makes the registry panic
		h.tools("s", "b")
		synctest.Wait()
		time.Sleep(time.Minute)
		got := h.seen(p)
		if len(got) == 0 || got[len(got)-1] != "s_b" {
			t.Errorf("after the restart: %q", got)
		}
	})
}
