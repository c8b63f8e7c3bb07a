package pool

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// group returns a server that is a group of the members a (two replicas) and b.
func group() config.Server {
	return config.Server{Name: "fake", Timeout: time.Minute, MaxTimeout: time.Hour, Queue: wide, Members: []config.Server{
		{Name: "a", Command: "x", Replicas: 2, Timeout: time.Second, StartTimeout: 7 * time.Second}, {Name: "b", Command: "y", Replicas: 1, Timeout: 2 * time.Second, StartTimeout: 8 * time.Second},
	}}
}

func newGroup(t *testing.T) *world {
	w := newWorld(t, config.Server{}, 3)
	w.s = newState(Options{Server: group()}, w.s.self, 1)
	w.step(kernel.Started{})
	for i, ref := range w.backends {
		w.step(spawned{i + 1, ref})
		w.phase(i, message.Ready)
	}
	return w
}

// In a group, each member determines how its backends are reached. The group determines the name that clients see, and
// the timeouts of calls.
func TestBackendsOfAGroup(t *testing.T) {
	w := newWorld(t, config.Server{}, 1)
	w.s = newState(Options{Server: group()}, w.s.self, 1)
	_, spawns := told[message.Drain, spawn](w, kernel.Started{})
	if len(spawns) != 3 {
		t.Fatalf("%d backends, want 3", len(spawns))
	}
	for i, want := range []struct {
		member, command string
		own             int
		start           time.Duration
	}{{"a", "x", 0, 7 * time.Second}, {"a", "x", 1, 7 * time.Second}, {"b", "y", 0, 8 * time.Second}} {
		got := spawns[i]
		if got.member != want.member || got.entry.Command != want.command || got.own != want.own || got.replica != i {
			t.Errorf("backend %d: member %s, command %s, replica %d of its entry; want %+v", i, got.member, got.entry.Command, got.own, want)
		}
		if got.server.Name != "fake" || got.server.Timeout != time.Minute || got.server.MaxTimeout != time.Hour || got.server.StartTimeout != want.start {
			t.Errorf("backend %d: name %s, timeout %v, startTimeout %v", i, got.server.Name, got.server.Timeout, got.server.StartTimeout)
		}
	}
	single := newWorld(t, config.Server{Command: "x", Timeout: 3 * time.Second}, 1)
	_, spawns = told[message.Drain, spawn](single, message.Restart{})
	if len(spawns) != 1 || spawns[0].member != "" || spawns[0].server.Timeout != 3*time.Second {
		t.Errorf("without a group: %+v", spawns)
	}
}

// Log messages about a connection name its replica and, in a group, the member.
func TestLogsNameTheMember(t *testing.T) {
	for member, want := range map[string][]any{"": {"replica", 0}, "a": {"replica", 0, "member", "a"}} {
		w := newWorld(t, config.Server{Queue: queue}, 1)
		if member != "" {
			w = newGroup(t)
		}
		_, logs := told[message.Drain, kernel.Logged](w, message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting})
		if len(logs) != 1 || !slices.Equal(logs[0].Args[:len(want)], want) || slices.Contains(logs[0].Args, any("member")) != (member != "") {
			t.Errorf("member %q: logged %v, want %v", member, logs, want)
		}
		var text bytes.Buffer
		logOf(slog.New(slog.NewTextHandler(&text, nil)), spawn{replica: 4, member: member}).Info("x")
		if strings.Contains(text.String(), "member=a") != (member == "a") || !strings.Contains(text.String(), "replica=4") {
			t.Errorf("the backend of member %q logs %s", member, &text)
		}
	}
}

// Warnings about the tools of a group's replica name the member, and its replica if it has several.
func TestWarningsNameTheMember(t *testing.T) {
	for i, want := range []string{"", "a@1 gets no calls", "b gets no calls"} {
		w := newGroup(t)
		for backend := range w.backends {
			properties := 1
			if backend == i && i > 0 {
				properties = 2
			}
			w.step(message.Listed{Backend: w.backends[backend], Kind: protocol.Tools, Items: [][]byte{tool("t", properties)}})
		}
		warnings := strings.Join(w.s.report().Warnings, "; ")
		if !strings.HasPrefix(warnings, want) || want == "" && warnings != "" {
			t.Errorf("replica %d deviates: %q, want %q", i, warnings, want)
		}
	}
}

