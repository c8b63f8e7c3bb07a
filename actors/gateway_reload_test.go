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

// S3.5.1, S3.5.2: a server switched off disappears at once, switched on it is back. S3.4.2: nobody names a project.
func TestReload(t *testing.T) {
	within(func(t *testing.T) {
		servers := map[string]*actortest.Server{"one": {Tools: []string{"a"}}, "two": {Tools: []string{"b"}}}
		var first config.Config
		h := open(t, servers, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		off := first
		off.Servers = append([]config.Server(nil), first.Servers...)
		off.Servers[1].Disabled = true
		h.gateway.Reload(&off)
		time.Sleep(time.Second)
		h.got()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("switched off: %v", got)
		}
		h.gateway.Reload(&first)
		time.Sleep(time.Second)
		h.got()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); len(got) != 2 {
			t.Errorf("switched on again: %v", got)
		}
		if n := servers["one"].Opened(); n != 1 {
			t.Errorf("the other server was connected %d times, want once", n)
		}
	})(t)
}

// Who has waited for a reload may rely on it: a tool that it has switched off is not there, and one that it has switched on is, however soon somebody
// asks. The catalog has its pace, so the second reload in a row is not published at once.
func TestReloadIsInForce(t *testing.T) {
	within(func(t *testing.T) {
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": {Tools: []string{"a", "b"}}}, func(c *config.Config) { first = *c })
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
			h.got()
			if got := toolNames(t, h.one(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i))); len(got) != 2-len(off) || len(off) == 1 && strings.HasSuffix(got[0], "_"+off[0]) {
				t.Errorf("without %v: %v", off, got)
			}
		}
	})(t)
}

// Whoever waits for a reload is answered once: when all that were told something have had it confirmed, and the audit log is there, or when the
// gateway goes.
func TestWaitingForAReload(t *testing.T) {
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
		"all at last":           {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{}},
		"the audit log first":   {auditApplied{}, message.ConfirmResult{Key: 7}, message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}},
		"the gateway is going":  {message.ConfirmResult{Key: 1}, kernel.Stopping{}},
		"the registry has gone": {message.ConfirmResult{Key: 1}, kernel.ChildStopped{Child: none}},
		"the log is not there":  {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{errors.New("no room")}},
		"it goes after the end": {message.ConfirmResult{Key: 1}, message.ConfirmResult{Key: 1}, auditApplied{}, kernel.Stopping{}},
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
		if name == "it goes after the end" {
			want--
		}
		if closed != 1 || when != want || len(s.reloads.waiters) != 0 {
			t.Errorf("%s: told %d times, after the %dth answer, %d wait still", name, closed, when, len(s.reloads.waiters))
		}
	}
}

// Who waits for what clients see is told when the registry says so, and at once where there is none.
func TestWaitingForWhatIsSeen(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	none := kernel.Spawn(system, kernel.SpawnOptions{Name: "none"}, func(kernel.Self) kernel.Logic { return nothing{} })
	cfg := config.Default()
	s := newState(&cfg, none)
	closes := func(msg any) bool {
		return slices.ContainsFunc(step(s, time.Unix(1, 0), msg, nil), func(e kernel.Effect) bool { _, is := e.Act.(closeDone); return is })
	}
	if !closes(message.AwaitPublished{Done: make(chan struct{})}) {
		t.Error("without a registry somebody waits")
	}
	s.registry = none
	if closes(message.AwaitPublished{Done: make(chan struct{})}) || !closes(message.ConfirmResult{Key: 1}) || len(s.reloads.waiters) != 0 {
		t.Error("not told when it is seen")
	}
}

// nothing is an actor that does nothing.
type nothing struct{}

func (nothing) Step(_ time.Time, _ any, out []kernel.Effect) []kernel.Effect { return out }
func (nothing) Act(kernel.Self, any)                                         {}

// A reload changes the limits of clients of both eras that are here already.
func TestReloadLimits(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}} // never answers
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		reload := func(calls int) {
			next := first
			next.Limits.MaxInFlightPerClient = calls
			h.gateway.Reload(&next)
			synctest.Wait()
			h.got()
		}
		legacy := func(id int) []string {
			return h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask"}}`, id))
		}
		legacy(1)
		h.send(modernCall(2, "{}", ""))
		reload(1)
		for id, got := range map[int][]string{3: legacy(3), 4: h.send(modernCall(4, "{}", ""))} {
			if len(got) != 1 || !strings.Contains(got[0], "OVERLOADED") {
				t.Errorf("call %d beyond the new limit: %v", id, got)
			}
		}
		reload(100)
		if got := append(legacy(5), h.send(modernCall(6, "{}", ""))...); len(got) != 0 {
			t.Errorf("within the newest limit: %v", got)
		}
	})(t)
}

// Another listen waits for a restart; the one we listen on, written back, waits for nothing.
func TestReloadListen(t *testing.T) {
	ours, other := config.Default(), config.Default()
	other.Listen = []string{"127.0.0.1:1"}
	s := newState(&ours, kernel.Reference{})
	for i, next := range []*config.Config{&other, &ours, &other} {
		warned := slices.ContainsFunc(s.reload(message.Reload{Config: next}, nil), func(e kernel.Effect) bool {
			l, ok := e.Act.(kernel.Logged)
			return ok && strings.HasPrefix(l.Text, "listen has changed")
		})
		if want := next == &other; warned != want {
			t.Errorf("reload %d: warned %v, want %v", i, warned, want)
		}
	}
}

// A file that cannot be taken is a fault since the first attempt, until one is; a file saved again as it was is no news.
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
		said := slices.ContainsFunc(out, func(e kernel.Effect) bool {
			l, ok := e.Act.(kernel.Logged)
			return ok && l.Level == want
		})
		if !said || s.report().Fault != nil {
			t.Errorf("reload %d: %+v, want a line of level %v and no fault", i, out, want)
		}
		if _, ok := out[len(out)-1].Act.(closeDone); ok != (i == 0) {
			t.Errorf("reload %d: told that it is done: %v", i, ok)
		}
	}
}
