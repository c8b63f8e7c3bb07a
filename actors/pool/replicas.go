package pool

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// replicas holds the connections to a server's replicas, and what the pool has learned about each replica.
type replicas struct {
	connections []*connection  // in the order of their numbers
	lastNumber  int            // number of the newest connection
	lastPicked  int            // index of the connection that got the last call, for round robin
	opened      map[int]uint64 // number of main connections so far, by replica; a replacement continues the count
	eras        replicaEras
	tools       toolVariants
}

func newReplicas(known map[string]message.KnownEra) replicas {
	return replicas{
		opened: map[int]uint64{},
		eras:   replicaEras{modern: map[int]bool{}, modernOnly: map[int]bool{}, known: known},
		tools:  toolVariants{deviating: map[int]map[string]bool{}},
	}
}

// add numbers a new connection and appends it. Numbers are never reused.
func (r *replicas) add(conn *connection) {
	r.lastNumber++
	conn.number = r.lastNumber
	r.connections = append(r.connections, conn)
}

// remove forgets a connection whose backend has stopped.
func (r *replicas) remove(conn *connection) {
	r.connections = slices.DeleteFunc(r.connections, func(other *connection) bool { return other == conn })
}

// byNumber returns the connection with that number, or nil if it is gone.
func (r *replicas) byNumber(number int) *connection {
	for _, conn := range r.connections {
		if conn.number == number {
			return conn
		}
	}
	return nil
}

// byBackend returns the connection of a backend, or nil if it is gone.
func (r *replicas) byBackend(ref kernel.Reference) *connection {
	for _, conn := range r.connections {
		if conn.ref == ref {
			return conn
		}
	}
	return nil
}

// leader returns the connection whose catalog clients see and that gets the shared subscriptions: the first replica
// that is ready, or else the first that is syncing. It returns nil if there is none. A retiring connection leads only
// while no other is ready.
func (r *replicas) leader() *connection {
	var ready, syncing *connection
	for _, conn := range r.connections {
		switch {
		case conn.leaving || !conn.main:
		case conn.phase == message.Ready && (ready == nil || conn.leadsBefore(ready)):
			ready = conn
		case conn.phase == message.Syncing && (syncing == nil || conn.replica < syncing.replica):
			syncing = conn
		}
	}
	if ready != nil {
		return ready
	}
	return syncing
}

// hasReadyLeader reports whether the leader is ready.
func (r *replicas) hasReadyLeader() bool {
	l := r.leader()
	return l != nil && l.phase == message.Ready
}

// leadsBefore reports whether conn, rather than other, leads if both are ready.
func (conn *connection) leadsBefore(other *connection) bool {
	if conn.retiring != other.retiring {
		return other.retiring
	}
	return conn.replica < other.replica
}

// readyConnectionOf returns a ready connection of a tenant, or nil if there is none.
func (r *replicas) readyConnectionOf(tenant string) *connection {
	for _, conn := range r.connections {
		if conn.tenant.KeyOf() == tenant && !conn.leaving && !conn.lost && conn.phase == message.Ready {
			return conn
		}
	}
	return nil
}

// hasConnection reports whether a tenant has a connection of its own, in any phase.
func (r *replicas) hasConnection(tenant string) bool {
	return slices.ContainsFunc(r.connections, func(conn *connection) bool { return conn.tenant.KeyOf() == tenant && !conn.leaving })
}

// isRetiring reports whether a main connection to the replica still waits for its successor.
func (r *replicas) isRetiring(replica int) bool {
	for _, conn := range r.connections {
		if conn.replica == replica && conn.main && conn.retiring && !conn.leaving {
			return true
		}
	}
	return false
}

// isStopped reports whether no main connection exists, apart from those that are leaving.
func (r *replicas) isStopped() bool {
	for _, conn := range r.connections {
		if conn.main && !conn.leaving {
			return false
		}
	}
	return true
}

// forget drops what was learned about a replica, because another server takes its place.
func (r *replicas) forget(replica int) {
	delete(r.eras.modern, replica)
	delete(r.eras.modernOnly, replica)
	delete(r.tools.deviating, replica)
}

// stepReplicas handles what backends report about their connections.
func (s *state) stepReplicas(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.BackendChanged:
		return s.backendChanged(now, m, out)
	case spawned:
		return s.spawned(m, out)
	case message.RequestConnect:
		return s.requestConnect(m, out)
	case message.StartSlotGranted:
		return s.startSlotGranted(m, out)
	case message.RootsChanged: // a tenant's connection is notified only about its own client
		return s.broadcastExcept(m, func(conn *connection) bool { return conn.tenant != nil && conn.tenant.Client != m.Client }, out)
	case retireDue:
		return s.retireDue(now, m, out)
	case kernel.ChildStopped:
		return s.childStopped(now, m, out)
	}
	return out
}