// A restart of one member replaces only its connections. What is known about the member stays in use until its successor is
// ready, and what is known about others stays.
func TestRestartOfAMember(t *testing.T) {
	w := newGroup(t)
	for i, version := range []string{"2026-07-28", "2025-11-25", "2026-07-28"} {
		w.step(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Syncing, Info: &message.ServerInfo{Version: version}})
		w.phase(i, message.Ready)
	}
	for _, member := range []string{"b", "absent"} {
		_, spawns := told[message.Drain, spawn](w, message.Restart{Member: member})
		if member == "b" && (len(spawns) != 1 || spawns[0].member != "b") || member != "b" && len(spawns) != 0 {
			t.Errorf("restart of %s: started %+v", member, spawns)
		}
		for i, modern := range []bool{true, false, true} {
			if w.s.replicas.eras.modern[i] != modern {
				t.Errorf("restart of %s: replica %d counts as modern: %v, want %v", member, i, !modern, modern)
			}
		}
	}
	w = newGroup(t)
	w.step(message.BackendChanged{Backend: w.backends[2], Replica: 2, Phase: message.Syncing, Info: &message.ServerInfo{Version: "2026-07-28"}})
	w.phase(2, message.Waiting)
	w.step(message.Restart{Member: "b"})
	if w.s.replicas.eras.modern[2] {
		t.Error("the successor of a lost connection is assumed to be modern")
	}
}

// A client's roots have changed: its own connection and the shared ones are notified, other clients' connections are not.
func TestRootsChanged(t *testing.T) {
	w := isolated(t, 8)
	w.own("a", 1)
	w.own("b", 2)
	w.allReady()
	var to []kernel.Reference
	for _, e := range step(w.s, w.now, message.RootsChanged{Client: "b"}, nil) {
		to = append(to, e.To)
	}
	if !slices.Equal(to, []kernel.Reference{w.backends[0], w.sent[2]}) {
		t.Errorf("notified %v, want the main connection and that of b", to)
	}
}

// A refused legacy connection ends the other legacy connections to that replica, but not those to other replicas.
func TestLegacyRefusedByOneReplica(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/", "http://127.0.0.1:2/"}, Isolation: isolationClass, MaxBackends: 9, Queue: wide}, 0)
	w.step(kernel.Started{})
	w.spawned()
	for i := range w.backends {
		w.step(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Syncing, Info: &message.ServerInfo{Version: "2026-07-28"}})
		w.phase(i, message.Ready)
	}
	for seq, can := range []message.CapabilitySet{0, message.CanForm} { // legacy clients of two classes
		w.step(message.Dispatch{Call: message.CallRef{Seq: uint64(seq)}, Request: &message.Request{Caller: &message.Caller{Can: can}, Server: "fake"}})
	}
	w.spawned()
	legacy := func() (count [2]int) {
		for _, conn := range w.s.replicas.connections {
			if conn.legacy && !conn.leaving {
				count[conn.replica]++
			}
		}
		return count
	}
	before := legacy()
	for _, conn := range w.s.replicas.connections {
		if conn.legacy && conn.replica == 1 {
			w.step(message.BackendChanged{Backend: conn.ref, Replica: 1, Phase: message.Waiting, Refused: true})
			break
		}
	}
	if after := legacy(); before != [2]int{2, 2} || after != [2]int{2, 0} {
		t.Errorf("legacy connections by replica: %v, then %v; want [2 2], then [2 0]", before, after)
	}
}

// A reload restarts the idle time of a server only if it changes idleStop of a lazy server or makes the server lazy.
func TestReloadAndIdleTime(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Server)
		starts bool
	}{
		"idleStop": {func(s *config.Server) { s.IdleStop = time.Hour }, true},
		"startup":  {func(s *config.Server) { s.Startup = "eager" }, false},
		"other":    {func(s *config.Server) { s.MaxConcurrent = 9 }, false},
	} {
		w := newLazyWorld(t)
		timer := w.s.idle.timer
		next := w.s.server
		c.change(&next)
		w.does(message.Reconfigure{Server: next})
		if (w.s.idle.timer != timer) != c.starts {
			t.Errorf("%s: the idle time was restarted: %v, want %v", name, !c.starts, c.starts)
		}
	}
	w := newWorld(t, config.Server{Queue: queue, IdleStop: time.Minute}, 1)
	w.phase(0, message.Ready)
	next := w.s.server
	next.Startup = startupLazy
	if timers := w.wakeups(message.Reconfigure{Server: next}); len(timers) != 1 || timers[0].After != time.Minute {
		t.Errorf("a server that becomes lazy starts the timers %v, want one of a minute", timers)
	}
}

