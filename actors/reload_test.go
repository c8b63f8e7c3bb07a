package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// S3.5.1, S3.5.2: a disabled server disappears at once, and an enabled one reappears. S3.4.2: no project is named.
func TestReload(t *testing.T) {
	inBubble(func(t *testing.T) {
		servers := map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"b"}}}
		var first config.Config
		h := startStdio(t, servers, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		off := first
		off.Servers = append([]config.Server(nil), first.Servers...)
		off.Servers[1].Disabled = true
		h.gateway.Reload(&off)
		time.Sleep(time.Second)
		h.received()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("disabled: %v", got)
		}
		h.gateway.Reload(&first)
		time.Sleep(time.Second)
		h.received()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); len(got) != 2 {
			t.Errorf("enabled again: %v", got)
		}
		if n := servers["one"].Opened(); n != 1 {
			t.Errorf("the other server has been connected %d times, want 1", n)
		}
	})(t)
}

// After Apply has returned, the next request sees the new configuration: disabled tools are gone and enabled ones are there.
// This also holds for a second reload right after the first, although the registry then delays its publication.
func TestReloadIsInForce(t *testing.T) {
	inBubble(func(t *testing.T) {
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": {Tools: []string{"a", "b"}}}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		time.Sleep(time.Second)
		for i, off := range [][]string{{"a"}, {"b"}, {"a", "b"}, nil} {
			next := first
			next.Servers = slices.Clone(first.Servers)
			next.Servers[0].Tools.Disabled = off
			if err := h.gateway.Apply(t.Context(), &next); err != nil {
				t.Fatal(err)
			}
			h.received()
			if got := toolNames(t, h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i))); len(got) != 2-len(off) || len(off) == 1 && strings.HasSuffix(got[0], "_"+off[0]) {
				t.Errorf("without %v: %v", off, got)
			}
		}
	})(t)
}

// A caller that waits for a reload is released once: when the registry has confirmed all changes and the audit settings are
// applied, or when the gateway stops.
func TestReloadWaitersAreReleased(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	none := kernel.Spawn(system, kernel.SpawnOptions{Name: "none"}, func(kernel.Self) kernel.Logic { return nothing{} })
	cfg, next := config.Default(), config.Default()
	cfg.Servers = []config.Server{config.DefaultServer()}
	cfg.Servers[0].Name, cfg.Servers[0].Command = "one", "c"
	next.Servers = slices.Clone(cfg.Servers)
	next.Servers[0].Timeout++
	next.Audit.File = "a"
	for name, end := range map[string][]any{
		"confirmations, then the audit log": {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{}},
		"the audit log, then confirmations": {auditApplied{}, message.ConfirmResult{Key: 7}, message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}},
		"the gateway stops":                 {message.ConfirmResult{Key: 1}, kernel.Stopping{}},
		"the registry has failed":           {message.ConfirmResult{Key: 1}, kernel.ChildStopped{Child: none}},
		"the audit log fails":               {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{errors.New("no room")}},
		"the gateway stops afterwards":      {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{}, kernel.Stopping{}},
	} {
		s := newState(&cfg, none)
		s.registry, s.servers.pools["one"] = none, none
		closed, when := 0, 0
		for i, msg := range append([]any{message.Reload{Config: &next, Done: make(chan struct{})}}, end...) {
			for _, e := range step(s, time.Unix(1, 0), msg, nil) {
				if _, is := e.Act.(closeDone); is {
					closed, when = closed+1, i
				}
			}
		}
		want := len(end)
		if name == "the gateway stops afterwards" {
			want--
		}
		if closed != 1 || when != want || len(s.reloads.waiters) != 0 {
			t.Errorf("%s: released %d times, after message %d, %d still wait", name, closed, when, len(s.reloads.waiters))
		}
	}
}

// AwaitPublished is answered when the registry confirms, or at once if there is no registry.
func TestAwaitPublished(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	none := kernel.Spawn(system, kernel.SpawnOptions{Name: "none"}, func(kernel.Self) kernel.Logic { return nothing{} })
	cfg := config.Default()
	s := newState(&cfg, none)
	closes := func(msg any) bool {
		return slices.ContainsFunc(step(s, time.Unix(1, 0), msg, nil), func(e kernel.Effect) bool { _, is := e.Act.(closeDone); return is })
	}
	if !closes(message.AwaitPublished{Done: make(chan struct{})}) {
		t.Error("without a registry the caller waits")
	}
	s.registry = none
	if closes(message.AwaitPublished{Done: make(chan struct{})}) || !closes(message.ConfirmResult{Key: 1}) || len(s.reloads.waiters) != 0 {
		t.Error("the caller was not released by the confirmation")
	}
}

