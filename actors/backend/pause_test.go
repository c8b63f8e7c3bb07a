package backend

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// A server at a URL that had been ready for long and is away for a moment is back a moment later; a process of ours, or a
// server that stays away, waits for the pauses that are configured.
func TestQuickAttemptsAfterALoss(t *testing.T) {
	refused := errors.New("connection refused")
	for _, test := range []struct {
		name      string
		transport string
		ready     time.Duration
		away      time.Duration
		min       time.Duration
		back      time.Duration // connected again after so long at most
		attempts  [2]int        // meanwhile, the first connection not counted
	}{
		{"a URL is tried at once and soon after", "http", steadyTime, 30 * time.Millisecond, 0, 60 * time.Millisecond, [2]int{2, 5}},
		{"each pause as long as it was away", "http", steadyTime, 300 * time.Millisecond, 0, 600 * time.Millisecond, [2]int{4, 12}},
		{"then the pauses that are configured", "sse", steadyTime, time.Minute, 0, 150 * time.Second, [2]int{8, 22}},
		{"which are never shorter", "http", steadyTime, 5 * time.Millisecond, 4 * time.Millisecond, 10 * time.Millisecond, [2]int{2, 4}},
		{"a process is tried at once only", "stdio", steadyTime, 30 * time.Millisecond, 0, 501 * time.Millisecond, [2]int{2, 2}},
		{"and what was not ready for long not even that", "http", steadyTime - 2*time.Second, 30 * time.Millisecond, 0, 501 * time.Millisecond, [2]int{1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, c := &actortest.Server{Tools: []string{"add"}}, cfg()
				if test.min > 0 {
					c.Reconnect = config.Reconnect{Min: test.min, Max: time.Minute}
				}
				b := startOn(t, Options{Server: c, Open: server.Open, Transport: test.transport, Catalog: true})
				defer b.stop()
				time.Sleep(test.ready + openingTime)
				synctest.Wait()
				b.pool.Got()
				opened := server.Opened()
				server.SetRefuse(refused)
				server.Last().Close(refused)
				time.Sleep(test.away)
				synctest.Wait()
				server.SetRefuse(nil)
				time.Sleep(test.back - test.away)
				synctest.Wait()
				if p := b.phases(); !slices.Contains(p, message.Handshaking) {
					t.Errorf("phases %v, want a handshake after %v", p, test.back)
				}
				if n := server.Opened() - opened; n < test.attempts[0] || n > test.attempts[1] {
					t.Errorf("%d attempts, want %v", n, test.attempts)
				}
			})
		})
	}
}
