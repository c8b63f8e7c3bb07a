package actors

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"goblin-actor/actors/backend"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/desk"
	"goblin-actor/actors/edge"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/listener"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
	"goblin-actor/actors/monitor"
	"goblin-actor/actors/pool"
	"goblin-actor/actors/registry"
	"goblin-actor/actors/session"
	"goblin-actor/actors/store"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/masterkey"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
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
	Master func() (*masterkey.Master, error)
	Fate   kernel.Fate // runs the actors of a simulated world; nil = goroutines and the clock
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
	state   string // path of the state file
	links   *backend.Links
	logins  *logins

	entrance atomic.Pointer[edge.Entrance] // what admit knows; replaced when projects, policy or principals change

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
		system:  kernel.New(kernel.Options{Logger: o.Log, Fate: o.Fate}),
		metrics: status.NewMetrics(),
		changes: status.NewCatalogChanges(),
		budget:  stream.NewBudget(cfg.Limits.MaxBufferedBytes),
		links:   &backend.Links{},
		state:   o.State,
		desks:   cmp.Or(o.Desks, runtime.GOMAXPROCS(0)),
		node:    rand.Text(),
	}
	g.entrance.Store(&edge.Entrance{})
	if err := g.startAudit(cfg, o); err != nil {
		return nil, err
	}
	names, _ := cfg.Project("")
	g.admitTo(names)
	g.admitLocal(policy.Compile(cfg.Policy))
	g.monitor = monitor.Spawn(g.system, o.Version)
	options := kernel.SpawnOptions{Name: "gateway", Kind: "gateway", Mailbox: 16384, Restarts: -1, Log: o.Log}
	g.self = kernel.Spawn(g.system, options, func(self kernel.Self) kernel.Logic {
		return &gateway{Options: o, Gateway: g, state: newState(cfg, self.Reference())}
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

// Apply is Reload for those who want to know when: it blocks until cfg is in force, the gateway is going, or ctx ends. Servers
// start only then.
func (g *Gateway) Apply(ctx context.Context, cfg *config.Config) error {
	done := make(chan struct{})
	g.self.Tell(message.Reload{Config: cfg, Done: done})
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

// gateway is the shell of the gateway actor: it spawns what step wants spawned.
type gateway struct {
	Options
	*Gateway
	state *state
}

func (g *gateway) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(g.state, now, msg, out)
}

type (
	startStore    struct{}
	startRegistry struct {
		naming   catalog.Naming
		projects []config.Project
		expect   int // servers that are to be known before clients are told of any
	}
	startMeta struct{}
	startPool struct {
		server config.Server
		limits config.Limits
		eras   map[string]message.KnownEra
		known  *message.KnownCatalog
	}
	startDesks struct {
		limits config.Limits
		expect int // servers to wait for
		key    message.SealingKey
	}
	startListener struct {
		open   message.OpenListen
		owner  owner
		number uint64
		expect int // servers to wait for
	}
	refuseListen struct {
		open message.OpenListen
		why  *protocol.Fault
	}
	stopChild    struct{ child kernel.Reference }
	startSession struct {
		first  message.OpenSession // its initialize, or its stream, is the session's first message
		stdio  chan<- kernel.Reference
		owner  owner
		limits config.Limits
		expect int // servers to wait for
	}
	refuseSession struct {
		open message.OpenSession
		why  *protocol.Fault
	}
	closeDone  struct{ done chan<- struct{} }
	admitTo    struct{ projects []string }
	admitLocal struct{ policy *policy.Policy }
)

// What the shell tells the state of the children it has spawned, before anything else: they may have ended already.
type (
	storeStarted    struct{ ref kernel.Reference }
	registryStarted struct{ ref kernel.Reference }
	metaStarted     struct{ ref kernel.Reference }
	poolStarted     struct {
		server string
		ref    kernel.Reference
	}
	sessionStarted struct {
		ref   kernel.Reference
		owner owner
	}
	deskStarted struct{ ref kernel.Reference }
)

func (g *gateway) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case startSession:
		g.startSession(self, a)
	case refuseSession:
		a.open.Refuse(a.why)
	case startStore:
		self.Next(storeStarted{store.Spawn(self, store.Options{Path: g.State, Master: g.Master, Gateway: self.Reference(), Log: g.Log})})
	case startRegistry:
		o := registry.Options{Naming: a.naming, Projects: a.projects, Changes: g.changes, Expect: a.expect, Log: g.Log}
		self.Next(registryStarted{registry.Spawn(self, o)})
	case startMeta:
		self.Next(metaStarted{meta.Spawn(self, meta.Options{Registry: g.state.registry, Monitor: g.monitor, Log: g.Log})})
	case startPool:
		ref := pool.Spawn(self, pool.Options{
			Server: a.server, Node: g.node, Limits: a.limits, Registry: g.state.registry, Gateway: self.Reference(), Store: g.state.store, Eras: a.eras, Known: a.known,
			Budget: g.budget, Links: g.links,
			Metrics: g.metrics.Server(a.server.Name), Log: g.Log.With("server", a.server.Name), Seed: seed(), Open: g.Open,
			Logins: g.loginsFor(self), LoginURL: g.LoginURL, Secrets: g.Secrets,
		})
		self.Next(poolStarted{a.server.Name, ref})
	case startDesks:
		g.startDesks(self, a)
	case startListener:
		ref := listener.Spawn(self, listener.Options{
			Name: strconv.FormatUint(a.number, 10), Exchange: a.open.Exchange, Admitted: a.open.Admitted, Expect: a.expect, Version: g.Version,
			Sealer: g.sealer.Load(), Registry: g.state.registry, Log: g.Log,
		})
		self.Next(sessionStarted{ref, a.owner})
	case refuseListen:
		message.RefuseModern(a.open.Exchange, a.why)
	case stopChild:
		self.StopChild(a.child)
	case closeDone:
		close(a.done)
	case findLogins:
		self.Next(message.EndLogins{Who: a.who, Kept: g.logins.of(a.who)})
	case rememberToken:
		g.logins.remember(a.key, a.value)
	case abandonLogin:
		a.do()
	case auditSettings, auditRemembered, auditReloaded:
		g.auditAct(self, a)
	case admitTo:
		g.admitTo(a.projects)
	case admitLocal:
		g.Principals(map[string]*identity.Principal{identity.LocalID: g.admitLocal(a.policy)})
	}
}

