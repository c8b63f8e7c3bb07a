package actors

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/backend"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/monitor"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/seal"
	"goblin-actor/protocol/stream"
)

// ErrStopped is returned when the gateway is going or gone.
var ErrStopped = errors.New("the gateway has stopped")

// Options are what a gateway needs beside its configuration.
type Options struct {
	Version string // of the program, told to clients
	Log     *slog.Logger
	Open    pool.Opener // how to reach servers; nil = processes and URLs
	Logins  pool.Logins // how to log in at servers; nil = by OAuth

	LoginURL func(message.LoginKey) string // where a person logs in at a server; nil, or "" = nowhere
	State    string                        // path of the state file; "" = what is learned is kept in memory
	Secrets  *secret.Redactor              // what people are not to be shown; nil = nothing is known
	Desks    int                           // how many actors share the clients without sessions; 0 = one for each processor

	// Master finds the key that seals what is secret in the state file; nil = one in a file beside it.
	Master    func() (*masterkey.Master, error)
	Scheduler kernel.Scheduler // runs the actors of a simulated world; nil = goroutines and the clock
}

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	system  *kernel.System
	self    kernel.Reference
	monitor kernel.Reference
	metrics *status.Metrics
	changes *status.CatalogChanges
	budget  *stream.Budget
	audit   *audit.Log
	log     *slog.Logger
	state   string // path of the state file
	links   *backend.Links
	logins  *logins

	entrance atomic.Pointer[admission.Entrance] // what admit knows; replaced when projects, policy or principals change
	telling  sync.Mutex                         // of whoever changes principals, until the gateway's actor has been told

	desks  int // how many
	turn   atomic.Uint64
	sealer atomic.Pointer[seal.Sealer] // of requestState; nil until the state file has been read, and no desk stands before
	node   string                      // names this process in sealed states and to other gateways
}

// Start spawns the actors and returns at once; servers start in the background. Stop ends it. The error wraps
// config.ErrNested when this gateway runs under too many others.
func Start(cfg *config.Config, o Options) (*Gateway, error) {
	if err := config.CheckNesting(os.Getenv); err != nil {
		return nil, err
	}
	guarded, err := newLogins(cfg.Egress.Allow)
	if err != nil {
		return nil, fmt.Errorf("egress.allow: %w", err)
	}
	g := &Gateway{
		logins:  guarded,
		system:  kernel.New(kernel.Options{Logger: o.Log, Scheduler: o.Scheduler}),
		metrics: status.NewMetrics(),
		changes: status.NewCatalogChanges(),
		budget:  stream.NewBudget(cfg.Limits.MaxBufferedBytes),
		links:   &backend.Links{},
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		state:   o.State,
		desks:   cmp.Or(o.Desks, runtime.GOMAXPROCS(0)),
		node:    rand.Text(),
	}
	g.entrance.Store(&admission.Entrance{})
	if err := g.startAudit(cfg, o); err != nil {
		return nil, err
	}
	names, _ := cfg.Project("")
	g.admitTo(names)
	g.admitLocal(policy.Compile(cfg.Policy))
	g.monitor = monitor.Spawn(g.system, o.Version)
	options := kernel.SpawnOptions{Name: "gateway", Kind: "gateway", Mailbox: 16384, Restarts: -1, Log: o.Log}
	g.self = kernel.Spawn(g.system, options, func(self kernel.Self) kernel.Logic {
		s := newState(cfg, self.Reference())
		s.version = o.Version
		return &gateway{Options: o, Gateway: g, state: s}
	})
	if g.self.IsZero() {
		return nil, errors.Join(ErrStopped, g.audit.Close())
	}
	g.audit.Notify(func(m audit.Mark) { g.self.Tell(message.RememberAudit{Mark: m}) })
	return g, nil
}

// Metrics are the gateway's counters.
func (g *Gateway) Metrics() *status.Metrics { return g.metrics }

// Changes are what has become of the catalog.
func (g *Gateway) Changes() *status.CatalogChanges { return g.changes }

// Budget counts the bytes the gateway's buffers hold.
func (g *Gateway) Budget() *stream.Budget { return g.budget }

// Mailboxes says how full the actors' mailboxes are.
func (g *Gateway) Mailboxes() []kernel.Mailbox { return g.system.Mailboxes() }

// Reload puts cfg in force. It returns at once; what fails is logged and shown in the status.
func (g *Gateway) Reload(cfg *config.Config) { g.self.Tell(message.Reload{Config: cfg}) }

// Apply is Reload for those who want to know when: it blocks until cfg is in force, which is when clients see what it shows, the gateway is going, or
// ctx ends. Servers start meanwhile, and may take longer.
func (g *Gateway) Apply(ctx context.Context, cfg *config.Config) error {
	done := make(chan struct{})
	g.self.Tell(message.Reload{Config: cfg, Done: done})
	return wait(ctx, done)
}

// Seen blocks until every client sees what of the catalog is known now, the gateway is going, or ctx ends.
func (g *Gateway) Seen(ctx context.Context) error {
	done := make(chan struct{})
	g.self.Tell(message.AwaitPublished{Done: done})
	return wait(ctx, done)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ReloadFailed tells the status why a newer configuration is not in force. The next Reload ends that.
func (g *Gateway) ReloadFailed(err error) {
	g.self.Tell(message.ReloadFailed{Reason: err.Error()})
	g.audit.Record(audit.Record{Event: audit.EventReload, Outcome: "failed", Detail: err.Error()})
}

// Listening tells the status where the gateway is reached.
func (g *Gateway) Listening(addresses []string) {
	g.self.Tell(message.Listening{Addresses: addresses})
}

// Status returns a picture of everything, or ctx's error.
func (g *Gateway) Status(ctx context.Context) (*status.Snapshot, error) {
	reply := make(chan *status.Snapshot, 1)
	g.monitor.Tell(message.GetStatus{Reply: reply})
	select {
	case s := <-reply:
		if s == nil {
			return nil, ErrStopped
		}
		return g.withAudit(s), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Stop drains: new work is refused, running calls may finish until drain ends, then every actor and child process
// is ended, until ctx ends. It returns what is left running as an error.
func (g *Gateway) Stop(ctx context.Context, drain time.Duration) error {
	done := make(chan struct{})
	g.self.Tell(message.DrainAll{Done: done})
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	err := g.system.Stop(ctx)
	if waitErr := g.links.Wait(ctx); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("wait for servers to end: %w", waitErr))
	}
	return errors.Join(err, g.endAudit())
}
