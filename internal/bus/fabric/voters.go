package fabric

import (
	"context"
	"errors"
	"slices"
	"time"

	"goblin-actor/internal/bus"
)

// retryDelay is the time between two attempts to reach the voters' leader.
const retryDelay = 250 * time.Millisecond

// voters are the nodes that keep the records. They have a leader, or choose one, or too few of them are connected.
type voters struct {
	names    []string
	down     bool // see StopVoters
	leader   string
	choosing bool

	ledger  bus.Ledger
	deleted map[string]uint64 // revision in which a record was deleted
	watches []*watch
}

// watch is a watch of a node.
type watch struct {
	node    *Node
	pattern string
	handle  func(bus.Record)
	ended   bool
	told    map[string]uint64 // revision of each record that was last passed to the handler, by key
	due     map[string]bool   // keys of the records that will be passed to the handler
}

// StopVoters makes the records unavailable to all nodes, until StartVoters is called and the voters have a new leader.
func (f *Fabric) StopVoters() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.voters.down, f.voters.leader = true, ""
}

// StartVoters ends StopVoters.
func (f *Fabric) StartVoters() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.voters.down = false
}

// Leader returns the name of the voter that leads the others, or "" if they are choosing one or too few are connected.
func (f *Fabric) Leader() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.leads(f.voters.leader) {
		return ""
	}
	return f.voters.leader
}

// leads reports whether a voter is connected to enough others. The caller must hold mu.
func (f *Fabric) leads(name string) bool {
	n := f.node(name)
	if n == nil || n.stalled || f.voters.down {
		return false
	}
	count := 0
	for _, voter := range f.voters.names {
		if other := f.node(voter); other != nil && !other.stalled && f.isUp(n, other) {
			count++
		}
	}
	return count > len(f.voters.names)/2
}

// available reports whether the node reaches the leader of the voters. If there is no leader, the voters choose one. The
// caller must hold mu.
func (f *Fabric) available(n *Node) bool {
	v := &f.voters
	if f.leads(v.leader) {
		return f.isUp(n, f.node(v.leader))
	}
	if !v.choosing && !v.down {
		v.choosing = true
		f.after(electionMin+f.upTo(electionMore), f.elect)
	}
	return false
}

// elect gives the voters a leader, if enough of them are connected.
func (f *Fabric) elect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := &f.voters
	v.choosing, v.leader = false, ""
	candidates := slices.DeleteFunc(slices.Clone(v.names), func(name string) bool { return !f.leads(name) })
	if len(candidates) > 0 {
		v.leader = candidates[f.rng.IntN(len(candidates))]
	}
}

// Records implements bus.Bus.
func (n *Node) Records() bus.Records {
	if len(n.f.voters.names) == 0 {
		return bus.NoRecords()
	}
	return records{n}
}

type records struct{ n *Node }

// call performs an operation at the voters as soon as they are available, and waits for the result. If ctx ends before, the
// operation may be performed later nevertheless.
func (r records) call(ctx context.Context, operation func()) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	done := make(chan struct{})
	f := r.n.f
	f.mu.Lock()
	closed := r.n.closed
	late := f.rng.IntN(2) == 0
	if !closed {
		f.attempt(ctx, r.n, late, operation, done)
	}
	f.mu.Unlock()
	if closed {
		return bus.ErrClosed
	}
	select {
	case <-done:
		return nil
	case <-r.n.done:
		return bus.ErrClosed
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return bus.ErrNoQuorum
	}
}

// attempt sends an operation to the voters. A late one is still performed after its caller has given up. The caller must
// hold mu.
func (f *Fabric) attempt(ctx context.Context, n *Node, late bool, operation func(), done chan struct{}) {
	f.after(f.delay(), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case n.closed, ctx.Err() != nil && !late:
		case !f.available(n):
			if ctx.Err() == nil || f.rng.IntN(100) > 0 {
				f.after(retryDelay, func() {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.attempt(ctx, n, late, operation, done)
				})
			}
		default:
			operation()
			if f.happens(f.faults.Forgotten) {
				return
			}
			f.after(f.delay(), func() { close(done) })
		}
	})
}

