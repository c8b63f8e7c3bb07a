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
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream/embedded"
)

// ErrStopped is returned after the gateway has begun to stop.
var ErrStopped = errors.New("the gateway has stopped")

// Options configure a gateway in addition to its configuration file.
type Options struct {
	Version string // of the program; reported to clients
	Log     *slog.Logger
	Open    pool.Opener // connects to servers; nil = start their processes or open their URLs
	Logins  pool.Logins // logs in to servers; nil = with OAuth

	Embedded func(uint64) embedded.Options // returns the embedded server with the number in config.Server.Embedded; nil = there are none

	LoginURL          func(message.LoginKey) string // URL of the page where a person logs in to a server; nil or "" = none
	State             string                        // path of the state file; "" = keep the state in memory
	Secrets           *secret.Redactor              // redacts secrets in texts that people read; nil = none are known
	StatelessSessions int                           // number of stateless sessions; 0 = one per processor

	// Master returns the key from which the keys for the state file's secrets and for the audit log are derived; nil =
	// masterkey.Load finds or creates it.
	Master    func() (*masterkey.Master, error)
	Telemetry Telemetry        // records requests and calls; nil = telemetry is off
	Scheduler kernel.Scheduler // runs the actors in a simulation; nil = goroutines and the system clock
	Budget    *stream.Budget   // counts the bytes in the gateway's buffers; nil = one with limits.maxBufferedBytes
	Cluster   *Cluster         // makes the gateway a node of a cluster; nil = it runs alone
}

// Telemetry creates spans for requests and calls, and exports metrics. Its methods must not block.
type Telemetry interface {
	downstream.Observer
	status.Observer
	// Operations returns the metrics of operations in which the gateway counts. If it is nil, the gateway uses its own.
	Operations() *status.Operations
}

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	system   *kernel.System
	self     kernel.Reference
	monitor  kernel.Reference
	seconds  kernel.Reference
	recorder kernel.Reference
	metrics  *status.Metrics
	changes  *status.CatalogChanges
	budget   *stream.Budget
	audit    *audit.Log
	log      *slog.Logger
	state    string // path of the state file
	links    *backend.Links
	logins   *logins
	payloads keptPayloads

	entrance     atomic.Pointer[admission.Entrance] // admits requests; replaced when projects, policy or principals change
	principalsMu sync.Mutex                         // held while a change of principals is applied and sent

	statelessCount int // number of stateless sessions
	nextStateless  atomic.Uint64
	requests       requests                    // counts requests of clients; not modified after Start
	sealer         atomic.Pointer[seal.Sealer] // seals requestState; nil until the state file has been read. Stateless sessions start only after it is set
	started        time.Time                   // status.Snapshot.Started
	node           string                      // identifies this process in sealed states and to other gateways
	cluster        *Cluster                    // nil = the gateway runs alone
	membership     kernel.Reference            // zero = the members of the cluster are fixed; not modified after Start
	bus            *memberBus                  // what membership hears; nil = the members are fixed; not modified after Start
	asking         atomic.Int64                // guests that wait for the answer of a home; at most maxAsking
	stopping       atomic.Bool                 // Stop was called
	leaving        atomic.Bool                 // this node is about to stop, so it passes requests on to other nodes
	guestNumbers   atomic.Uint64               // see session.Options.Used
}

