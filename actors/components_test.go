package actors

import (
	"fmt"
	"slices"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// The servers' level is the most verbose level of all sessions. The servers receive it only when it changes.
func TestLogLevels(t *testing.T) {
	refs := childReferences(t, 2)
	l := newLogLevels()
	for i, step := range []struct {
		session int
		level   protocol.Level
		changed bool
		current protocol.Level
	}{
		{0, "", false, protocol.LevelNone},
		{0, "error", true, "error"},
		{1, "warning", true, "warning"},
		{0, "critical", false, "warning"},
		{1, "", true, "critical"},
		{0, "", true, protocol.LevelNone},
		{0, "", false, protocol.LevelNone},
	} {
		l.set(refs[step.session], step.level)
		if changed := l.choose(); changed != step.changed || l.current != step.current {
			t.Errorf("step %d: set %q: changed %v, level %q; want %v, %q", i, step.level, changed, l.current, step.changed, step.current)
		}
	}
	if len(l.wanted) != 0 {
		t.Errorf("remaining: %v", l.wanted)
	}
}

// A pool is found by its reference. A pool that was stopped is distinguished from one that has failed.
func TestServersEnd(t *testing.T) {
	refs := childReferences(t, 3)
	v := newServers()
	v.pools["b"], v.pools["a"], v.stopping["c"] = refs[0], refs[1], refs[2]
	var to []kernel.Reference
	for _, e := range v.tell(message.Restart{}, nil) {
		to = append(to, e.To)
	}
	if !slices.Equal(to, []kernel.Reference{refs[1], refs[0]}) {
		t.Errorf("tell sends to %v, want the pools in the order of their names", to)
	}
	for i, want := range []struct {
		server      string
		wasStopping bool
	}{{"b", false}, {"a", false}, {"c", true}} {
		if runs := v.runs(refs[i]); runs == want.wasStopping {
			t.Errorf("runs(%s) = %v", want.server, runs)
		}
		for _, expect := range []string{want.server, ""} { // the second time it is unknown
			if server, stopping := v.ended(refs[i]); server != expect || stopping != (want.wasStopping && expect != "") {
				t.Errorf("ended(%s) = %q, %v; want %q", want.server, server, stopping, expect)
			}
		}
	}
}

// A client on stdio waits for the enabled servers whose catalog is known, or for all enabled servers if none of their
// catalogs is known.
func TestExpectedServers(t *testing.T) {
	servers := []config.Server{{Name: "a", Command: "a"}, {Name: "b", Command: "b"}, {Name: "c", Command: "c", Disabled: true}}
	for known, want := range map[string]int{"": 2, "a": 1, "ab": 2, "c": 2, "abc": 2} {
		v := newServers()
		for _, name := range known {
			i := slices.IndexFunc(servers, func(s config.Server) bool { return s.Name == string(name) })
			v.remember(message.RememberCatalog{Server: pool.CatalogIdentity(servers[i]), Known: &message.KnownCatalog{}})
		}
		if got := v.expected(&config.Config{Servers: servers}); got != want {
			t.Errorf("with known catalogs of %q: %d servers expected, want %d", known, got, want)
		}
	}
}

// At most maxKnown catalogs are remembered. A remembered one can still be replaced.
func TestRememberedCatalogsAreBounded(t *testing.T) {
	v := newServers()
	for i := range maxKnown + 1 {
		v.remember(message.RememberCatalog{Server: fmt.Sprint(i), Known: &message.KnownCatalog{}})
	}
	newer := &message.KnownCatalog{}
	v.remember(message.RememberCatalog{Server: "0", Known: newer})
	if len(v.known) != maxKnown || v.known["0"] != newer || v.known[fmt.Sprint(maxKnown)] != nil {
		t.Errorf("%d catalogs are remembered, want %d", len(v.known), maxKnown)
	}
}

// Logins of principals that cease to exist before the servers start are ended when the servers start, once.
func TestPostponedLogins(t *testing.T) {
	found := func(out []kernel.Effect) (inherited, ended int) {
		for _, e := range out {
			switch a := e.Act.(type) {
			case findInherited:
				inherited++
			case findLogins:
				ended += len(a.who)
			}
		}
		return inherited, ended
	}
	known := message.Principals{Epoch: 1, Newest: map[string]*identity.Principal{}}
	for _, test := range []struct {
		name             string
		before           func(*principals)
		inherited, ended int
	}{
		{"nothing", func(*principals) {}, 0, 0},
		{"the principals are known", func(p *principals) { p.set(known, nil) }, 1, 0},
		{"two principals have ended", func(p *principals) {
			p.postpone(map[string]bool{"a": true})
			p.postpone(map[string]bool{"a": true, "b": true})
		}, 0, 2},
	} {
		var p principals
		test.before(&p)
		if inherited, ended := found(p.serversStarted(nil)); inherited != test.inherited || ended != test.ended {
			t.Errorf("%s: at the start %d lookups of inherited logins, %d holders; want %d, %d", test.name, inherited, ended, test.inherited, test.ended)
		}
		first := p.current.Newest == nil
		if inherited, _ := found(p.set(known, nil)); (inherited == 1) != first {
			t.Errorf("%s: %d lookups when the principals are set after the start", test.name, inherited)
		}
	}
}

// A waiter is complete when it has all confirmations and the audit log is applied.
func TestReloadWaiters(t *testing.T) {
	for _, test := range []struct {
		name          string
		confirmations int
		applying      bool
		completed     bool
	}{
		{"none of two confirmations", 0, false, false},
		{"one of two confirmations", 1, false, false},
		{"both confirmations", 2, false, true},
		{"both confirmations, but the audit log is being applied", 2, true, false},
	} {
		r := newReloads(&config.Config{})
		w := &reloadWaiter{done: make(chan struct{}), request: message.Confirm{Key: 7}}
		r.waiters[7] = w
		if a, b := w.confirm(), w.confirm(); a.Key != 7 || b.Key != 7 || (*reloadWaiter)(nil).confirm().Key != 0 {
			t.Fatal("confirm returns another key")
		}
		for range test.confirmations {
			r.confirmed(7)
		}
		r.confirmed(8) // unknown
		if out := r.complete(test.applying, nil); (len(out) == 1) != test.completed || (len(r.waiters) == 0) != test.completed {
			t.Errorf("%s: %d waits completed, %d left", test.name, len(out), len(r.waiters))
		}
	}
}
