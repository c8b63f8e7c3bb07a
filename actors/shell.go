package actors

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
	"goblin-actor/actors/pool"
	"goblin-actor/actors/registry"
	"goblin-actor/actors/session"
	"goblin-actor/actors/stateless"
	"goblin-actor/actors/store"
	"goblin-actor/actors/subscription"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/seal"
)

// gateway performs the effects of the gateway actor's steps. Most of them spawn children of the actor.
type gateway struct {
	Options
	*Gateway
	state *state
}

func (g *gateway) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if ended, ok := msg.(kernel.ChildStopped); ok {
		if server, ok := strings.CutPrefix(ended.Child.Name(), "gateway/pool/"); ok {
			g.metrics.Server(server).Serve(false)
		}
	}
	return step(g.state, now, msg, out)
}

type (
	startStore    struct{}
	startRegistry struct {
		naming   catalog.Naming
		projects []config.Project
		expect   int // servers to wait for before clients receive a catalog
	}
	startMeta struct{}
	startPool struct {
		server config.Server
		limits config.Limits
		eras   map[string]message.KnownEra
		known  *message.KnownCatalog
	}
	startStateless struct {
		limits config.Limits
		expect int // servers to wait for
		key    message.SealingKey
	}
	startStream struct {
		open          message.OpenSubscription
		owner         owner
		subscriptions int
		number        uint64
		expect        int // servers to wait for
	}
	refuseStream struct {
		open message.OpenSubscription
		why  *protocol.Fault
	}
	stopChild    struct{ child kernel.Reference }
	startSession struct {
		first  message.OpenSession // the client's initialize request or stream; neither of them for stdio
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

// Messages from the shell to the state about spawned children. They are handled before any other message, in particular before
// the child's ChildStopped.
type (
	storeStarted    struct{ ref kernel.Reference }
	registryStarted struct{ ref kernel.Reference }
	metaStarted     struct{ ref kernel.Reference }
	poolStarted     struct {
		server string
		ref    kernel.Reference
	}
	sessionStarted struct {
		ref           kernel.Reference
		owner         owner
		subscriptions int
	}
	statelessStarted struct{ ref kernel.Reference }
)

func (g *gateway) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case startSession:
		g.startSession(self, a)
	case answerNote, noteKept, passNote, answerEnded, refuseEnded, endUnopened, tellEnded, answerCatalog, catalogsSeen:
		g.noteAct(self, a)
	case refuseSession:
		g.refuseSession(a)
	case startStore:
		self.Next(storeStarted{store.Spawn(self, store.Options{Path: g.State, Master: g.Master, Gateway: self.Reference(), Log: g.Log})})
	case startRegistry:
		o := registry.Options{Naming: a.naming, Projects: a.projects, Changes: g.changes, Expect: a.expect, Nodes: g.membership, Log: g.Log}
		self.Next(registryStarted{registry.Spawn(self, o)})
	case startMeta:
		ref := meta.Spawn(self, meta.Options{Registry: g.state.registry, Monitor: g.monitor, Log: g.Log})
		g.subscribe(ref)
		self.Next(metaStarted{ref})
	case startPool:
		g.metrics.Server(a.server.Name).Serve(true)
		ref := pool.Spawn(self, pool.Options{
			Server: a.server, Node: g.node, Limits: a.limits, Registry: g.state.registry, Gateway: self.Reference(), Store: g.state.store, Eras: a.eras, Known: a.known,
			Budget: g.budget, Links: g.links,
			Metrics: g.metrics.Server(a.server.Name), Log: g.Log.With("server", a.server.Name), Seed: seed(), Open: g.Open, Embedded: g.Embedded,
			Logins: g.loginsFor(self), LoginURL: g.LoginURL, Secrets: g.Secrets, Hops: g.poolHops(),
		})
		self.Next(poolStarted{a.server.Name, ref})
	case startStateless:
		g.startStateless(self, a)
	case startStream:
		ref := subscription.Spawn(self, subscription.Options{
			Name: strconv.FormatUint(a.number, 10), Exchange: a.open.Exchange, Admitted: a.open.Admitted, Expect: a.expect, PassOn: a.open.PassOn,
			Sealer: g.sealer.Load(), Registry: g.state.registry, Log: g.Log,
		})
		self.Next(sessionStarted{ref, a.owner, a.subscriptions})
	case refuseStream:
		a.open.Refuse(a.why)
	case stopChild:
		self.StopChild(a.child)
	case closeDone:
		close(a.done)
	case findInherited, findLogins, rememberToken, resealLogins, abandonLogin:
		g.storedLoginAct(self, a)
	case applyAudit, auditMarkLoaded, auditReloaded, tellCheckpoint:
		g.auditAct(self, a)
	case permitPayloads:
		g.payloads.keeper.Tell(a.change)
	case admitTo:
		g.admitTo(a.projects)
	case admitLocal:
		g.changePrincipals(setLocal(a.policy))
	}
}

// seed returns a random seed for jitter.
func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