// result is the result of an operation. Its caller may have given up when it is written.
type result struct {
	found    bus.Record
	revision uint64
	err      error
}

// Get implements bus.Records.
func (r records) Get(ctx context.Context, key string) (bus.Record, error) {
	if err := bus.CheckKey(key); err != nil {
		return bus.Record{}, err
	}
	var got result
	if err := r.call(ctx, func() { got.found, got.err = r.n.f.voters.ledger.Get(key) }); err != nil {
		return bus.Record{}, err
	}
	return got.found, got.err
}

// Put implements bus.Records.
func (r records) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	value = slices.Clone(value)
	var got result
	v := &r.n.f.voters
	err := r.call(ctx, func() {
		if got.revision, got.err = v.ledger.Put(key, value, revision); got.err == nil {
			delete(v.deleted, key)
			r.n.f.changed(key)
		}
	})
	if err != nil {
		return 0, err
	}
	return got.revision, got.err
}

// Delete implements bus.Records.
func (r records) Delete(ctx context.Context, key string, revision uint64) error {
	if err := bus.CheckKey(key); err != nil {
		return err
	}
	var got result
	v := &r.n.f.voters
	err := r.call(ctx, func() {
		if got.revision, got.err = v.ledger.Delete(key, revision); got.revision > 0 {
			v.deleted[key] = got.revision
			r.n.f.changed(key)
		}
	})
	if err != nil {
		return err
	}
	return got.err
}

// Watch implements bus.Records. handle is called by the fabric's scheduler and must not block.
func (r records) Watch(pattern string, handle func(bus.Record)) (func(), error) {
	if err := bus.CheckSubject(pattern, true); err != nil {
		return nil, err
	}
	f := r.n.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.n.closed {
		return nil, bus.ErrClosed
	}
	w := &watch{node: r.n, pattern: pattern, handle: handle, told: map[string]uint64{}, due: map[string]bool{}}
	f.voters.watches = append(f.voters.watches, w)
	for _, found := range f.voters.ledger.Matching(pattern) {
		f.tell(w, found.Key)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		w.ended = true
		f.voters.watches = slices.DeleteFunc(f.voters.watches, func(other *watch) bool { return other == w })
	}, nil
}

// changed tells the watches that a record has changed. The caller must hold mu.
func (f *Fabric) changed(key string) {
	f.voters.watches = slices.DeleteFunc(f.voters.watches, func(w *watch) bool { return w.node.closed })
	for _, w := range f.voters.watches {
		if bus.Matches(w.pattern, key) {
			f.tell(w, key)
		}
	}
}

// tell tells a watch of the newest state of a record, after a while. The caller must hold mu.
func (f *Fabric) tell(w *watch, key string) {
	if w.due[key] {
		return
	}
	w.due[key] = true
	f.tellAfter(w, key, f.upTo(max(usualDelay, f.faults.Lag)))
}

// tellAfter is tell after d. The caller must hold mu.
func (f *Fabric) tellAfter(w *watch, key string, d time.Duration) {
	f.after(d, func() {
		f.mu.Lock()
		switch {
		case w.ended || w.node.closed:
			f.mu.Unlock()
			return
		case w.node.stalled || !f.available(w.node):
			f.tellAfter(w, key, retryDelay)
			f.mu.Unlock()
			return
		}
		delete(w.due, key)
		now, err := f.voters.ledger.Get(key)
		if err != nil {
			now = bus.Record{Key: key, Revision: f.voters.deleted[key], Deleted: true}
		}
		if now.Revision <= w.told[key] {
			f.mu.Unlock()
			return
		}
		w.told[key] = now.Revision
		f.mu.Unlock()
		w.handle(now)
	})
}
