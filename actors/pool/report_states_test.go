package pool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A server is settled in the report once each replica has been ready or has failed, or if its catalog is known from an
// earlier run or its configuration is invalid. FailedFirst is set if no replica became ready.
func TestSettledInTheReport(t *testing.T) {
	known := &message.KnownCatalog{Info: &message.ServerInfo{}, At: time.Unix(1000, 0)}
	for name, c := range map[string]struct {
		server  config.Server
		known   *message.KnownCatalog
		phases  []message.Phase // of the replicas, in this order
		settled bool
		failed  bool
	}{
		"starting":                     {config.Server{}, nil, []message.Phase{message.Connecting, message.Connecting}, false, false},
		"one is ready, one starts":     {config.Server{}, nil, []message.Phase{message.Ready, message.Connecting}, false, false},
		"one has failed, one starts":   {config.Server{}, nil, []message.Phase{message.Waiting, message.Connecting}, false, false},
		"all ready":                    {config.Server{}, nil, []message.Phase{message.Ready, message.Ready}, true, false},
		"all failed":                   {config.Server{}, nil, []message.Phase{message.Waiting, message.NeedsLogin}, true, true},
		"one failed, one ready":        {config.Server{}, nil, []message.Phase{message.Waiting, message.Ready}, true, false},
		"lazy, catalog unknown":        {config.Server{Startup: startupLazy}, nil, nil, false, false},
		"lazy, catalog known":          {config.Server{Startup: startupLazy}, known, nil, true, false},
		"misconfigured":                {config.Server{Fault: "no variable X"}, nil, nil, true, true},
		"lazy and misconfigured":       {config.Server{Startup: startupLazy, Fault: "no variable X"}, known, nil, true, true},
		"catalog known from last time": {config.Server{}, known, nil, true, false},
	} {
		c.server.Queue = queue
		w := newWorld(t, config.Server{}, 2)
		c.server.Name, c.server.Replicas = "fake", 2
		w.s = newState(Options{Server: c.server, Known: c.known}, w.s.self, 1)
		w.step(kernel.Started{})
		for i, ref := range w.backends {
			w.step(spawned{i + 1, ref})
		}
		for i, p := range c.phases {
			w.phase(i, p)
		}
		if r := w.s.report(); r.Settled != c.settled || r.FailedFirst != c.failed {
			t.Errorf("%s: settled %v, first attempts failed %v; want %v, %v", name, r.Settled, r.FailedFirst, c.settled, c.failed)
		}
	}
}

// The status of a lazy server that is stopped says what starts it. It is at fault only if its last attempt failed.
func TestStoppedLazyServerInTheReport(t *testing.T) {
	for failure, reason := range map[string]string{"": "", "exit status 1": "its last attempt failed: exit status 1"} {
		w := newLazyWorld(t)
		w.s.replicas.connections[0].attempts.failure = failure
		w.after(time.Minute)
		w.due()
		w.does(message.BackendIdle{Backend: w.backends[0]})
		r := w.s.report()
		if r.Reason != reason || r.Fault != (failure != "") || r.Replicas != 1 || r.ReadyCount != 0 || r.State != string(message.Idle) || !strings.Contains(r.Hint, "the next request starts it") {
			t.Errorf("last failure %q: %+v", failure, r)
		}
	}
}

// The status counts replicas, not connections: during a restart, and with connections of clients, the numbers stay the same.
func TestReplicasInTheReport(t *testing.T) {
	w := readyReplicas(t, config.Server{Isolation: "session", MaxBackends: 8}, 2)
	shows := func(when string, state message.Phase, replicas, ready int) {
		t.Helper()
		if r := w.s.report(); r.State != string(state) || r.Replicas != replicas || r.ReadyCount != ready {
			t.Errorf("%s: %s, %d of %d replicas ready; want %s, %d of %d", when, r.State, r.ReadyCount, r.Replicas, state, ready, replicas)
		}
	}
	shows("before clients see the catalog", message.Syncing, 2, 0)
	w.seen(1)
	shows("one is visible", message.Ready, 2, 1)
	w.seen(2)
	shows("both are visible", message.Ready, 2, 2)
	w.own("a", 1)
	w.allReady()
	shows("with a client's connection", message.Ready, 2, 2)
	w.step(message.Restart{})
	shows("restarting", message.Ready, 2, 2)
	w.phase(0, message.Waiting)
	shows("one of the old ones was lost", message.Ready, 2, 1)
}

// A server with a ready replica has no fault, whichever replica was lost.
func TestReadyReplicaHasNoFault(t *testing.T) {
	for lost := range 2 {
		w := readyReplicas(t, config.Server{}, 2)
		w.seen(1)
		w.seen(2)
		w.phase(lost, message.Waiting)
		if r := w.s.report(); r.State != string(message.Ready) || r.ReadyCount != 1 || r.Fault {
			t.Errorf("replica %d is lost: %s, %d ready, fault %v", lost, r.State, r.ReadyCount, r.Fault)
		}
	}
}

