package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A client's log level is sent to its own connections with its next call, once, and to no other client's.
func TestLogLevelOfATenant(t *testing.T) {
	w := isolated(t, 8)
	w.own("a", 1)
	w.own("b", 2)
	w.allReady()
	levels := func(client string, seq uint64, level protocol.Level) (to []kernel.Reference) {
		r := &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: client}, Tenant: &message.Tenant{Key: "session " + client, Client: client, Level: level}}
		for _, e := range step(w.s, w.now, message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r}, nil) {
			if m, is := e.Msg.(message.SetLevel); is {
				if m.Level != level {
					t.Errorf("client %s: level %v, want %v", client, m.Level, level)
				}
				to = append(to, e.To)
			}
		}
		return to
	}
	for seq, c := range []struct {
		client string
		level  protocol.Level
		want   uint64 // the call whose connection gets the level; 0 = none
	}{{"a", protocol.LevelNone, 0}, {"a", protocol.LevelDebug, 1}, {"a", protocol.LevelDebug, 0}, {"b", protocol.LevelNone, 0}, {"b", protocol.LevelError, 2}, {"a", protocol.LevelError, 1}} {
		got := levels(c.client, uint64(10+seq), c.level)
		if c.want == 0 && len(got) != 0 || c.want != 0 && (len(got) != 1 || got[0] != w.sent[c.want]) {
			t.Errorf("call %d of client %s with level %v: sent to %v", seq, c.client, c.level, got)
		}
	}
}

// With sessionIdle 0, connections of clients stay open, and no timer runs.
func TestSessionsThatNeverEnd(t *testing.T) {
	for idle, want := range map[time.Duration]int{0: 0, time.Hour: 1} {
		w := isolated(t, 8)
		w.s.limits.SessionIdle = idle
		timers := 0
		for _, timer := range w.wakeups(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{}, Tenant: &message.Tenant{Key: "a", Client: "a"}}}) {
			if timer.Msg == any(tenantsDue{}) {
				timers++
			}
		}
		if timers != want {
			t.Errorf("sessionIdle %v: %d timers, want %d", idle, timers, want)
		}
	}
}

// Log messages on a principal's connection are only for that principal. Without a session and a principal they are dropped.
func TestLogMessagesOfTenants(t *testing.T) {
	for name, c := range map[string]struct {
		tenant *message.Tenant
		want   int
	}{
		"shared":     {nil, 1},
		"principal":  {&message.Tenant{Key: "p", Who: "key:p"}, 1},
		"no session": {&message.Tenant{Key: "h", Headers: map[string]string{"X": "1"}}, 0},
	} {
		w := readyReplicas(t, config.Server{Isolation: "session", MaxBackends: 8}, 1)
		at := w.backends[0]
		if c.tenant != nil {
			w.step(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Modern: true, Caller: &message.Caller{}, Tenant: c.tenant}})
			w.allReady()
			at = w.sent[1]
		}
		logs, _ := told[message.ServerLog, spawn](w, message.ServerLog{Backend: at, Server: "fake"})
		if len(logs) != c.want || c.want == 1 && c.tenant != nil && logs[0].Principal != c.tenant.Who {
			t.Errorf("%s: sent %+v, want %d", name, logs, c.want)
		}
	}
}

// If a server reports too many changes on a client's connection, only that client's subscriptions are notified.
func TestAllResourcesChangedForATenant(t *testing.T) {
	w := newTenants(t, 8)
	w.ask(0, 1, "a")
	w.ask(1, 2, "b")
	w.started()
	for _, conn := range w.s.replicas.connections {
		if conn.tenant != nil {
			w.told = nil
			w.do(message.AllResourcesChanged{Backend: conn.ref})
			if len(w.told) != 1 {
				t.Errorf("connection of %s: %q, want one notification", conn.tenant.Client, w.told)
			}
		}
	}
	w.told = nil
	w.do(message.AllResourcesChanged{Backend: w.backends[0]})
	w.want()
}

// While the connection that lists the catalog waits for its login, principals that have logged in use their own connections.
func TestPrincipalsDoNotWaitForTheLoginOfTheCatalog(t *testing.T) {
	for as, want := range map[string]int{"principal": 1, "shared": 0} {
		w := behindOwnLogins(t)
		w.s.server.Auth.As = as
		w.phase(0, message.NeedsLogin)
		_, spawns := told[message.Send, spawn](w, askAs(1, "key:a"))
		if len(spawns) != want || want == 1 && spawns[0].login != laneOf("key:a") {
			t.Errorf("as: %s: started %d connections, want %d", as, len(spawns), want)
		}
	}
	w := behindOwnLogins(t)
	w.phase(0, message.Waiting)
	if _, spawns := told[message.Send, spawn](w, askAs(1, "key:a")); len(spawns) != 0 {
		t.Error("a connection was started at a server that is down")
	}
}

// The login of a principal ends with its last connection, unless a call still waits for the login.
func TestLoginEndsWithItsConnection(t *testing.T) {
	for name, waits := range map[string]bool{"unused": false, "a call waits": true} {
		w := behindOwnLogins(t)
		w.phase(0, message.Ready)
		w.step(askAs(1, "key:a"))
		w.step(askAs(2, "key:b"))
		w.spawned()
		w.phase(2, message.NeedsLogin)
		if waits {
			w.phase(1, message.NeedsLogin)
		} else {
			w.phase(1, message.Ready)
		}
		acts, _ := w.effects(kernel.ChildStopped{Child: w.backends[1]})
		ended, is := has[endLogin](acts)
		if is == waits || is && ended.login != laneOf("key:a") {
			t.Errorf("%s: the login ended: %v (%v)", name, is, ended)
		}
	}
}

// A begun login starts the timer that stops unused logins, since the principal may never make a call.
func TestBegunLoginsAreChecked(t *testing.T) {
	for catalog, want := range map[bool]int{false: 1, true: 0} {
		w := behindOwnLogins(t)
		timers := 0
		for _, timer := range w.wakeups(message.RequestLogin{Entry: "fake", Catalog: catalog, Begin: &message.BeginLogin{}}) {
			if timer.Msg == any(tenantsDue{}) {
				timers++
			}
		}
		if timers != want {
			t.Errorf("login of the catalog %v: %d timers, want %d", catalog, timers, want)
		}
	}
}
