package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
)

// A server takes two seconds to start. While it is restarted, scaled up and down, and given other arguments, at least one replica is
// always ready and no call fails.
func TestAReplicaIsAlwaysReady(t *testing.T) {
	inBubble(func(t *testing.T) {
		f := newFleet(1, func(int) *actortest.Server {
			return &actortest.Server{Tools: []string{"a"}, BeforePage: func(int) { time.Sleep(2 * time.Second) }}
		})
		h := f.open(t, nil)
		defer h.close()
		time.Sleep(5 * time.Second)
		h.initialize()
		h.received()
		id := 0
		watch := func(when string, replicas, opened int) {
			t.Helper()
			for range 50 {
				time.Sleep(100 * time.Millisecond)
				if s := h.serverStatus(0); s.ReadyCount < 1 {
					t.Fatalf("%s: %d of %d ready", when, s.ReadyCount, s.Replicas)
				}
				id++
				if got := h.roundTrip(fleetCall(id, 0)); !strings.Contains(got, "echo") {
					t.Fatalf("%s: %s", when, got)
				}
			}
			if s := h.serverStatus(0); s.ReadyCount != replicas || s.Replicas != replicas || f.servers[0].Opened() != opened {
				t.Errorf("%s: %d of %d ready, %d opened; want %d, %d", when, s.ReadyCount, s.Replicas, f.servers[0].Opened(), replicas, opened)
			}
		}
		reload := func(change func(*config.Server)) {
			next := config.Default()
			next.MetaTools, next.Servers = "false", []config.Server{fleetServer(0)}
			change(&next.Servers[0])
			h.gateway.Reload(&next)
		}
		restart := status.Action{Verb: status.Restart, Server: fleetName(0)}
		if err := h.gateway.Act(t.Context(), restart); err != nil {
			t.Fatal(err)
		}
		watch("restarted", 1, 2)
		reload(func(s *config.Server) { s.Replicas = 3 })
		watch("scaled up", 3, 4)
		reload(func(s *config.Server) { s.Replicas = 2 })
		watch("scaled down", 2, 4)
		reload(func(s *config.Server) { s.Replicas, s.Args = 1, []string{"other"} })
		watch("other arguments", 1, 5)
		for i := range 3 { // reloads and a restart arrive while replicas are being replaced
			reload(func(s *config.Server) { s.Args = []string{fmt.Sprint(i)} })
			time.Sleep(time.Second)
		}
		_ = h.gateway.Act(t.Context(), restart)
		watch("several changes at once", 1, 9)
	})(t)
}
