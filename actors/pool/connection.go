package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// connection is one backend as its pool sees it. A main connection carries the catalog and calls. The leading one
// (replicas.leader) also carries the subscriptions of clients without connections of their own. All others carry the
// calls of one class of clients, further calls of a server with leased connections, or the calls and subscriptions of one
// tenant. If the server has mentioned a resource on another shared connection, that connection carries the shared
// subscription to it.
type connection struct {
	number    int               // unique in the pool, never reused
	replica   int               // index, from 0
	labels    map[string]string // of the replica; read-only
	tenant    *message.Tenant   // the only tenant whose calls it carries; nil = it is shared
	node      string            // the node that has the tenant's connections; "" = this one
	main      bool
	announces message.CapabilitySet // declared to the server; unless it is CanAll, the connection serves only clients with exactly this set
	legacy    bool                  // opened in a legacy era, for legacy clients of a modern server
	ref       kernel.Reference

	backendStatus
	start    startSlot
	attempts attempts
	catalog  replicaCatalog

	inFlight   int       // running calls, without parked and waiting ones
	usedAt     time.Time // when a call or subscription request was last sent on it
	loginTried uint64    // the value of login.logins when the connection was last told to use the login
	lost       bool      // it has returned a call because its connection ended; BackendChanged follows
	retiring   bool      // it is drained when its successor is ready
	leaving    bool      // it takes no new calls
}

// name returns the status.Backend.Name of the connection.
func (c *connection) name() string { return connectionName(c.replica, c.number) }

// backendStatus is what a backend reported last (message.BackendChanged).
type backendStatus struct {
	phase       message.Phase
	reason      string // clients may see it
	lastLine    string // of the process's stderr; never shown to clients
	noLogin     bool   // in phase NeedsLogin: logging in does not help
	since       time.Time
	nextAttempt time.Time
	incarnation uint64
}

// startSlot is the state of a connection's start slot. The gateway limits the number of processes that start at once.
type startSlot struct {
	requested bool // the connection waits for a slot
	hurried   bool // the gateway knows that a client waits for the connection
	granted   bool // the connection has a slot
}

// attempts is the history of a connection's attempts to get ready.
type attempts struct {
	everReady  bool
	everFailed bool
	failing    bool      // the first attempt since the connection was opened, or was last ready, has failed
	failure    string    // why the last attempt failed or the connection was lost; "" when ready; clients may see it
	detail     string    // failure and the most telling line of stderr; never shown to clients
	downSince  time.Time // when it was last ready or, if never, when it was opened; zero = it is ready
	warned     string    // the detail of the last warning in the log, and its time
	warnedAt   time.Time
}

// replicaCatalog holds the lists received on a main connection.
type replicaCatalog struct {
	info    *message.ServerInfo // nil until it is ready
	lists   [protocol.ItemKinds]itemList
	confirm uint64 // key of the confirmation requested from the registry; 0 = none
	visible bool   // clients see the catalog, so the connection counts as ready
}