// The status counts running, parked and queued calls, items, and subscribers.
func TestCountsInTheReport(t *testing.T) {
	w := newSubscribers(t, 1)
	w.s.server.MaxConcurrent = 1
	for kind, n := range map[protocol.ItemKind]int{protocol.Tools: 1, protocol.Prompts: 2, protocol.Resources: 3, protocol.Templates: 4} {
		w.do(message.Listed{Backend: w.backends[0], Kind: kind, Items: slices.Repeat([][]byte{[]byte("x")}, n)})
	}
	w.about(1, protocol.MethodTasksResult, nil)
	w.about(2, protocol.MethodTasksResult, nil)
	w.dispatch(3)
	w.step(message.CallParked{Backend: w.backends[0], Call: message.CallRef{Seq: 3}, Yes: true})
	w.dispatch(4)
	w.dispatch(5)
	w.subscribe(0, 1, "a")
	w.subscribe(1, 2, "a")
	w.answer("a", true)
	w.subscribe(0, 3, "b")
	w.subscribe(0, 4, "c")
	got := w.s.report()
	if got.InFlight != 4 || got.Parked != 3 || got.Queued != 1 {
		t.Errorf("%d in flight, %d of them parked, %d queued; want 4, 3, 1", got.InFlight, got.Parked, got.Queued)
	}
	if got.Tools != 1 || got.Prompts != 2 || got.Resources != 3 || got.Templates != 4 {
		t.Errorf("%d tools, %d prompts, %d resources, %d templates; want 1, 2, 3, 4", got.Tools, got.Prompts, got.Resources, got.Templates)
	}
	if got.Subscribers != 4 || got.Subscribed != 1 {
		t.Errorf("%d subscribers, %d resources that the server reports on; want 4 and 1", got.Subscribers, got.Subscribed)
	}
}

// The status shows when the remembered catalog was listed, in addition to the reason why the server is not ready.
func TestCachedCatalogInTheReport(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	if r := w.s.report(); !r.CachedSince.IsZero() {
		t.Errorf("cached since %v without a known catalog", r.CachedSince)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w.s.catalog.remembered.catalog = &message.KnownCatalog{Info: &message.ServerInfo{}, At: at}
	w.step(kernel.Started{})
	if r := w.s.report(); r.CachedSince != at || r.Reason != "catalog cached at 2026-01-02 03:04" {
		t.Errorf("cached since %v, reason %q", r.CachedSince, r.Reason)
	}
	w.phase(0, message.Waiting)
	if r := w.s.report(); r.Reason != "exit status 1; catalog cached at 2026-01-02 03:04" {
		t.Errorf("reason %q", r.Reason)
	}
}

// An unavailable server's error says for how long it has been unavailable, from one second on.
func TestUnavailableSince(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.lost(0, time.Hour, "exit status 1")
	for seq, c := range []struct {
		after time.Duration
		want  string
	}{{time.Second - 1, "server fake is unavailable: waiting (exit status 1)"}, {1, "server fake has been unavailable for 1s: waiting (exit status 1)"},
		{time.Minute, "server fake has been unavailable for 1m1s: waiting (exit status 1)"}} {
		w.after(c.after)
		w.dispatch(uint64(seq))
		if f := w.fault(uint64(seq), protocol.ServerUnavailable); f.Message != c.want {
			t.Errorf("message %q, want %q", f.Message, c.want)
		}
	}
}

// A call can be retried when the first replica that it may use is tried again.
func TestRetryAfterTheNextAttempt(t *testing.T) {
	for _, pauses := range [][]time.Duration{{2 * time.Second, 5 * time.Second}, {5 * time.Second, 2 * time.Second}} {
		w := readyReplicas(t, config.Server{}, 2)
		for i, pause := range pauses {
			w.lost(i, pause, "gone")
		}
		w.dispatch(1)
		if f := w.fault(1, protocol.NoBackendsAvailable); f.RetryAfter != 2*time.Second {
			t.Errorf("pauses %v: retry after %v, want 2s", pauses, f.RetryAfter)
		}
		w.step(message.Dispatch{Call: message.CallRef{Seq: 2}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake", Replica: 2}})
		if f := w.fault(2, protocol.ServerUnavailable); f.RetryAfter != pauses[1] || !strings.HasPrefix(f.Message, "replica 1 of server fake") {
			t.Errorf("call of replica 1: retry after %v, want %v; message %q", f.RetryAfter, pauses[1], f.Message)
		}
	}
}

// The next timeout is logged at once if the last warning is exactly a minute old.
func TestTimeoutAMinuteLater(t *testing.T) {
	for after, want := range map[time.Duration][2]int{timeoutWarning - 1: {0, 1}, timeoutWarning: {1, 0}} {
		w := newWorld(t, config.Server{Queue: queue}, 1)
		w.timeOut(message.Cancel{TimedOut: true})
		w.after(after)
		if warned, timers := w.timeOut(message.Cancel{TimedOut: true}); len(warned) != want[0] || len(timers) != want[1] {
			t.Errorf("after %v: warned %v, timers %v", after, warned, timers)
		}
	}
	w := newWorld(t, config.Server{Queue: queue}, 1)
	for n := range maxTimeouts {
		w.step(message.Cancel{TimedOut: true})
		want := map[int]string{
			1: "a call timed out 0s ago", 2: "2 calls timed out in the last 10 minutes, the last one 0s ago",
			maxTimeouts: "at least 100 calls timed out in the last 10 minutes, the last one 0s ago",
		}[n+1]
		if got := w.s.report().Warnings; want != "" && !slices.Contains(got, want) {
			t.Errorf("%d timeouts: warnings %q, want %q", n+1, got, want)
		}
	}
}
