package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// state is a pool's entire state. Only step modifies it. Each component owns its fields and keeps them consistent.
// Methods of state coordinate the components.
type state struct {
	server   config.Server
	limits   config.Limits
	fault    string // the configuration error that keeps the server from being started; "" if there is none
	registry kernel.Reference
	gateway  kernel.Reference
	store    kernel.Reference
	self     kernel.Reference
	life     uint64    // counts the starts of the actor, from 1
	now      time.Time // time of the current step
	lastKey  uint64    // last key given to a query or to a login elicitation

	replicas      replicas
	calls         calls
	subscriptions subscriptions
	logins        logins
	tenants       tenants
	catalog       catalogMemory
	idle          idleStop
	lastError     lastError

	settled bool // the first start is over: every replica has been ready, or has failed, at least once, or the server is lazy or misconfigured
	failed  bool // the first attempts of all replicas failed, or the server is misconfigured or a backend has stopped for good
}

func newState(o Options, self kernel.Reference, life uint64) *state {
	return &state{
		server: o.Server, limits: o.Limits, fault: o.Server.Fault,
		registry: o.Registry, gateway: o.Gateway, store: o.Store, self: self, life: life,
		replicas:      newReplicas(knownEras(o)),
		calls:         calls{running: map[message.CallRef]*run{}},
		subscriptions: newSubscriptions(),
		logins:        newLogins(loginURLOf(o)),
		tenants:       tenants{byKey: map[string]*tenant{}, nodes: o.Hops.view(), membership: o.Hops.Nodes},
		catalog:       catalogMemory{remembered: newRemembered(o)},
	}
}
