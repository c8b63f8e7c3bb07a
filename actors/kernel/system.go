package kernel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
)

// protoactor's table of processes is 1024 maps, each of which its library would cut into 32 more: SHARD_COUNT of them, a variable of that
// library that nobody else in the program uses. They were nine tenths of what an empty System takes, and 3 ms of each start.
func init() { cmap.SHARD_COUNT = 1 }

// Options are the choices of a System.
type Options struct {
	Logger *slog.Logger // where panics and misuse are told; nil = nowhere
	Fate   Fate         // runs the actors of a simulated world; nil = goroutines and the clock
}

// System is a world of actors. One per process is enough.
type System struct {
	proto    *actor.ActorSystem
	root     *actor.RootContext
	pool     *dispatcher
	strategy *supervision
	fate     Fate // nil in the real world
	log      *slog.Logger
	cells    sync.Map // full name → *cell; every actor that is not gone
	loose    census   // goroutines of Self.Go

	mu       sync.Mutex
	tops     map[*cell]struct{} // not gone yet
	spawned  uint64
	stopping bool
	dead     uint64 // letters nobody of ours sent
}

// New returns an empty System. It starts no goroutine, so it may be called inside a synctest bubble.
func New(o Options) *System {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &System{log: log, pool: newDispatcher(), fate: o.Fate, tops: make(map[*cell]struct{})}
	quiet := actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) })
	s.proto = actor.NewActorSystem(quiet)
	// protoactor's own subscribers only log, and the one for dead letters keeps a goroutine for a second
	// after each, which outlives a bubble. A fresh stream has none of them.
	s.proto.EventStream = fresh(s.proto.EventStream)
	s.proto.EventStream.Subscribe(func(event any) {
		if letter, ok := event.(*actor.DeadLetterEvent); ok {
			s.mu.Lock()
			s.dead++
			s.mu.Unlock()
			abandon(letter.Message, Gone)
		}
	})
	s.strategy = &supervision{s}
	s.root = s.proto.Root.Copy().WithGuardian(s.strategy)
	return s
}

// fresh returns a new zero value of a type this package has no name for.
func fresh[T any](*T) *T { return new(T) }

// Lookup returns the actor with the full name, as long as it is not gone.
func (s *System) Lookup(name string) (Reference, bool) {
	c, ok := s.find(name)
	return Reference{c}, ok
}

func (s *System) find(name string) (*cell, bool) {
	if c, ok := s.cells.Load(name); ok {
		return c.(*cell), true
	}
	return nil, false
}

// enter registers c under its name; false: the name is taken, or c is at the top and the system stops.
func (s *System) enter(c *cell) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.parent == nil && s.stopping {
		s.log.Warn("actor not spawned: the system stops", "actor", c.name)
		return false
	}
	if _, taken := s.cells.LoadOrStore(c.name, c); taken {
		s.log.Error("actor not spawned: the name is taken", "actor", c.name)
		return false
	}
	s.spawned++
	c.order = s.spawned
	if c.parent == nil {
		c.stopped = make(chan struct{})
		s.tops[c] = struct{}{}
	}
	return true
}

// leave forgets c, which is gone.
func (s *System) leave(c *cell) {
	s.cells.Delete(c.name)
	if c.parent != nil {
		return
	}
	s.mu.Lock()
	delete(s.tops, c)
	s.mu.Unlock()
	close(c.stopped)
}

// Stop ends all actors, those at the top one after the other, the youngest first, each with its children; then it
// waits for the functions given to Self.Go and ends the warm goroutines. When ctx ends before that, the actors left
// are asked to stop all at once and the error names them. It may be called again, and by several goroutines, but
// not by an actor. Afterwards Spawn returns the zero Reference.
func (s *System) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	tops := make([]*cell, 0, len(s.tops))
	for c := range s.tops {
		tops = append(tops, c)
	}
	s.mu.Unlock()
	slices.SortFunc(tops, func(a, b *cell) int { return cmp.Compare(b.order, a.order) })
	var left []string
	for _, c := range tops {
		c.stop(WhyShutdown)
		select {
		case <-c.stopped:
			continue
		default:
		}
		select {
		case <-c.stopped:
		case <-ctx.Done():
			left = append(left, c.name)
		}
	}
	goroutines := s.loose.wait(ctx)
	s.pool.close()
	if len(left) == 0 {
		goroutines += s.pool.workers.wait(ctx)
	}
	if len(left) == 0 && goroutines == 0 {
		return nil
	}
	return fmt.Errorf("stop actors: %w: %d still running: %s; %d goroutines left", context.Cause(ctx), len(left), strings.Join(left[:min(len(left), 10)], ", "), goroutines)
}