// Start spawns the actors. It does not wait for servers to start. The error wraps config.ErrNested if too many gateways are nested.
func Start(cfg *config.Config, o Options) (*Gateway, error) {
	if err := config.CheckNesting(os.Getenv); err != nil {
		return nil, err
	}
	guarded, err := newLogins(cfg.Egress.Allow)
	if err != nil {
		return nil, fmt.Errorf("egress.allow: %w", err)
	}
	g := &Gateway{
		logins:         guarded,
		system:         kernel.New(kernel.Options{Logger: o.Log, Scheduler: o.Scheduler}),
		metrics:        status.NewMetrics(),
		changes:        status.NewCatalogChanges(),
		budget:         cmp.Or(o.Budget, stream.NewBudget(cfg.Limits.MaxBufferedBytes)),
		links:          &backend.Links{},
		log:            cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		state:          o.State,
		statelessCount: cmp.Or(o.StatelessSessions, runtime.GOMAXPROCS(0)),
		started:        time.Now(),
		node:           rand.Text(),
		cluster:        o.Cluster,
	}
	g.logins.shared = newSharedLogins(o.Cluster, g.log)
	g.requests.metrics = g.metrics
	g.countCluster()
	if o.Telemetry != nil {
		g.requests.telemetry = o.Telemetry
		g.metrics.Observe(o.Telemetry)
		g.metrics.ShareOperations(o.Telemetry.Operations())
	}
	g.entrance.Store(&admission.Entrance{})
	if err := g.startAudit(cfg, o); err != nil {
		return nil, err
	}
	names, _ := cfg.Project("")
	g.admitTo(names)
	g.admitLocal(policy.Compile(cfg.Policy))
	g.monitor = monitor.Spawn(g.system, o.Version, g.started)
	g.seconds = monitor.SpawnSeconds(g.system, g.metrics)
	g.recorder = monitor.SpawnRecorder(g.system, g.recordingEnded)
	g.startPayloads(cfg, o)
	g.startMembership(&o)
	options := kernel.SpawnOptions{Name: "gateway", Kind: "gateway", Mailbox: 16384, Restarts: -1, Log: o.Log}
	g.self = kernel.Spawn(g.system, options, func(self kernel.Self) kernel.Logic {
		s := newState(cfg, self.Reference())
		s.version = o.Version
		return &gateway{Options: o, Gateway: g, state: s}
	})
	if g.self.IsZero() {
		return nil, errors.Join(ErrStopped, g.audit.Close())
	}
	if err := g.joinCluster(); err != nil {
		return nil, errors.Join(err, g.Stop(context.Background(), 0))
	}
	g.audit.Notify(func(m audit.Mark) { g.self.Tell(message.RememberAudit{Mark: m}) })
	return g, nil
}

// Metrics returns the gateway's counters.
func (g *Gateway) Metrics() *status.Metrics { return g.metrics }

// Changes returns the history of catalog changes.
func (g *Gateway) Changes() *status.CatalogChanges { return g.changes }

// Budget returns the counter of the bytes in the gateway's buffers.
func (g *Gateway) Budget() *stream.Budget { return g.budget }

// Mailboxes returns the fill levels of the actors' mailboxes.
func (g *Gateway) Mailboxes() []kernel.Mailbox { return g.system.Mailboxes() }

// Reload applies cfg. It returns at once. Failures to apply it are logged or shown in the status.
func (g *Gateway) Reload(cfg *config.Config) { g.self.Tell(message.Reload{Config: cfg}) }

// Apply is like Reload, but blocks until cfg is in force and visible to clients, the gateway stops, or ctx ends. It does not wait for
// servers to start.
func (g *Gateway) Apply(ctx context.Context, cfg *config.Config) error {
	done := make(chan struct{})
	g.self.Tell(message.Reload{Config: cfg, Done: done})
	return wait(ctx, done)
}

// AwaitCatalog blocks until every client sees the registry's current catalog, the gateway stops, or ctx ends.
func (g *Gateway) AwaitCatalog(ctx context.Context) error {
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

// ReloadFailed records in the status and the audit log why a newer configuration was rejected. The next Reload clears it from the
// status.
func (g *Gateway) ReloadFailed(err error) {
	g.self.Tell(message.ReloadFailed{Reason: err.Error()})
	g.audit.Record(audit.Record{Event: audit.EventReload, Outcome: "failed", Detail: err.Error()})
}

// Listening records the addresses that the gateway listens on, and whether it does so with TLS, for the status.
func (g *Gateway) Listening(addresses []string, tls bool) {
	g.self.Tell(message.Listening{Addresses: addresses, TLS: tls})
}

// Status returns the status of the whole gateway, or an error if ctx ends first or the gateway has stopped.
func (g *Gateway) Status(ctx context.Context) (*status.Snapshot, error) {
	reply := make(chan *status.Snapshot, 1)
	g.monitor.Tell(message.GetStatus{Reply: reply})
	select {
	case s := <-reply:
		if s == nil {
			return nil, ErrStopped
		}
		return g.withKeeping(g.withAudit(s)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Stop refuses new work, or passes it on to the other nodes of the cluster. It gives running calls up to the duration drain to finish,
// and then stops every actor and child process. It stops waiting when ctx ends. The error names what is still running.
func (g *Gateway) Stop(ctx context.Context, drain time.Duration) error {
	done := make(chan struct{})
	g.stopping.Store(true)
	timer := time.NewTimer(drain)
	defer timer.Stop()
	g.handOff(ctx, drain)
	g.self.Tell(message.DrainAll{Done: done})
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	err := g.system.Stop(ctx)
	if g.bus != nil {
		g.bus.close()
	}
	if waitErr := g.links.Wait(ctx); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("wait for servers to end: %w", waitErr))
	}
	return errors.Join(err, g.endAudit())
}
