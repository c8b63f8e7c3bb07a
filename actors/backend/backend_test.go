package backend

import (
	"errors"
	"log/slog"
	"runtime"
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
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// bench is a backend with a probe in place of its pool, another one in place of the holder of calls, and a fake server.
type bench struct {
	t       *testing.T
	system  *kernel.System
	pool    actortest.Probe
	holder  actortest.Probe
	server  *actortest.Server
	backend kernel.Reference
}

func start(t *testing.T, server *actortest.Server, cfg config.Server) *bench {
	t.Helper()
	b := startOn(t, Options{Server: cfg, Open: server.Open, Transport: "stdio", Catalog: true})
	b.server = server
	return b
}

func startOn(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, system: kernel.New(kernel.Options{})}
	b.pool, b.holder = actortest.NewAnsweringProbe(b.system, "pool", letStart), actortest.NewProbe(b.system, "holder")
	b.backend = actortest.Child(b.system, func(self kernel.Self) kernel.Reference {
		o.Pool, o.Links, o.Log, o.Seed = b.pool.Reference, &Links{}, slog.New(slog.DiscardHandler), 1
		return Spawn(self, "backend", o)
	})
	return b
}

// letStart grants every request to connect, as the pool does for URLs.
func letStart(msg any) []kernel.Effect {
	if m, ok := msg.(message.RequestConnect); ok {
		return []kernel.Effect{kernel.Tell(m.Backend, message.Connect{})}
	}
	return nil
}

func (b *bench) stop() { actortest.Stop(b.t, b.system) }

func (b *bench) phases() []message.Phase {
	var list []message.Phase
	for _, c := range actortest.Of[message.BackendChanged](b.pool) {
		list = append(list, c.Phase)
	}
	return list
}

func cfg() config.Server {
	return config.Server{Name: "fake", Protocol: "legacy", Timeout: 30 * time.Second, StartTimeout: time.Minute,
		Reconnect: config.Reconnect{Min: 500 * time.Millisecond, Max: 60 * time.Second}}
}

// request returns a tools/call as a session would dispatch it.
func request(t *testing.T, raw string) *message.Request {
	t.Helper()
	r := &message.Request{Caller: &message.Caller{}, Server: "fake"}
	r.Frame, r.Params = actortest.Request(t, raw)
	r.Target, r.Original = r.Params.Name, []byte(`"add"`)
	return r
}

const callFrame = `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"fake_add","arguments":{"a":9007199254740993}},"future":[1.0]}`

// A backend is ready once all pages of all lists have been sent to the pool.
func TestReadyOnlyWhenSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a", "b", "c"}, PageSize: 1, Resources: []string{"file:///x"}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		var listed []message.Listed
		var order []string
		for _, msg := range b.pool.Got() {
			switch m := msg.(type) {
			case message.Listed:
				listed = append(listed, m)
				order = append(order, "listed "+m.Kind.String())
			case message.BackendChanged:
				order = append(order, string(m.Phase))
			}
		}
		if order[len(order)-1] != "ready" {
			t.Fatalf("order %v: want ready last", order)
		}
		for _, l := range listed {
			if l.Kind == protocol.Tools && len(l.Items) != 3 { // S0.1.2, S2.1.1: every page is followed
				t.Errorf("tools: %d items, want 3 of 3 pages", len(l.Items))
			}
		}
	})
}

// A call gets the gateway's id and progress token; all other bytes stay as they are.
func TestCallIsEditedAndAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &actortest.Server{Tools: []string{"add"}}, cfg())
		defer b.stop()
		synctest.Wait()
		b.pool.Got()
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: 7}, Request: request(t, callFrame)})
		synctest.Wait()
		sent := b.server.Received("tools/call")
		if len(sent) != 1 {
			t.Fatalf("server got %d calls, want 1", len(sent))
		}
		want := `{"jsonrpc":"2.0","id":` + string(sent[0].IDBytes()) + `,"method":"tools/call","params":{"_meta":{"progressToken":` +
			string(sent[0].IDBytes()) + `},"name":"add","arguments":{"a":9007199254740993}},"future":[1.0]}`
		if got := string(sent[0].Raw); got != want {
			t.Errorf("server got\n%s, want\n%s", got, want)
		}
		got := b.holder.Got()
		if len(got) != 2 {
			t.Fatalf("holder got %v, want RequestWritten and Done", got)
		}
		if written, ok := got[0].(message.RequestWritten); !ok || written.Seq != 7 || written.Route == nil || written.Route.Protocol != "2025-11-25" {
			t.Errorf("holder got %T %v, want RequestWritten 7 on a connection with its protocol", got[0], got[0])
		}
		if done, ok := got[1].(message.Done); !ok || done.Seq != 7 {
			t.Errorf("holder got %T %v, want Done 7", got[1], got[1])
		}
		if ended := actortest.Of[message.CallEnded](b.pool); len(ended) != 1 {
			t.Errorf("pool got %d CallEnded, want 1", len(ended))
		}
	})
}