// startStateless spawns the stateless sessions.
func (g *gateway) startStateless(self kernel.Self, a startStateless) {
	sealer := seal.New(a.key)
	if g.cluster != nil {
		sealer = seal.NewShared(clusterKeys{g.cluster})
	}
	g.sealer.Store(sealer)
	for number := range g.statelessCount {
		ref := stateless.Spawn(self, stateless.Options{
			Number: number, Count: g.statelessCount, Node: g.node, Limits: a.limits, Expect: a.expect, Sealer: sealer, Registry: g.state.registry, Audit: g.audit,
			Gateway: self.Reference(), Metrics: g.metrics, Payloads: g.payloads.gate, Log: g.Log,
		})
		g.subscribe(ref)
		self.Next(statelessStarted{ref})
	}
}

// subscribe subscribes a child to the catalog. It then receives each catalog before the actors that are spawned later. The order
// matters because a client may learn of a change from one actor and send its next request to another.
func (g *gateway) subscribe(ref kernel.Reference) {
	g.state.registry.Tell(message.Subscribe{From: ref})
}

// refuseSession tells a client why it gets no session. If only a guest of its session finds no room, the session's home serves the
// request.
func (g *gateway) refuseSession(a refuseSession) {
	if x := a.open.Exchange; a.open.Facts != nil && x != nil && (a.why.Name == protocol.Overloaded || a.why.Name == protocol.ShuttingDown) {
		e := elsewhere{g.Gateway, a.open.Attempts + 1}
		if home := e.home(x.Origin.SessionID); home != "" && !x.Origin.Relayed {
			e.relay(home, x, a.open.Admitted)
			return
		}
	}
	a.open.Refuse(a.why)
}

// continueSession passes a request of a session that another node has opened to the session's actor on this node.
func (g *gateway) continueSession(ref kernel.Reference, m *message.OpenSession) {
	again := elsewhere{g.Gateway, m.Attempts + 1}
	if m.Stream != nil {
		ref.Tell(message.ClusterStream{StreamOpened: message.StreamOpened{Stream: m.Stream, Admitted: m.Admitted}, Elsewhere: again})
		return
	}
	ref.Tell(message.ClusterInbound{Inbound: message.Inbound{Exchange: m.Exchange, Admitted: m.Admitted}, Elsewhere: again})
}

// startSession spawns a session and passes it the client's first message.
func (g *gateway) startSession(self kernel.Self, a startSession) {
	if a.first.Facts != nil {
		if ref, ok := g.system.Lookup(session.FullName(a.first.SessionID())); ok { // an earlier request has started it
			self.Next(sessionStarted{kernel.Reference{}, a.owner, 0})
			g.continueSession(ref, &a.first)
			return
		}
	}
	id, err := g.sessionID(&a)
	if err != nil {
		self.Next(sessionStarted{kernel.Reference{}, a.owner, 0})
		a.first.Refuse(&protocol.Fault{Name: protocol.InvalidRequest, Message: err.Error()})
		return
	}
	o := session.Options{
		ID: id, Node: g.node, Cluster: g.cluster.incarnation(), Facts: a.first.Facts, Used: &g.guestNumbers, Nodes: g.membership, Home: g.askHome(), Transport: "http", Opened: a.first.Admitted, Limits: a.limits, Expect: a.expect,
		Registry: g.state.registry, Gateway: self.Reference(), Metrics: g.metrics, Payloads: g.payloads.gate, Budget: g.budget, Audit: g.audit, Log: g.Log,
	}
	switch {
	case a.stdio != nil:
		o.Transport = "stdio"
	case a.first.Facts == nil && a.first.Stream != nil:
		o.Transport = "sse"
	}
	if g.cluster != nil && g.cluster.movable(id) {
		o.Members, o.Elsewhere = g.cluster.Members, elsewhere{Gateway: g.Gateway}
		if g.cluster.Bus != nil {
			o.SendNote = g.sendNote
		}
	}
	ref := session.Spawn(self, o)
	self.Next(sessionStarted{ref, a.owner, 0})
	if a.stdio != nil {
		a.stdio <- ref
		return
	}
	if a.first.Facts != nil {
		g.continueSession(ref, &a.first)
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

// storedLoginAct executes an effect that is about logins in the state file or in the records of the cluster.
func (g *gateway) storedLoginAct(self kernel.Self, act any) {
	switch a := act.(type) {
	case findInherited:
		if who := g.logins.inherited(a.newest); len(who) > 0 {
			self.Next(message.EndLogins{Who: who, Stored: g.logins.ofHolders(who)})
		}
	case findLogins:
		self.Next(message.EndLogins{Who: a.who, Stored: append(g.logins.ofHolders(a.who), g.logins.shared.ofHolders(g.state.config.Servers, a.who)...)})
	case rememberToken:
		g.logins.remember(a.key, a.value)
	case resealLogins:
		g.logins.shared.reseal()
	case abandonLogin:
		a.do()
	}
}
