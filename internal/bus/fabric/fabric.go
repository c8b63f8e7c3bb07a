package fabric

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"goblin-actor/internal/bus"
)

// Timing of the simulated network. The numbers are those of the real one.
const (
	usualDelay    = 3 * time.Millisecond
	interestDelay = 5 * time.Millisecond    // until the other nodes know that a subscription has begun or ended
	connectDelay  = 250 * time.Millisecond  // of a node that joins
	repairDelay   = time.Second             // until a broken connection is made again
	silenceMin    = time.Second             // without messages in one direction, a connection breaks after this time
	silenceMore   = 600 * time.Millisecond  // … and up to this much later
	electionMin   = 4200 * time.Millisecond // until the voters have another leader
	electionMore  = 4400 * time.Millisecond // … and up to this much later
	maxQueued     = 1024                    // messages in one direction of a connection
)

// Options describe a fabric.
type Options struct {
	// After calls run after d, on a goroutine of its choice. It may call the functions in any order.
	After  func(d time.Duration, run func())
	Rand   *rand.Rand // used by the fabric only
	Voters []string   // names of the nodes that keep the records; nil = there are no records
}

// Faults are the random faults of the network. The zero value has none.
type Faults struct {
	Lost      int           // messages per thousand
	Reordered int           // messages per thousand that are overtaken by the next one
	Slow      time.Duration // longest delay of a message, if longer than usual
	Forgotten int           // answers of voters per thousand that are lost, after the change was made
	Lag       time.Duration // longest delay of a change for watches
}

// Fabric connects simulated nodes. Its methods are safe for concurrent use.
type Fabric struct {
	after func(time.Duration, func())
	turn  sync.Mutex // held while a handler runs: one handler runs at a time

	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	nodes  []*Node // living ones, in the order in which they joined
	links  map[[2]string]*link
	voters voters
}

// New returns a fabric without nodes.
func New(o Options) *Fabric {
	f := &Fabric{rng: o.Rand, links: map[[2]string]*link{}, voters: voters{names: o.Voters, deleted: map[string]uint64{}}}
	f.after = func(d time.Duration, run func()) {
		o.After(d, func() {
			f.turn.Lock()
			defer f.turn.Unlock()
			run()
		})
	}
	return f
}

// Join starts a node and returns its bus. A node with this name must not be alive.
func (f *Fabric) Join(name string) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := &Node{f: f, name: name, done: make(chan struct{})}
	for _, other := range f.nodes {
		f.repair(n, other, connectDelay)
	}
	f.nodes = append(f.nodes, n)
	return n
}

// SetFaults replaces the random faults.
func (f *Fabric) SetFaults(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// Cut stops messages from one node to another, also for nodes with these names that join later.
func (f *Fabric) Cut(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.link(from, to); !l.cut && from != to {
		l.cut = true
		f.breakLater(l)
	}
}

// Heal ends Cut.
func (f *Fabric) Heal(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.link(from, to)
	if !l.cut {
		return
	}
	l.cut = false
	f.recover(l)
}

// recover lets messages arrive that were held up, and connects the nodes again. The caller must hold mu.
func (f *Fabric) recover(l *link) {
	f.release(l)
	if a, b := f.node(l.from), f.node(l.to); a != nil && b != nil && !l.up {
		f.repair(a, b, repairDelay)
	}
}

// Stall stops a node as SIGSTOP does: messages to it wait. The caller must stop everything else that the node does.
func (f *Fabric) Stall(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(name)
	if n == nil || n.stalled {
		return
	}
	n.stalled = true
	for _, other := range f.nodes {
		if other != n {
			f.breakLater(f.link(other.name, name))
		}
	}
}

// Resume ends Stall.
func (f *Fabric) Resume(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(name)
	if n == nil || !n.stalled {
		return
	}
	n.stalled = false
	for _, other := range f.nodes {
		f.recover(f.link(other.name, name))
	}
}

// Kill ends a node at once. The others notice that immediately: their connections to it break.
func (f *Fabric) Kill(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.node(name); n != nil {
		f.remove(n)
	}
}

// remove ends a node. The caller must hold mu.
func (f *Fabric) remove(n *Node) {
	for _, other := range f.nodes {
		f.link(n.name, other.name).lose()
		f.link(other.name, n.name).lose()
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(other *Node) bool { return other == n })
	n.closed = true
	close(n.done)
}

// node returns the living node with that name, or nil. The caller must hold mu.
func (f *Fabric) node(name string) *Node {
	for _, n := range f.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// upTo returns a random time of at most d. The caller must hold mu.
func (f *Fabric) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(f.rng.Int64N(int64(d) + 1))
}

// happens reports whether a random fault happens. The caller must hold mu.
func (f *Fabric) happens(perThousand int) bool {
	return perThousand > 0 && f.rng.IntN(1000) < perThousand
}

// delay returns how long a message is on its way. The caller must hold mu.
func (f *Fabric) delay() time.Duration { return f.upTo(max(usualDelay, f.faults.Slow)) }

var _ bus.Bus = (*Node)(nil)