// Requirements S4.3.1 and S4.3.2: a written call fails at once, and is not sent again after the reconnect.
func TestLossFailsWrittenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		time.Sleep(steadyTime) // the first reconnect is immediate after that
		b.pool.Got()
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}, Request: request(t, callFrame)})
		synctest.Wait()
		server.Last().Close(errors.New("exit status 1"))
		synctest.Wait()
		failed := actortest.Of[message.Failed](b.holder)
		if len(failed) != 1 || failed[0].Fault.Name != protocol.BackendDisconnected || !strings.Contains(failed[0].Fault.Message, "exit status 1") {
			t.Fatalf("holder got %v, want one BACKEND_DISCONNECTED with the reason", failed)
		}
		if p := b.phases(); !slices.Contains(p, message.Waiting) || p[len(p)-1] != message.Ready {
			t.Errorf("phases %v, want waiting … ready without a pause", p)
		}
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("the server got the call %d times, want 1", n)
		}
	})
}

// Attempts to connect continue forever, with growing pauses.
func TestBackoffGrowsAndNeverStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Refuse: errors.New("fake: not found on PATH")}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		if n := server.Opened(); n != 1 {
			t.Fatalf("opened %d times at once, want 1", n)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if n := server.Opened(); n < 2 {
			t.Errorf("opened %d times after 500 ms, want 2", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		n := server.Opened()
		if n < 60 || n > 140 { // 30 to 60 s apart once the pause has grown
			t.Errorf("opened %d times in an hour, want about one every 45 s", n)
		}
		changes := actortest.Of[message.BackendChanged](b.pool)
		last := changes[len(changes)-1]
		if last.Phase != message.Waiting || last.Reason != "fake: not found on PATH" || last.NextAttempt.Before(time.Now()) {
			t.Errorf("last change %+v, want waiting with reason and next attempt", last)
		}
	})
}

// A start ends after startTimeout if the server does not answer initialize.
func TestServerThatNeverAnswersInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &actortest.Server{IgnoreInitialize: true}, cfg())
		defer b.stop()
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if p := b.phases(); p[len(p)-1] != message.Handshaking {
			t.Fatalf("phases %v one nanosecond early, want handshaking", p)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if p := b.phases(); len(p) != 1 || p[0] != message.Waiting {
			t.Errorf("phases %v at startTimeout, want waiting", p)
		}
	})
}

// If the server requires an unknown version, the reason names both sides' versions.
func TestUnknownProtocolVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &actortest.Server{Version: "1999-01-01"}, cfg())
		defer b.stop()
		synctest.Wait()
		changes := actortest.Of[message.BackendChanged](b.pool)
		last := changes[len(changes)-1]
		if last.Phase != message.Waiting || !strings.Contains(last.Reason, "1999-01-01") || !strings.Contains(last.Reason, "2025-11-25") {
			t.Errorf("got %s (%s), want waiting and a reason that names both versions", last.Phase, last.Reason)
		}
	})
}

// Requirements S0.4.4 and S4.1.3: after a change, only the changed list is fetched. A change during the fetch, when pages
// in flight are outdated, causes another fetch.
func TestListChangedDuringASync(t *testing.T) {
	for _, tt := range []struct {
		name string
		page int // page of tools/list, from 1, that is outdated when it is sent
		size int // tools per page
	}{
		{"the first list", 1, 0}, {"a later list", 2, 0}, {"the first of several pages", 4, 1}, {"the last of several pages", 6, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Server{Tools: []string{"a", "b", "c"}, Resources: []string{"file:///x"}, PageSize: tt.size}
				server.BeforePage = func(page int) {
					if page == tt.page {
						server.SetTools(true, "d", "b", "c", "e")
					}
				}
				b := start(t, server, cfg())
				defer b.stop()
				synctest.Wait()
				resources := len(server.Received("resources/list"))
				if tt.page > 1 {
					server.SetTools(true, "a", "b", "c")
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				var last message.Listed
				for _, l := range actortest.Of[message.Listed](b.pool) {
					if l.Kind == protocol.Tools {
						last = l
					}
				}
				if len(last.Items) != 4 || !strings.Contains(string(last.Items[0]), `"d"`) || !last.Announced {
					t.Errorf("last list: %s (announced %v), want d, b, c and e, announced", last.Items, last.Announced)
				}
				if n := len(server.Received("resources/list")); n != resources {
					t.Errorf("resources were listed another %d times, want none", n-resources)
				}
			})
		})
	}
}