// However reloads follow each other, the last one decides whether requests are admitted under a policy.
func TestLastReloadAdmits(t *testing.T) {
	with, other, without := config.Default(), config.Default(), config.Default()
	with.Policy, other.Policy = config.Policy{Present: true, Mode: "enforce"}, config.Policy{Present: true, Mode: "report"}
	all := []*config.Config{&with, &other, &without}
	for n := range 3 * 3 * 3 * 3 {
		first, order := all[n%3], []*config.Config{all[n/3%3], all[n/9%3], all[n/27%3]}
		for together := 1; together <= len(order); together++ { // reloads that arrive before the first of them continues
			s := newState(first, kernel.Reference{})
			admitted := s.reloads.policy
			var queue []any
			handle := func(msg any) {
				for _, e := range step(s, time.Unix(1, 0), msg, nil) {
					if a, ok := e.Act.(admitLocal); ok {
						admitted = a.policy
					}
					if m, ok := e.Msg.(reloadWithPolicy); ok {
						queue = append(queue, m)
					}
				}
			}
			for i, cfg := range order {
				handle(message.Reload{Config: cfg})
				for i+1 >= together && len(queue) > 0 {
					msg := queue[0]
					queue = queue[1:]
					handle(msg)
				}
			}
			last := order[len(order)-1]
			if admitted != s.reloads.policy || (admitted != nil) != last.Policy.Present || s.reloads.source != last {
				t.Errorf("case %d, %d together: admitted under %v, want %v", n, together, admitted, s.reloads.policy)
			}
		}
	}
}

// When the policy is removed, local clients get their new rights after the catalog: when the registry confirms, or at once if it has
// failed. Other changes to principals do not wait for it.
func TestLocalRightsFollowTheCatalog(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	spawn := func(name string) kernel.Reference {
		return kernel.Spawn(system, kernel.SpawnOptions{Name: name}, func(kernel.Self) kernel.Logic { return nothing{} })
	}
	self, registry, session := spawn("self"), spawn("registry"), spawn("session")
	with, without := config.Default(), config.Default()
	with.Policy = config.Policy{Present: true, Mode: "enforce"}
	removed := func() (*state, uint64) {
		s := newState(&with, self)
		s.registry = registry
		s.stateless.add(session)
		step(s, time.Unix(1, 0), message.Reload{Config: &without}, nil)
		out := step(s, time.Unix(1, 0), reloadWithPolicy{message.Reload{Config: &without}, nil}, nil)
		for _, e := range out {
			if m, ok := e.Msg.(message.Confirm); ok {
				return s, m.Key
			}
		}
		t.Fatalf("no confirmation was requested: %v", out)
		return nil, 0
	}
	sent := func(s *state, msg any) (epochs []uint64) {
		for _, e := range step(s, time.Unix(1, 0), msg, nil) {
			if m, ok := e.Msg.(message.Principals); ok && e.To == session {
				epochs = append(epochs, m.Epoch)
			}
		}
		return epochs
	}
	known := principalsByID("ann")
	for _, tt := range []struct {
		name string
		msgs func(key uint64) []any
		want []uint64 // the epochs sent to sessions
	}{
		{"confirmed", func(key uint64) []any {
			return []any{message.Principals{Epoch: 1}, message.ConfirmResult{Key: key + 1}, message.ConfirmResult{Key: key}, message.ConfirmResult{Key: key}}
		}, []uint64{1}},
		{"the registry fails", func(uint64) []any {
			return []any{message.Principals{Epoch: 1}, kernel.ChildStopped{Child: registry}}
		}, []uint64{1}},
		{"another change meanwhile", func(key uint64) []any {
			return []any{message.Principals{Epoch: 1}, message.Principals{Epoch: 2, Newest: known}, message.ConfirmResult{Key: key}}
		}, []uint64{2, 2}},
	} {
		s, key := removed()
		var got []uint64
		for _, msg := range tt.msgs(key) {
			got = append(got, sent(s, msg)...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: sent %v, want %v", tt.name, got, tt.want)
		}
	}
}

// nothing is an actor that ignores all messages.
type nothing struct{}

func (nothing) Step(_ time.Time, _ any, out []kernel.Effect) []kernel.Effect { return out }
func (nothing) Act(kernel.Self, any)                                         {}

// Changed limits apply to connected clients of both eras.
func TestReloadLimits(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}} // never answers
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		reload := func(calls int) {
			next := first
			next.Limits.MaxInFlightPerClient = calls
			h.gateway.Reload(&next)
			synctest.Wait()
			h.received()
		}
		legacy := func(id int) []string {
			return h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask"}}`, id))
		}
		legacy(1)
		h.send(modernCall(2, "{}", ""))
		reload(1)
		for id, got := range map[int][]string{3: legacy(3), 4: h.send(modernCall(4, "{}", ""))} {
			if len(got) != 1 || !strings.Contains(got[0], "OVERLOADED") {
				t.Errorf("call %d above the new limit: %v", id, got)
			}
		}
		reload(100)
		if got := append(legacy(5), h.send(modernCall(6, "{}", ""))...); len(got) != 0 {
			t.Errorf("within the newest limit: %v", got)
		}
	})(t)
}

