package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// withFirstServer returns the configuration with a changed first server.
func withFirstServer(c config.Config, change func(*config.Server)) *config.Config {
	c.Servers = slices.Clone(c.Servers)
	change(&c.Servers[0])
	return &c
}

// A reload applies to open connections: to later calls and responses, and to running timers.
func TestReloadReachesConnections(t *testing.T) {
	t.Run("roots", inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		roots := func() string {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`))
			synctest.Wait()
			answers := server.Answers()
			return string(answers[len(answers)-1].Raw)
		}
		roots()
		h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.Roots = []string{"file:///new"} }))
		synctest.Wait()
		if n := len(server.Received("notifications/roots/list_changed")); n != 1 {
			t.Errorf("the server got %d roots/list_changed notifications, want 1", n)
		}
		if got := roots(); !strings.Contains(got, "file:///new") || server.Opened() != 1 {
			t.Errorf("the roots are %s, over %d connections; want file:///new over 1", got, server.Opened())
		}
	}))
	t.Run("reconnect", inBubble(func(t *testing.T) {
		var tries atomic.Int64
		refuse := func(sink upstream.Sink) upstream.Link {
			tries.Add(1)
			link, peer := pipe.New(sink)
			peer.Close(errors.New("no"))
			return link
		}
		var first config.Config
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": refuse}, "stdio", Options{}, func(c *config.Config) {
			c.Servers[0].Reconnect = config.Reconnect{Min: 24 * time.Hour, Max: 24 * time.Hour}
			first = *c
		})
		defer h.close()
		time.Sleep(time.Minute)
		before := tries.Load()
		h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.Reconnect = config.Reconnect{Min: time.Second, Max: time.Second} }))
		time.Sleep(time.Minute)
		if n := tries.Load() - before; n < 30 {
			t.Errorf("%d attempts in a minute, want one per second", n)
		}
	}))
	t.Run("startTimeout", inBubble(func(t *testing.T) {
		server := &actortest.Server{IgnoreInitialize: true}
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Servers[0].StartTimeout, c.Servers[0].Protocol = time.Hour, "legacy"
			first = *c
		})
		defer h.close()
		time.Sleep(time.Minute)
		for _, test := range []struct {
			limit time.Duration
			want  string
		}{{30 * time.Minute, "handshaking"}, {time.Minute, "waiting"}} {
			h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.StartTimeout = test.limit }))
			time.Sleep(time.Millisecond)
			if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].State != test.want {
				t.Errorf("startTimeout %v after a minute: %s (%v)", test.limit, st.Servers[0].State, err)
			}
		}
	}))
	t.Run("isolation", inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"slow"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.Isolation = "leased" }))
		time.Sleep(time.Second)
		h.send(fmt.Sprintf(oneSlow, 1), fmt.Sprintf(oneSlow, 2))
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("leased: %d calls reached the server, want 1", n)
		}
		h.gateway.Reload(&first)
		time.Sleep(time.Second)
		h.send(fmt.Sprintf(oneSlow, 3), fmt.Sprintf(oneSlow, 4))
		if n := len(server.Received("tools/call")); n < 3 {
			t.Errorf("shared again: %d calls reached the server in total, want at least 3", n)
		}
	}))
}

// When a server is disabled, the errors of its calls say so. They do not claim that the gateway is shutting down.
func TestCallsOfDisabledServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"slow"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Servers[0].MaxConcurrent = 1
			first = *c
		})
		defer h.close()
		h.initialize()
		h.send(fmt.Sprintf(oneSlow, 1), fmt.Sprintf(oneSlow, 2))
		h.gateway.Reload(withFirstDisabled(first))
		got := strings.Join(h.received(), "\n")
		for _, want := range []string{`"id":1,"error"`, "BACKEND_DISCONNECTED", `"id":2,"error"`, "SERVER_UNAVAILABLE", "was disabled"} {
			if !strings.Contains(got, want) {
				t.Errorf("the responses lack %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "shutting down") {
			t.Errorf("got %s", got)
		}
	})(t)
}

// The servers' log level goes down when no client wants the more verbose messages anymore, because the clients are idle
// or have ended.
func TestLogLevelGoesDown(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Logging: true}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		call := func(id int) {
			h.roundTrip(strings.Replace(modernCall(id, "{}", ""), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1))
		}
		levels := func() (list []string) {
			for _, f := range server.Received("logging/setLevel") {
				list = append(list, strings.Split(string(f.Raw), `"level":"`)[1][:4])
			}
			return list
		}
		for id := range 5 {
			call(id + 1)
			time.Sleep(levelPause)
		}
		if got := levels(); !slices.Equal(got, []string{"debu"}) {
			t.Errorf("while requests want debug: levels %v", got)
		}
		time.Sleep(10 * levelPause)
		if got := levels(); !slices.Equal(got, []string{"debu", "info"}) {
			t.Errorf("long after the last request: levels %v", got)
		}
		call(9)
		if got := levels(); !slices.Equal(got, []string{"debu", "info", "debu"}) {
			t.Errorf("after another request: levels %v", got)
		}
	})(t)
}

// levelPause is longer than the time between two requests of a busy client, but shorter than the time for which a stateless
// session keeps a client's level.
const levelPause = 20 * time.Second

// The log level of a session that has ended no longer counts.
func TestLogLevelOfEndedSession(t *testing.T) {
	cfg := config.Default()
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	who, pool := actortest.NewProbe(system, "who").Reference, actortest.NewProbe(system, "pool").Reference
	s := newState(&cfg, kernel.Reference{})
	var got []string
	do := func(msg any) {
		for _, e := range step(s, time.Now(), msg, nil) {
			switch m := e.Msg.(type) {
			case message.SetLevel:
				got = append(got, string(m.Level))
			case message.SetSessionLevelResult:
				got = append(got, fmt.Sprint("answer ", m.Seq)) // sent after the servers got the level
			}
		}
	}
	do(poolStarted{"one", pool})
	do(sessionStarted{ref: who})
	do(message.SetSessionLevel{Session: who, Level: "debug", Seq: 1})
	do(message.SetSessionLevel{Session: who, Level: "debug", Seq: 2})
	do(message.SetSessionLevel{Session: who, Level: "error"})
	do(kernel.ChildStopped{Child: who})
	if !slices.Equal(got, []string{"debug", "answer 1", "answer 2", "error", ""}) {
		t.Errorf("got %q", got)
	}
}

// The end of a session can overtake the level that the session has set. That level is ignored.
func TestSessionEndOvertakesLogLevel(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}, Logging: true}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		sessions := func() (all []kernel.Reference) {
			for _, box := range h.gateway.Mailboxes() {
				if ref, ok := h.gateway.system.Lookup(box.Name); ok && strings.HasPrefix(box.Name, "gateway/session/") {
					all = append(all, ref)
				}
			}
			return all
		}
		release := make(chan struct{})
		h.gateway.self.Tell(message.Inspect{Reply: func(any) { <-release }}) // keeps the gateway actor busy until the session has ended
		h.send(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
		for _, ref := range sessions() {
			ref.Tell(message.DrainSession{})
		}
		synctest.Wait()
		if left := sessions(); len(left) > 0 {
			t.Fatalf("%d sessions have not ended", len(left))
		}
		close(release)
		synctest.Wait()
		if got := server.Received("logging/setLevel"); len(got) != 0 {
			t.Errorf("without sessions the server got %s", got[len(got)-1].Raw)
		}
	})(t)
}
