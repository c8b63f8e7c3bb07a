package relay

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/poll"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// Defaults of Options.
const (
	defaultMaxMessage  = 64 << 20
	defaultMaxRequests = 4096
	defaultMaxStreams  = 10000
)

// Target is a node that serves the sessions of an incarnation.
type Target struct {
	Node    string // its name, which is in its certificate
	Address string // host:port
}

// Options configures a Relay.
type Options struct {
	TLS             func() *tls.Config                           // called for each connection; see cluster.Secrets.TLS
	Resolve         func(incarnation string) (t Target, ok bool) // returns false if there is no such node any more; does not block
	Unreached       func(incarnation string)                     // called when a node cannot be reached, or loses a request: it may be gone; does not block; nil = not called
	MaxMessageBytes int                                          // of a response that is not a stream; 0 means 64 MiB
	MaxRequests     int                                          // concurrent requests; 0 means 4096
	MaxStreams      int                                          // concurrent GET streams; 0 means 10000
	Budget          *stream.Budget                               // counts the responses that are read
	Log             *slog.Logger
}

// Relay passes the requests of clients on to other nodes. It implements actors.Relay. All methods are safe for concurrent
// use.
type Relay struct {
	o      Options
	limits limits
	total  atomic.Uint64 // requests passed on

	mu       sync.Mutex
	pools    map[Target]*pool
	dialed   map[*dialed]struct{} // connections of Dial
	running  map[*passing]struct{}
	requests int // number of those in running that are not streams
	closed   bool
	logged   time.Time // when an unreachable node was last logged

	poller   *poll.Poller        // wakes parked streams; nil = none are watched
	watched  map[uint64]*passing // by number
	numbered uint64              // number of the stream that was watched last
	silence  *time.Timer         // runs while streams are watched
}

// Stats describes a Relay.
type Stats struct {
	Requests, Streams int    // now in progress
	Total             uint64 // requests and streams passed on since the start
}

// New returns a Relay. Call Close to end it.
func New(o Options) *Relay {
	orDefault(&o.MaxMessageBytes, defaultMaxMessage)
	orDefault(&o.MaxRequests, defaultMaxRequests)
	orDefault(&o.MaxStreams, defaultMaxStreams)
	return &Relay{o: o, limits: defaultLimits, pools: map[Target]*pool{}, dialed: map[*dialed]struct{}{}, running: map[*passing]struct{}{}, watched: map[uint64]*passing{}}
}

func orDefault(value *int, standard int) {
	if *value <= 0 {
		*value = standard
	}
}

// Post passes a message on to the node that serves the incarnation. It does not block. If the message was not executed, again
// decides which node handles it; without it, Post answers the client.
func (r *Relay) Post(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	r.exchange(http.MethodPost, incarnation, x, again)
}

// Delete passes the end of a session on, as Post does with a message.
func (r *Relay) Delete(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	r.exchange(http.MethodDelete, incarnation, x, again)
}

func (r *Relay) exchange(verb, incarnation string, x *downstream.Exchange, again cluster.Retry) {
	p := &passing{relay: r, verb: verb, incarnation: incarnation, origin: &x.Origin, x: x, through: x.PassThrough(), again: again}
	if !r.begin(p) {
		return
	}
	x.OnGone(p.leave)
	go p.run()
}

// Open passes a client's stream on, as Post does with a message.
func (r *Relay) Open(incarnation string, s *downstream.EventStream, again cluster.Retry) {
	p := &passing{relay: r, verb: http.MethodGet, incarnation: incarnation, origin: &s.Origin, stream: s, through: s.PassThrough(), again: again}
	if !r.begin(p) {
		return
	}
	s.OnGone(p.leave)
	go p.run()
}

// begin registers a request. If there are too many, it answers the request and returns false.
func (r *Relay) begin(p *passing) bool {
	r.mu.Lock()
	full := r.closed || p.x != nil && r.requests >= r.o.MaxRequests || p.stream != nil && len(r.running)-r.requests >= r.o.MaxStreams
	if !full {
		if r.running[p] = struct{}{}; p.x != nil {
			r.requests++
		}
	}
	r.mu.Unlock()
	if full {
		p.refuse(overloaded)
		return false
	}
	r.total.Add(1)
	return true
}

func (r *Relay) end(p *passing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.running, p); p.x != nil {
		r.requests--
	}
	r.unwatch(p)
}

// pool returns the connections to a node.
func (r *Relay) pool(t Target) *pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pools[t]
	if p == nil {
		p = newPool(t, r.o.TLS)
		p.closed = r.closed
		r.pools[t] = p
	}
	return p
}

// Stats returns the current numbers.
func (r *Relay) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Requests: r.requests, Streams: len(r.running) - r.requests, Total: r.total.Load()}
}

// Lost reports that the node of an incarnation is gone. Requests and streams that were passed on to it end as if it had
// closed its connections.
func (r *Relay) Lost(incarnation string) {
	r.stop(func(p *passing) bool { return p.incarnation == incarnation })
}

// Forget closes the idle connections, and those of Dial, to nodes for which keep returns false.
func (r *Relay) Forget(keep func(Target) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, p := range r.pools {
		if !keep(t) {
			p.close()
			delete(r.pools, t)
		}
	}
	for d := range r.dialed {
		if !keep(d.target) {
			d.cut()
			delete(r.dialed, d)
		}
	}
}

// Close ends everything that is passed on, and closes all connections. Later requests are refused.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(func(*passing) bool { return true })
	r.Forget(func(Target) bool { return false })
}

// stop closes the connections of those running requests for which the function which returns true.
func (r *Relay) stop(which func(*passing) bool) {
	r.mu.Lock()
	var all []*passing
	for p := range r.running {
		if which(p) {
			all = append(all, p)
		}
	}
	r.mu.Unlock()
	for _, p := range all {
		p.interrupt()
	}
}

const logEvery = 10 * time.Second // at most one unreachable node is logged in this time

// warn logs that a node cannot be reached.
func (r *Relay) warn(t Target, err error) {
	r.mu.Lock()
	now := time.Now()
	log := now.Sub(r.logged) >= logEvery
	if log {
		r.logged = now
	}
	r.mu.Unlock()
	if log && r.o.Log != nil {
		r.o.Log.Warn("another node of the cluster cannot be reached", "node", t.Node, "address", t.Address, "err", err)
	}
}
