package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/backend"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/embedded"
)

// Options configures a pool.
type Options struct {
	Server   config.Server
	Node     string // names this gateway to other gateways
	Limits   config.Limits
	Registry kernel.Reference
	Gateway  kernel.Reference            // grants start slots, remembers catalogs, and forwards log messages that belong to no call
	Store    kernel.Reference            // stores the eras of replicas
	Eras     map[string]message.KnownEra // remembered eras, by identity of the replica; read-only
	Known    *message.KnownCatalog       // the server's last known catalog; nil = none
	Budget   *stream.Budget
	Links    *backend.Links
	Metrics  *status.ServerMetrics
	Log      *slog.Logger
	Seed     uint64                        // for the jitter of backoffs
	Open     Opener                        // nil = processes and URLs
	Embedded func(uint64) embedded.Options // returns the embedded server with the number in config.Server.Embedded; nil = there are none
	Logins   Logins                        // nil = the gateway does not log in to servers
	LoginURL func(message.LoginKey) string // returns the URL of the login page; nil or "" = there is none
	Secrets  *secret.Redactor              // secrets to remove from logs and errors; nil = none
	Hops     Hops                          // how to reach a server that another node of the cluster runs
}

// Opener returns a function that opens a connection to one replica of a server, and the connection's kind (stdio,
// embedded, http, sse).
type Opener func(server config.Server, replica int) (open func(upstream.Sink) upstream.Link, kind string)

// Logins starts the actor of a login as a child of the pool. The actor reports changes with message.LoginChanged.
type Logins func(pool kernel.Self, entry config.Server, key message.LoginKey) Login

// Login is the actor of a login and its current credentials.
type Login struct {
	Actor       kernel.Reference
	Credentials upstream.Credentials
}

// mailbox is the maximum number of waiting messages. Calls wait in the pool's own queue; the mailbox only absorbs
// bursts.
const mailbox = 4096

// Spawn starts a pool as a child of the gateway. It is restarted after up to ten panics within a minute. The next panic
// stops it for good.
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

// pool is the actor's shell. It executes the effects of step.
type pool struct {
	Options
	state *state
	known map[message.LoginKey]Login // login actors that run
}

func (p *pool) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	out = step(p.state, now, p.redact(msg), out)
	p.Metrics.SetLoad(len(p.state.calls.running)-p.state.calls.parked-p.state.calls.waiting, p.state.calls.queue.len())
	return out
}

type (
	// spawn starts a backend. Its number makes the actor's name unique during the pool's life.
	spawn struct {
		server   config.Server // settings of the backend
		entry    config.Server // how it is reached: the server, or the member of a group
		own      int           // index of the replica within the entry
		member   string        // the entry's name in a group; "" = not a group
		replica  int
		number   int
		announce message.CapabilitySet
		catalog  bool
		legacy   bool // only the legacy era is used
		known    message.KnownEra
		login    message.LoginKey // Entry "" = the gateway does not log in there
		whose    string           // the only client or principal that it serves, for operators; "" = several
		before   uint64           // number of main connections that this replica has had; 0 for a connection that is not main
	}
	waited struct{ d time.Duration } // a call left the queue after d
	traced struct {                  // a connection gets a sampled call
		trace *trace.Request
		now   time.Time
		wait  time.Duration
	}
	retried struct { // a connection has not executed a sampled call
		trace  *trace.Request
		now    time.Time
		reason string
	}
)

// graceOver reports that a subscription may have been unused for the whole grace period.
type graceOver struct{ key subKey }

// retryDue reports that the pause before the next attempt to subscribe is over.
type retryDue struct{}

// queueExpired reports that the earliest deadline in the queue may have passed.
type queueExpired struct{ timer uint64 }

// spawned reports that a connection's backend has been spawned.
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
	case traced:
		a.trace.Sent(a.now, a.wait)
	case retried:
		a.trace.Retry(a.now, a.reason)
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
