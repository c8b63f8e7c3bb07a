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

// changed is the configuration with another first server.
func changed(c config.Config, change func(*config.Server)) *config.Config {
	c.Servers = slices.Clone(c.Servers)
	change(&c.Servers[0])
	return &c
}

// A reload reaches the connections that stay: what they answer, and the clocks that run already.
func TestReloadReachesConnections(t *testing.T) {
	t.Run("roots", within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}}
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		asks := func() string {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`))
			synctest.Wait()
			answers := server.Answers()
			return string(answers[len(answers)-1].Raw)
		}
		asks()
		h.gateway.Reload(changed(first, func(s *config.Server) { s.Roots = []string{"file:///new"} }))
		synctest.Wait()
		if n := len(server.Received("notifications/roots/list_changed")); n != 1 {
			t.Errorf("the server was told %d times that its roots have changed", n)
		}
		if got := asks(); !strings.Contains(got, "file:///new") || server.Opened() != 1 {
			t.Errorf("it is told the roots %s, over %d connections", got, server.Opened())
		}
	}))
	t.Run("reconnect", within(func(t *testing.T) {
		var tries atomic.Int64
		refuse := func(sink upstream.Sink) upstream.Link {
			tries.Add(1)
			link, peer := pipe.New(sink)
			peer.Close(errors.New("no"))
			return link
		}
		var first config.Config
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": refuse}, "stdio", Options{}, func(c *config.Config) {
			c.Servers[0].Reconnect = config.Reconnect{Min: 24 * time.Hour, Max: 24 * time.Hour}
			first = *c
		})
		defer h.close()
		time.Sleep(time.Minute)
		before := tries.Load()
		h.gateway.Reload(changed(first, func(s *config.Server) { s.Reconnect = config.Reconnect{Min: time.Second, Max: time.Second} }))
		time.Sleep(time.Minute)
		if n := tries.Load() - before; n < 30 {
			t.Errorf("%d attempts in a minute, want one a second", n)
		}
	}))
	t.Run("startTimeout", within(func(t *testing.T) {
		server := &actortest.Server{IgnoreInitialize: true}
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Servers[0].StartTimeout, c.Servers[0].Protocol = time.Hour, "legacy"
			first = *c
		})
		defer h.close()
		time.Sleep(time.Minute)
		for _, test := range []struct {
			limit time.Duration
			want  string
		}{{30 * time.Minute, "handshaking"}, {time.Minute, "waiting"}} {
			h.gateway.Reload(changed(first, func(s *config.Server) { s.StartTimeout = test.limit }))
			time.Sleep(time.Millisecond)
			if st, err := h.gateway.Status(t.Context()); err != nil || st.Servers[0].State != test.want {
				t.Errorf("startTimeout %v after a minute: %s (%v)", test.limit, st.Servers[0].State, err)
			}
		}
	}))
	t.Run("isolation", within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"slow"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		h.gateway.Reload(changed(first, func(s *config.Server) { s.Isolation = "leased" }))
		time.Sleep(time.Second)
		h.send(fmt.Sprintf(oneSlow, 1), fmt.Sprintf(oneSlow, 2))
		if n := len(server.Received("tools/call")); n != 1 {
			t.Errorf("leased: %d calls run at once on one connection", n)
		}
		h.gateway.Reload(&first)
		time.Sleep(time.Second)
		h.send(fmt.Sprintf(oneSlow, 3), fmt.Sprintf(oneSlow, 4))
		if n := len(server.Received("tools/call")); n < 3 {
			t.Errorf("shared again: %d calls in all have reached the server, want 3 at least", n)
		}
	}))
}

// The calls of a server that is switched off are told so, and not that the gateway is going.
func TestCallsOfAServerThatIsSwitchedOff(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"slow"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		var first config.Config
		h := open(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.Servers[0].MaxConcurrent = 1
			first = *c
		})
		defer h.close()
		h.initialize()
		h.send(fmt.Sprintf(oneSlow, 1), fmt.Sprintf(oneSlow, 2))
		h.gateway.Reload(without(first))
		got := strings.Join(h.got(), "\n")
		for _, want := range []string{`"id":1,"error"`, "BACKEND_DISCONNECTED", `"id":2,"error"`, "SERVER_UNAVAILABLE", "was disabled"} {
			if !strings.Contains(got, want) {
				t.Errorf("answers lack %q:\n%s", want, got)
			}
		}
		if strings.Contains(got, "shutting down") {
			t.Errorf("got %s", got)
		}
	})(t)
}

// Servers log less again when nobody wants more: the clients that did have gone quiet, or have gone.
func TestLogLevelGoesDown(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Logging: true}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.ready()
		call := func(id int) {
			h.one(strings.Replace(modernCall(id, "{}", ""), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1))
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
			t.Errorf("while requests ask for debug: %v", got)
		}
		time.Sleep(10 * levelPause)
		if got := levels(); !slices.Equal(got, []string{"debu", "info"}) {
			t.Errorf("long after the last: %v", got)
		}
		call(9)
		if got := levels(); !slices.Equal(got, []string{"debu", "info", "debu"}) {
			t.Errorf("and again: %v", got)
		}
	})(t)
}

// levelPause is longer than what lies between two requests of a busy client, and shorter than a desk's patience.
const levelPause = 20 * time.Second

// A session that wanted more and has ended wants nothing any more.
func TestLogLevelOfASessionThatHasEnded(t *testing.T) {
	cfg := config.Default()
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	who, pool := actortest.NewProbe(system, "who").Reference, actortest.NewProbe(system, "pool").Reference
	s := newState(&cfg, kernel.Reference{})
	var told []string
	do := func(msg any) {
		for _, e := range step(s, time.Now(), msg, nil) {
			switch m := e.Msg.(type) {
			case message.SetLevel:
				told = append(told, string(m.Level))
			case message.SetSessionLevelResult:
				told = append(told, fmt.Sprint("answer ", m.Seq)) // when the servers have been told
			}
		}
	}
	do(poolStarted{"one", pool})
	do(sessionStarted{ref: who})
	do(message.SetSessionLevel{Session: who, Level: "debug", Seq: 1})
	do(message.SetSessionLevel{Session: who, Level: "debug", Seq: 2})
	do(message.SetSessionLevel{Session: who, Level: "error"})
	do(kernel.ChildStopped{Child: who})
	if !slices.Equal(told, []string{"debug", "answer 1", "answer 2", "error", ""}) {
		t.Errorf("servers are told %q", told)
	}
}

// A session says what it wants and ends, while the gateway has no time for either: it hears of the end first.
func TestLogLevelOfASessionWhoseEndOvertakesIt(t *testing.T) {
	within(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"a"}, Logging: true}
		h := open(t, map[string]*actortest.Server{"one": server}, nil)
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
		h.gateway.self.Tell(message.Inspect{Reply: func(any) { <-release }}) // it is busy until the session has ended
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
		if told := server.Received("logging/setLevel"); len(told) != 0 {
			t.Errorf("nobody is there, and the server is told %s", told[len(told)-1].Raw)
		}
	})(t)
}
