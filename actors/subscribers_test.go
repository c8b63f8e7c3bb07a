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

// heldUp is a world in which some actors come to nothing before they are let.
type heldUp struct {
	runs chan func()
	held chan func()
	is   func(actor string) bool
	over atomic.Bool // nobody is held up any more
}

func newHeldUp(t *testing.T, is func(actor string) bool) *heldUp {
	h := &heldUp{runs: make(chan func(), 1<<16), held: make(chan func(), 1<<10), is: is}
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

func (h *heldUp) Schedule(actor string, run func()) {
	if h.is(actor) && !h.over.Load() {
		select {
		case h.held <- run:
			return
		default:
		}
	}
	h.runs <- run
}

func (*heldUp) After(time.Duration, func()) {}

// letGo has all go on that were held up, and ends that.
func (h *heldUp) letGo() {
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

// A client that is told of a change by its stream may ask a desk, or the gateway's own tools, at once: these are told of each catalog before all that are
// there after them, also when they come to say so later.
func TestDesksHearFirst(t *testing.T) {
	h := newHeldUp(t, func(actor string) bool { return actor == "gateway/meta" || strings.HasPrefix(actor, "gateway/desk/") })
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
		if _, err := g.Items(t.Context(), 0); err != nil || time.Now().After(deadline) { // it is done with what has made the desk
			t.Fatal("no desks", err)
		}
		if there {
			break
		}
	}
	registry, _ := g.system.Lookup("gateway/registry")
	registry.Tell(message.Subscribe{Who: late.Reference}) // as a stream does that is opened now
	depth := <-waiting
	for _, name := range []string{"gateway/meta", "gateway/desk/0", "gateway/desk/1"} {
		if depth[name] == 0 {
			t.Errorf("%s has not been told of the catalog: %v", name, depth)
		}
	}
	h.letGo()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.Stop(ctx, 0); err != nil {
		t.Error(err)
	}
}
