package sim

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"testing/synctest"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/bus"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/upstream"
)

// node is one gateway of a story, with what the story knows of it. All nodes have the same configuration and the same
// servers: each starts its own processes, and all reach the same HTTP servers.
type node struct {
	w         *world
	number    int
	name      string // "" = the only gateway of its story
	scheduler *nodeScheduler
	gateway   *actors.Gateway

	members   *cluster.Members // what the node knows of its cluster; nil = it runs alone
	bus       bus.Bus          // nil = the members are fixed
	stateFile string           // path; "" = none
	dead      bool             // it was killed, and not started again
	process   int              // number of processes that have ended

	watchers     []*watcher
	recorded     map[string]time.Time // by the name of a recorded actor: when its recording must end
	recordedPool string               // name of the pool whose server is recorded; "" = none
	keeping      map[string]time.Time // by server: when its payloads must be discarded
}

// addNode adds a gateway, which is not started yet.
func (w *world) addNode(name string) {
	n := &node{w: w, number: len(w.nodes), name: name, scheduler: w.scheduler.addNode()}
	if w.p.StateFile {
		n.stateFile = filepath.Join(w.t.TempDir(), "state.db")
	}
	w.nodes = append(w.nodes, n)
}

// start starts the gateway with the current configuration.
func (n *node) start() {
	cfg := n.w.config
	g, err := actors.Start(&cfg, actors.Options{
		Version: "simulated", Log: slog.New(slog.NewTextHandler(logWriter{n.w}, nil)), Scheduler: n.scheduler, StatelessSessions: statelessActors,
		State: n.stateFile, Open: n.open, Cluster: n.cluster(),
	})
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.gateway, n.dead, n.keeping = g, false, nil // no payloads are kept over a restart
}

// open returns the function that connects the node to a server, and the transport.
func (n *node) open(c config.Server, _ int) (open func(upstream.Sink) upstream.Link, kind string) {
	for _, s := range n.w.servers {
		if s.name == c.Name || s.name == c.Group {
			kind := "stdio"
			if s.http {
				kind = "http"
			}
			return func(sink upstream.Sink) upstream.Link { return s.open(n, sink, c.Headers[forwardedHeader]) }, kind
		}
	}
	panic("no server " + c.Name)
}

// violated records that the node violated an invariant.
func (n *node) violated(format string, args ...any) {
	if n.name != "" {
		format = n.name + ": " + format
	}
	n.w.violated(format, args...)
}

// outside calls do on a goroutine of its own, and runs the scheduler until do has returned.
func (w *world) outside(do func(ctx context.Context)) {
	done := false
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		do(ctx)
		done = true
		w.scheduler.wake()
	}()
	w.scheduler.run(time.Now().Add(2*time.Minute), func() bool { return done })
	synctest.Wait()
}

// status returns the gateway's status.
func (n *node) status() (s *status.Snapshot) {
	n.w.outside(func(ctx context.Context) { s, _ = n.gateway.Status(ctx) })
	if s == nil {
		n.violated("the gateway returned no status")
		return &status.Snapshot{}
	}
	return s
}

// stop stops the gateway and returns how long that took.
func (n *node) stop() time.Duration { return n.stopWithin(10 * time.Second) }

// stopWithin is stop with that time for running calls.
func (n *node) stopWithin(drain time.Duration) time.Duration {
	began := time.Now()
	n.w.outside(func(ctx context.Context) {
		if err := n.gateway.Stop(ctx, drain); err != nil {
			n.violated("stop: %v; left: %v", err, n.gateway.Mailboxes())
		}
		if n.bus != nil {
			n.bus.Close()
		}
	})
	took := time.Since(began)
	if n.process++; n.w.transport != nil {
		n.w.transport.cut(n)
	}
	n.w.advance(time.Second)
	return took
}

// occupy keeps the actors whose full names match the pattern from getting turns for a while.
func (w *world) occupy(pattern string, d time.Duration) {
	for _, n := range w.nodes {
		for _, m := range n.gateway.Mailboxes() {
			if matched, _ := path.Match(pattern, m.Name); matched {
				n.scheduler.occupy(m.Name, d)
			}
		}
	}
}

// String returns how traces name the node.
func (n *node) String() string { return n.name }

// nodeName returns the name of a cluster's node.
func nodeName(i int) string { return fmt.Sprintf("n%d", i) }