// A change that takes effect only at the next start causes a warning. Changing it back causes none, and neither does a later reload
// that leaves it as it is.
func TestReloadOfSettingsForTheNextStart(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"listen has changed":                          func(c *config.Config) { c.Listen = []string{"127.0.0.1:1"} },
		"egress has changed":                          func(c *config.Config) { c.Egress.Allow = []string{"10.0.0.0/8"} },
		"telemetry has changed":                       func(c *config.Config) { c.Telemetry.Endpoint = "http://127.0.0.1:4318" },
		"cluster has changed":                         func(c *config.Config) { c.Cluster.Voters = []string{"a"} },
		"limits.maxMessageBytes and limits.maxBuffer": func(c *config.Config) { c.Limits.MaxBufferedBytes++ },
	} {
		atStart, other := config.Default(), config.Default()
		change(&other)
		s := newState(&atStart, kernel.Reference{})
		for i, next := range []*config.Config{&other, &other, &atStart, &other} {
			warnings := 0
			for _, e := range s.reload(message.Reload{Config: next}, nil, nil) {
				if l, ok := e.Act.(kernel.Logged); ok && l.Level == slog.LevelWarn {
					warnings++
					if !strings.HasPrefix(l.Text, want) {
						t.Errorf("%s: reload %d: %q", want, i, l.Text)
					}
				}
			}
			if changed := i == 0 || i == 3; (warnings == 1) != changed || warnings > 1 {
				t.Errorf("%s: reload %d: %d warnings; changed %t", want, i, warnings, changed)
			}
		}
	}
}

// A reload that changes the policy first sends the clients' new rights to their sessions and continues with a message to itself. Another
// reload that arrives in between must not overtake it, even if it restores the policy in force.
func TestReloadsKeepTheirOrder(t *testing.T) {
	first, second, third := config.Default(), config.Default(), config.Default()
	second.Policy = config.Policy{Present: true, Mode: "enforce"}
	third.Limits.StartsAtOnce = 7
	s := newState(&first, kernel.Reference{})
	var continued []any
	for _, cfg := range []*config.Config{&second, &third} {
		for _, e := range step(s, time.Unix(1, 0), message.Reload{Config: cfg}, nil) {
			if m, ok := e.Msg.(reloadWithPolicy); ok {
				continued = append(continued, m)
			}
		}
		if s.reloads.source != &first {
			t.Fatal("a reload was applied before the rights were sent")
		}
	}
	for i, want := range []*config.Config{&second, &third} {
		if step(s, time.Unix(1, 0), continued[i], nil); s.reloads.source != want {
			t.Errorf("continuation %d applied another configuration", i)
		}
	}
	if s.reloads.policy != nil || s.config.Limits.StartsAtOnce != 7 || s.reloads.continuing != 0 {
		t.Errorf("policy %v, startsAtOnce %d, %d reloads continuing", s.reloads.policy, s.config.Limits.StartsAtOnce, s.reloads.continuing)
	}
}

// A rejected file is reported with the time of the first rejection until a file is accepted. Reloading an unchanged file is
// logged at debug level.
func TestReloadFault(t *testing.T) {
	cfg, same := config.Default(), config.Default()
	s := newState(&cfg, kernel.Reference{})
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	for i, reason := range []string{"a", "b"} {
		step(s, []time.Time{first, second}[i], message.ReloadFailed{Reason: reason}, nil)
		if f := s.report().Fault; f == nil || f.Reason != reason || !f.Since.Equal(first) {
			t.Errorf("fault %+v, want %q since %v", f, reason, first)
		}
	}
	done := make(chan struct{})
	for i, want := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		m := message.Reload{Config: &same}
		if i == 0 {
			m.Done = done
		}
		out := step(s, second, m, nil)
		logged := slices.ContainsFunc(out, func(e kernel.Effect) bool {
			l, ok := e.Act.(kernel.Logged)
			return ok && l.Level == want
		})
		if !logged || s.report().Fault != nil {
			t.Errorf("reload %d: %+v, want a message of level %v and no fault", i, out, want)
		}
		if _, ok := out[len(out)-1].Act.(closeDone); ok != (i == 0) {
			t.Errorf("reload %d: done was closed: %v", i, ok)
		}
	}
}