// Each kind of use keeps a lazy server running.
func TestUsesOfALazyServer(t *testing.T) {
	for name, use := range map[string]func(*lazyWorld){
		"none":               func(*lazyWorld) {},
		"a running call":     func(w *lazyWorld) { w.call(1) },
		"a queued call":      func(w *lazyWorld) { w.s.replicas.connections[0].phase = message.Syncing; w.call(1) },
		"running and queued": func(w *lazyWorld) { w.s.server.MaxConcurrent = 1; w.call(1); w.call(2) },
		"a subscription":     func(w *lazyWorld) { w.subscribe(0, 1, "a") },
		"a new list that clients wait for": func(w *lazyWorld) {
			w.do(message.Refresh{Kind: protocol.Tools})
			w.do(message.FetchResult{Kind: protocol.Tools})
		},
	} {
		w := newLazyWorld(t)
		use(w)
		w.said = nil
		w.after(time.Minute)
		w.due()
		w.does(message.BackendIdle{Backend: w.backends[0]})
		if stopped := slices.Contains(w.said, "drain"); stopped != (name == "none") {
			t.Errorf("%s: stopped %v", name, stopped)
		}
	}
}

// If the sender of a reload waits for a confirmation, the pool requests it from the registry.
func TestReloadIsConfirmed(t *testing.T) {
	for _, want := range []int{0, 1} {
		w := newWorld(t, config.Server{Queue: queue}, 1)
		m := message.Reconfigure{Server: w.s.server}
		if want == 1 {
			m.Confirm = message.Confirm{From: actortest.NewProbe(w.system, "waits").Reference, Key: 7}
		}
		if got, _ := told[message.Confirm, spawn](w, m); len(got) != want || want == 1 && got[0] != m.Confirm {
			t.Errorf("confirmations %v, want %d", got, want)
		}
	}
}

// A process learns how many gateways it runs under, including this one.
func TestNestingInTheEnvironment(t *testing.T) {
	for outer, want := range map[string]string{"": "1", "1": "2"} {
		t.Setenv(config.NestingVariable, outer)
		if env := environment(config.Server{}); !slices.Contains(env, config.NestingVariable+"="+want) {
			t.Errorf("within %q gateways: %q, want %s", outer, env, want)
		}
	}
}

// A URI of exactly the maximum length is kept, and so are URIs of exactly the maximum number of bytes.
func TestMentionLimitsAreExact(t *testing.T) {
	var m mentions
	long := strings.Repeat("x", maxMentionedURI)
	if m.add(long, mention{}); !m.has(long) {
		t.Error("a URI of the maximum length is not kept")
	}
	m = mentions{}
	uri := func(i int) string { return fmt.Sprintf("%0*d", maxMentionedURI, i) }
	n := maxMentionBytes / maxMentionedURI
	for i := range n {
		m.add(uri(i), mention{})
	}
	if len(m.now) != n || len(m.before) != 0 || m.bytes != maxMentionBytes {
		t.Errorf("%d recent and %d older URIs of %d bytes; want %d recent ones of exactly the maximum", len(m.now), len(m.before), m.bytes, n)
	}
	if m.add("a", mention{}); len(m.now) != 1 || len(m.before) != n {
		t.Errorf("one byte more: %d recent and %d older URIs; want 1 and %d", len(m.now), len(m.before), n)
	}
	known := mention{incarnation: 1}
	m.add("b", known)
	m.add("b", mention{})
	if m.at("b") != known {
		t.Error("a mention in a notification replaced one by a connection")
	}
	m.add("b", mention{incarnation: 2})
	if m.at("b").incarnation != 2 {
		t.Error("a newer mention did not replace the older one")
	}
}
