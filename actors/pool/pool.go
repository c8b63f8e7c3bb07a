package pool

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/backend"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// Options say which server a pool is.
type Options struct {
	Server   config.Server
	Node     string // names this gateway to other gateways
	Limits   config.Limits
	Registry kernel.Reference
	Gateway  kernel.Reference            // who passes on log lines that belong to no call
	Store    kernel.Reference            // remembers the eras of replicas
	Eras     map[string]message.KnownEra // what is remembered, by identity of the replicas; immutable
	Known    *message.KnownCatalog       // what the server offered when it was last asked; nil = never
	Budget   *stream.Budget
	Links    *backend.Links
	Metrics  *status.ServerMetrics
	Log      *slog.Logger
	Seed     uint64                        // of the backoffs' jitter
	Open     Opener                        // nil = processes and URLs
	Logins   Logins                        // nil = what the server needs to know of us stands in its headers
	LoginURL func(message.LoginKey) string // where a person logs in; "" or nil = nowhere
	Secrets  *secret.Redactor              // what people are not to be shown
}

// Opener returns how to open a connection to one replica of a server, and what kind of connection it is (stdio, http, sse).
type Opener func(server config.Server, replica int) (open func(upstream.Sink) upstream.Link, kind string)

// Logins starts the actor of a login under the pool, which tells the pool with message.LoginChanged what becomes of it.
type Logins func(pool kernel.Self, entry config.Server, key message.LoginKey) Login

// Login is a login's actor, and the credentials that it has now.
type Login struct {
	Actor       kernel.Reference
	Credentials upstream.Credentials
}

// mailbox is how many messages may wait. The queue of calls is the pool's own; this only absorbs bursts.
const mailbox = 4096

// Spawn starts the pool under the gateway. Ten panics in a minute stop it for good.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: "pool/" + o.Server.Name, Kind: "pool", Mailbox: mailbox, Restarts: 10, Within: time.Minute, Log: o.Log}
	life, known := uint64(0), newRemembered(o)
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		life++
		o.Server, o.Limits = known.server, known.limits
		s := newState(o, self.Reference(), life)
		s.catalog.remembered = known
		return &pool{Options: o, state: s, known: map[message.LoginKey]Login{}}
	})
}

// pool is the shell: it carries out what step wants done.
type pool struct {
	Options
	state *state
	known map[message.LoginKey]Login // those that were wanted; as many as a pool has lanes
}

func (p *pool) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(p.state, now, p.redact(msg), out)
}

type (
	// spawn starts a backend; its number makes its name unique for the pool's life.
	spawn struct {
		server   config.Server // what it goes by
		entry    config.Server // how it is reached: the server, or the member of a group
		own      int           // which of the entry's replicas it is
		member   string        // the entry's name, in a group
		replica  int
		number   int
		announce message.CapabilitySet
		catalog  bool
		legacy   bool // it is spoken to in a legacy era only
		known    message.KnownEra
		login    message.LoginKey // Entry "" = it uses none of ours
		before   uint64           // connections that this replica has had
	}
	waited struct{ d time.Duration } // a call left the queue after d
)

// unsubscribeDue: a resource may have lost its last subscriber for long enough.
type graceOver struct{ key subKey }

// askAgain: a server that has refused subscriptions had a pause.
type retryDue struct{}

// queueExpired: the oldest queued call may have waited too long.
type queueExpired struct{ timer uint64 }

// spawned: the backend of a slot runs.
type spawned struct {
	number int
	ref    kernel.Reference
}

func (p *pool) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case spawn:
		p.spawn(self, a)
	case waited:
		p.Metrics.QueueWait(a.d.Seconds())
	case askLogin:
		p.askLogin(self, a)
	case failLogin:
		p.failLogin(a)
	case toLogin:
		p.toLogin(self, a)
	case endLogin:
		p.endLogin(self, a)
	case revokeLogin:
		p.revokeLogin(self, a)
	case refuseLogin:
		a.want.Refuse(a.err)
	}
}

// logOf names the connection in what is logged of it.
func logOf(log *slog.Logger, a spawn) *slog.Logger {
	if a.member != "" {
		return log.With("replica", a.replica, "member", a.member)
	}
	return log.With("replica", a.replica)
}

// spawn starts a backend as a child; the state learns its reference before anything the backend says.
func (p *pool) spawn(self kernel.Self, a spawn) {
	name := fmt.Sprintf("backend/%d.%d", a.replica, a.number)
	opener := p.Open
	if opener == nil {
		opener = p.openAs(p.credentials(self, a))
	}
	open, transport := opener(a.entry, a.own)
	ref := backend.Spawn(self, name, backend.Options{
		Server: a.server, Node: p.Node, Replica: a.replica, Member: a.member, Pool: self.Reference(), Open: p.redactEvents(open), Transport: transport, Links: p.Links,
		Announce: a.announce, Catalog: a.catalog, Legacy: a.legacy, Metrics: p.Metrics, Known: a.known, Before: a.before,
		Log: logOf(p.Log, a), Seed: p.Seed + uint64(a.number),
	})
	self.Next(spawned{a.number, ref})
}