// admitTo makes these the projects that clients may name.
func (g *Gateway) admitTo(projects []string) {
	known := make(map[string]bool, len(projects))
	for _, name := range projects {
		known[name] = true
	}
	g.change(func(e *edge.Entrance) { e.Projects = known })
}

// admitLocal takes the policy, gives whoever is not asked who he is what it says of him, and returns that.
func (g *Gateway) admitLocal(p *policy.Policy) *identity.Principal {
	rights := p.Rights(nil, "", true)
	who := *identity.Local
	who.Rights, who.Admin = rights, p.Admin(rights)
	g.change(func(e *edge.Entrance) { e.Policy, e.Local = p, &who })
	return &who
}

// change replaces what admit knows by what f makes of a copy, and returns it.
func (g *Gateway) change(f func(*edge.Entrance)) *edge.Entrance {
	for {
		old := g.entrance.Load()
		next := *old
		if f(&next); g.entrance.CompareAndSwap(old, &next) {
			return &next
		}
	}
}

// Principals says what has become of principals: by id the newest value of each that has come, or has changed; nil = it is nobody any more. It
// counts for every request from now on. Sessions and streams of who is nobody any more end, its calls are cancelled and answered, and the
// connections and logins of its own end; others see at once what they may see now. Safe from any goroutine; it does not wait for that.
func (g *Gateway) Principals(changed map[string]*identity.Principal) {
	g.recordPrincipals("changed", changed)
	g.principals(changed)
}

// NewPrincipals is Principals of those who have just come.
func (g *Gateway) NewPrincipals(come map[string]*identity.Principal) {
	g.recordPrincipals("new", come)
	g.principals(come)
}

func (g *Gateway) principals(changed map[string]*identity.Principal) {
	e := g.change(func(e *edge.Entrance) {
		newest := make(map[string]*identity.Principal, len(e.Newest)+len(changed))
		maps.Copy(newest, e.Newest)
		maps.Copy(newest, changed)
		e.Newest, e.Epoch = newest, e.Epoch+1
	})
	g.self.Tell(message.Principals{Newest: e.Newest, Epoch: e.Epoch})
	if gone := nobodyAnyMore(changed); len(gone) > 0 {
		g.self.Tell(message.EndLogins{Who: gone})
	}
}

// seed returns what a pool's jitter begins with.
func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// startDesks spawns one desk a core.
func (g *gateway) startDesks(self kernel.Self, a startDesks) {
	sealer := seal.New(a.key)
	g.sealer.Store(sealer)
	for number := range g.desks {
		ref := desk.Spawn(self, desk.Options{
			Number: number, Desks: g.desks, Node: g.node, Limits: a.limits, Expect: a.expect, Version: g.Version, Sealer: sealer, Registry: g.state.registry, Audit: g.audit,
			Gateway: self.Reference(), Metrics: g.metrics, Log: g.Log,
		})
		self.Next(deskStarted{ref})
	}
}

// startSession spawns a session and hands it the client's first message.
func (g *gateway) startSession(self kernel.Self, a startSession) {
	o := session.Options{
		ID: session.NewID(), Node: g.node, Transport: "http", Opened: a.first.Admitted, Limits: a.limits, Expect: a.expect, Version: g.Version,
		Registry: g.state.registry, Gateway: self.Reference(), Metrics: g.metrics, Budget: g.budget, Audit: g.audit, Log: g.Log,
	}
	switch {
	case a.stdio != nil:
		o.Transport = "stdio"
	case a.first.Stream != nil:
		o.Transport = "sse"
	}
	ref := session.Spawn(self, o)
	self.Next(sessionStarted{ref, a.owner})
	if a.stdio != nil {
		a.stdio <- ref
		return
	}
	if a.first.Stream != nil {
		ref.Tell(message.StreamOpened{Stream: a.first.Stream, Admitted: a.first.Admitted})
		return
	}
	x := a.first.Exchange
	x.SetSession(o.ID)
	ref.Tell(message.Inbound{Exchange: x, Admitted: a.first.Admitted})
}
