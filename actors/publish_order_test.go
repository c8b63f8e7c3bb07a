package actors

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// holdingScheduler is a scheduler that holds some actors back until they are released.
type holdingScheduler struct {
	runs chan func()
	held chan func()
	is   func(actor string) bool
	over atomic.Bool // no actor is held back anymore
}

func newHoldingScheduler(t *testing.T, is func(actor string) bool) *holdingScheduler {
	h := &holdingScheduler{runs: make(chan func(), 1<<16), held: make(chan func(), 1<<10), is: is}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case run := <-h.runs:
				run()
			case <-quit:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		<-done
	})
	return h
}

func (h *holdingScheduler) Schedule(actor string, run func()) {
	if h.is(actor) && !h.over.Load() {
		select {
		case h.held <- run:
			return
		default:
		}
	}
	h.runs <- run
}

func (*holdingScheduler) Timer(string, time.Duration, func()) {}

func (*holdingScheduler) Go(run func()) { go run() }

// release runs the actors that were held back. From then on no actor is held back.
func (h *holdingScheduler) release() {
	h.over.Store(true)
	for {
		select {
		case run := <-h.held:
			h.runs <- run
		default:
			return
		}
	}
}

// A client that gets a notification on its stream may send its next request to a stateless session or the gateway's own
// tools. These must receive each catalog before all actors that subscribe later.
func TestStatelessSessionsReceiveCatalogFirst(t *testing.T) {
	h := newHoldingScheduler(t, func(actor string) bool { return actor == "gateway/meta" || strings.HasPrefix(actor, "gateway/desk/") })
	cfg := config.Default()
	g, err := Start(&cfg, Options{Version: "test", Log: slog.New(slog.DiscardHandler), StatelessSessions: 2, Scheduler: h})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan map[string]int, 1)
	late := actortest.NewAnsweringProbe(g.system, "late", func(msg any) []kernel.Effect {
		if _, is := msg.(message.Published); is {
			depth := map[string]int{}
			for _, i := range g.system.Actors() {
				depth[i.Name] = i.Depth
			}
			select {
			case waiting <- depth:
			default:
			}
		}
		return nil
	})
	for deadline := time.Now().Add(time.Minute); ; {
		_, there := g.system.Lookup("gateway/desk/1")
		if _, err := g.Items(t.Context(), 0); err != nil || time.Now().After(deadline) { // the messages that spawned the stateless sessions are processed
			t.Fatal("no stateless sessions", err)
		}
		if there {
			break
		}
	}
	registry, _ := g.system.Lookup("gateway/registry")
	registry.Tell(message.Subscribe{From: late.Reference}) // like a stream that is opened at this time
	depth := <-waiting
	for _, name := range []string{"gateway/meta", "gateway/desk/0", "gateway/desk/1"} {
		if depth[name] == 0 {
			t.Errorf("%s has not received the catalog: %v", name, depth)
		}
	}
	h.release()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.Stop(ctx, 0); err != nil {
		t.Error(err)
	}
}
