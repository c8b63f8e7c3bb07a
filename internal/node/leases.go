package node

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/bus"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// leases decides which servers with run: one this node runs, and which node runs the others. It is safe for concurrent use.
type leases struct {
	node    string
	records bus.Records
	store   *bus.Leases
	changed chan struct{} // capacity 1: the node that runs a server has changed
	log     *slog.Logger

	mu      sync.Mutex
	servers map[string]*oneServer
	cancel  func() // ends the watch; nil = there is none yet
	running sync.WaitGroup
}

// oneServer is a server with run: one. leases.mu guards it.
type oneServer struct {
	lease  *lease
	stop   context.CancelFunc
	holder string // the node that runs the server; "" = unknown or none
	held   *fence // nil = this node does not run it
}

func newLeases(node string, records bus.Records, log *slog.Logger) *leases {
	return &leases{node: node, records: records, store: bus.NewLeases(records, time.Now), changed: make(chan struct{}, 1), log: log, servers: map[string]*oneServer{}}
}

// configure begins to take the leases of new servers, and forgets removed ones. The lease of a removed server expires: the gateway may
// not have ended the server yet.
func (l *leases) configure(servers []config.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := map[string]bool{}
	for i := range servers {
		if s := &servers[i]; s.Run == config.RunOne && s.Fault == "" {
			wanted[s.Name] = true
		}
	}
	for name, s := range l.servers {
		if !wanted[name] {
			s.stop()
			delete(l.servers, name)
		}
	}
	for name := range wanted {
		if l.servers[name] == nil {
			l.add(name)
		}
	}
}

// add begins to take the lease of a server. The caller must hold mu.
func (l *leases) add(name string) {
	if l.cancel == nil {
		if cancel, err := l.records.Watch(leasePrefix+"*", l.saw); err == nil { // without a watch, everything takes a little longer
			l.cancel = cancel
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &oneServer{stop: stop}
	s.lease = &lease{server: name, node: l.node, store: l.store, log: l.log, wake: make(chan struct{}, 1), told: func(holder string, held *fence) { l.told(s, holder, held) }}
	l.servers[name] = s
	l.running.Go(func() { s.lease.run(ctx) })
}

// saw handles a change of a lease's record.
func (l *leases) saw(r bus.Record) {
	l.store.Saw(r)
	l.mu.Lock()
	s := l.servers[strings.TrimPrefix(r.Key, leasePrefix)]
	l.mu.Unlock()
	if s == nil {
		return
	}
	if r.Deleted {
		select {
		case s.lease.wake <- struct{}{}:
		default:
		}
		return
	}
	if holder := bus.HolderOf(r); holder != "" && holder != l.node {
		l.told(s, holder, nil)
	}
}

// told records which node runs a server, and signals changed if that is new. A report about another node is ignored while
// this node holds the lease, because the watch may be late.
func (l *leases) told(s *oneServer, holder string, held *fence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case holder != l.node && holder != "" && s.held != nil && s.held.Held():
		return
	case s.holder == holder && s.held == held:
		return
	}
	s.holder, s.held = holder, held
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// holder returns the node that runs a server, or "" if none is known to. If it is this node, token is the token of its lease.
func (l *leases) holder(name string) (node string, token uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[name]
	if s == nil {
		return "", 0
	}
	if s.held != nil {
		token = s.held.lease.Load().Token
	}
	return s.holder, token
}

// fence returns the fence of a server, as actors.Cluster.Fence.
func (l *leases) fence(name string) upstream.Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.servers[name]; s != nil && s.held != nil {
		return s.held
	}
	return noFence{}
}

// leave makes this node take no lease any more, because it stops soon. It renews those that it has.
func (l *leases) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.servers {
		s.lease.leaving.Store(true)
	}
}

// stop releases all leases. The gateway must have ended all servers before. It blocks for at most about releaseTime.
func (l *leases) stop() {
	l.mu.Lock()
	for _, s := range l.servers {
		s.lease.release.Store(true)
		s.stop()
	}
	l.servers = map[string]*oneServer{}
	if l.cancel != nil {
		l.cancel()
	}
	l.mu.Unlock()
	l.running.Wait()
}
