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

// A server with a URL that was ready for a long time and is briefly unavailable is reconnected quickly. A process is tried
// once at once. After that, and for a server that stays away, the configured pauses apply.
func TestQuickAttemptsAfterALoss(t *testing.T) {
	refused := errors.New("connection refused")
	for _, test := range []struct {
		name      string
		transport string
		ready     time.Duration
		away      time.Duration
		min       time.Duration
		back      time.Duration // longest time until it is connected again
		attempts  [2]int        // minimum and maximum, without the first connection
	}{
		{"a URL is tried at once, then quickly", "http", steadyTime, 30 * time.Millisecond, 0, 60 * time.Millisecond, [2]int{2, 5}},
		{"each quick pause is as long as the time since the loss", "http", steadyTime, 300 * time.Millisecond, 0, 600 * time.Millisecond, [2]int{4, 12}},
		{"later, the configured pauses apply", "sse", steadyTime, time.Minute, 0, 150 * time.Second, [2]int{8, 22}},
		{"quick pauses are not longer than configured ones", "http", steadyTime, 5 * time.Millisecond, 4 * time.Millisecond, 10 * time.Millisecond, [2]int{2, 4}},
		{"a process is tried once at once, then the configured pauses apply", "stdio", steadyTime, 30 * time.Millisecond, 0, 501 * time.Millisecond, [2]int{2, 2}},
		{"a URL that was not ready for long is not tried at once", "http", steadyTime - 2*time.Second, 30 * time.Millisecond, 0, 501 * time.Millisecond, [2]int{1, 1}},
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
