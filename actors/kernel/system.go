package kernel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
)

// protoactor's table of processes consists of 1024 maps of the library cmap, which splits each into SHARD_COUNT maps. With
// the default of 32 they took nine tenths of the memory of an empty System and 3 ms of each start. Nothing else in the
// program uses cmap.
func init() { cmap.SHARD_COUNT = 1 }

// Options configure a System.
type Options struct {
	Logger    *slog.Logger // receives panics, misuse and the actors' own log messages (see SpawnOptions.Log); nil = discard
	Scheduler Scheduler    // runs the actors of a simulated world; nil = goroutines and the clock
}

// System is a set of actors. A process needs only one.
type System struct {
	proto      *actor.ActorSystem
	root       *actor.RootContext
	pool       *dispatcher
	strategy   *supervision
	scheduler  Scheduler // nil in the real world
	log        *slog.Logger
	cells      sync.Map       // full name → *cell, for every actor that has not stopped
	goroutines goroutineCount // started by Self.Go
	recorded   atomic.Uint64  // RecordedMessage.Order of the newest recorded message

	mu          sync.Mutex
	roots       map[*cell]struct{} // top-level actors that have not stopped
	spawned     uint64
	stopping    bool
	deadLetters uint64 // messages protoactor could not deliver
}

// New returns an empty System. It starts no goroutine, so it may be called inside a synctest bubble.
func New(o Options) *System {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &System{log: log, pool: newDispatcher(), scheduler: o.Scheduler, roots: make(map[*cell]struct{})}
	quiet := actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) })
	s.proto = actor.NewActorSystem(quiet)
	// protoactor's own subscribers only log, and the one for dead letters keeps a goroutine for a second after each
	// letter, which would outlive a synctest bubble. A new stream has no subscribers.
	s.proto.EventStream = fresh(s.proto.EventStream)
	s.proto.EventStream.Subscribe(func(event any) {
		if letter, ok := event.(*actor.DeadLetterEvent); ok {
			s.mu.Lock()
			s.deadLetters++
			s.mu.Unlock()
			abandon(letter.Message, NotRunning)
		}
	})
	s.strategy = &supervision{s}
	s.root = s.proto.Root.Copy().WithGuardian(s.strategy)
	return s
}

// fresh returns a pointer to a zero value of a type that this package cannot name.
func fresh[T any](*T) *T { return new(T) }

// Lookup returns the actor with the full name. It returns false if there is none or it has stopped.
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

// register adds c under its name. It returns false if the name is taken, or if c is a top-level actor and the system is
// stopping.
func (s *System) register(c *cell) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.parent == nil && s.stopping {
		s.log.Warn("actor not spawned: the system is stopping", "actor", c.name)
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
		s.roots[c] = struct{}{}
	}
	return true
}

// unregister removes c after it has stopped.
func (s *System) unregister(c *cell) {
	s.cells.Delete(c.name)
	if c.parent != nil {
		return
	}
	s.mu.Lock()
	delete(s.roots, c)
	s.mu.Unlock()
	close(c.stopped)
}

// Stop stops all actors: the top-level actors one after the other, the youngest first, each with its children. Then it
// waits for the functions passed to Self.Go and ends the idle goroutines. If ctx ends before that, it asks all
// remaining actors to stop at once and returns an error that names up to ten top-level actors. Stop may be called
// repeatedly and concurrently, but not by an actor. Spawn returns the zero Reference afterwards.
func (s *System) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	tops := make([]*cell, 0, len(s.roots))
	for c := range s.roots {
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
	goroutines := s.goroutines.wait(ctx)
	s.pool.close()
	if len(left) == 0 {
		goroutines += s.pool.workers.wait(ctx)
	}
	if len(left) == 0 && goroutines == 0 {
		return nil
	}
	return fmt.Errorf("stop actors: %w; still running: %d actors %q and %d goroutines", context.Cause(ctx), len(left), left[:min(len(left), 10)], goroutines)
}