// A list that changes during the pause after a fetch is fetched again when the pause is over.
func TestListChangedInThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		server.BeforePage = func(page int) {
			if page == 2 {
				server.SetTools(true, "a", "b")
			}
		}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		server.SetTools(true, "a")
		time.Sleep(listPause / 2) // the second list was outdated; the third fetch waits
		server.SetTools(true, "a", "b", "c")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		listed := actortest.Of[message.Listed](b.pool)
		if last := listed[len(listed)-1]; len(last.Items) != 3 || !last.Announced {
			t.Errorf("last list: %s (announced %v), want three tools, announced", last.Items, last.Announced)
		}
		if n := len(server.Received("tools/list")); n != 3 {
			t.Errorf("%d fetches, want 3: one for both changes", n)
		}
	})
}

// Canceling a call notifies the server and frees the call's slot. A late response is ignored.
func TestCancelNotifiesTheServerAndFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.pool.Got()
		call := message.CallRef{Holder: b.holder.Reference, Seq: 1}
		b.backend.Tell(message.Send{Call: call, Request: request(t, callFrame)})
		synctest.Wait()
		b.backend.Tell(message.CancelSent{Call: call, Reason: "no longer wanted"})
		synctest.Wait()
		id := string(server.Received("tools/call")[0].IDBytes())
		cancelled := server.Received("notifications/cancelled")
		if len(cancelled) != 1 || !strings.Contains(string(cancelled[0].Raw), `{"requestId":`+id+`,"reason":"no longer wanted"}`) {
			t.Fatalf("server got %d cancellations, want one of id %s", len(cancelled), id)
		}
		if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
			t.Errorf("pool got %d CallEnded, want 1", n)
		}
		b.holder.Got()
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`))
		synctest.Wait()
		if got := b.holder.Got(); len(got) != 0 {
			t.Errorf("holder got %v after a late response, want nothing", got)
		}
	})
}

// A server that has lost its session did not execute the call, which is sent again after the new handshake.
func TestSessionLostKeepsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			if server.Opened() > 1 {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
			}
		}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.pool.Got()
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}, Request: request(t, callFrame)})
		synctest.Wait()
		id, _ := parseID(server.Received("tools/call")[0].IDBytes())
		_ = server.Last().Tell(upstream.SessionLost{Ticket: uint64(id)})
		synctest.Wait()
		if done := actortest.Of[message.Done](b.holder); len(done) != 1 {
			t.Errorf("holder got %d answers, want 1", len(done))
		}
		if p := b.phases(); len(p) == 0 || p[len(p)-1] != message.Ready {
			t.Errorf("phases %v, want ready again", p)
		}
	})
}

// If a server loses its session twice on the same call, the call fails, and the next attempt to connect follows after a
// pause.
func TestSessionLostTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		server.Handle = func(p *pipe.Peer, f protocol.Frame, _ []byte) {
			ticket, _ := parseID(f.IDBytes())
			_ = p.Tell(upstream.SessionLost{Ticket: uint64(ticket)})
		}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.pool.Got()
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}, Request: request(t, callFrame)})
		synctest.Wait()
		failed := actortest.Of[message.Failed](b.holder)
		if len(failed) != 1 || failed[0].Fault.Name != protocol.BackendDisconnected {
			t.Errorf("holder got %+v, want one BACKEND_DISCONNECTED", failed)
		}
		if n := len(server.Received("tools/call")); n != 2 {
			t.Errorf("the server was called %d times, want 2", n)
		}
		if p := b.phases(); len(p) == 0 || p[len(p)-1] != message.Waiting {
			t.Errorf("phases %v, want waiting", p)
		}
	})
}

// Lost connections leave no goroutines.
func TestLostConnectionsLeaveNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 100 {
			server.Last().Close(errors.New("gone"))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; server.Opened() != 101 || n > 10 {
			t.Errorf("%d connections left %d goroutines", server.Opened(), n)
		}
	})
}
