package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/bus/fabric"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/tests/sim/pipeclient"
)

// transport carries requests and their responses between nodes.
type transport struct {
	w       *world
	rng     *rand.Rand
	secrets *cluster.Secrets // of the cluster
	foreign *cluster.Secrets // of another cluster
	fabric  *fabric.Fabric   // the bus

	routes map[any]*route // open ones, by the *downstream.Exchange or *downstream.EventStream at the node that received the request
	passed map[any]*route // open ones that were passed on, by the same at the other node

	created int            // routes so far
	left    map[any]bool   // requests whose client has left, or whose node has ended
	revoked map[string]int // by the id of a principal: its requests that arrived at a node after it was revoked
}

func newTransport(w *world) *transport {
	newSecrets := func() *cluster.Secrets {
		secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
		if err != nil {
			w.t.Fatal(err)
		}
		return secrets
	}
	t := &transport{w: w, rng: rand.New(rand.NewPCG(w.p.Seed, 10)), secrets: newSecrets(), foreign: newSecrets(), routes: map[any]*route{}, passed: map[any]*route{}, revoked: map[string]int{}, left: map[any]bool{}}
	t.fabric = fabric.New(fabric.Options{After: w.scheduler.After, Rand: rand.New(rand.NewPCG(w.p.Seed, 13))})
	return t
}

// maxDelay limits how long a message from one node to another takes.
const maxDelay = 500 * time.Millisecond

// delay returns how long a message from one node to another takes.
func (t *transport) delay() time.Duration {
	if t.w.calm || t.rng.IntN(10) > 0 {
		return time.Duration(t.rng.IntN(3)) * time.Millisecond
	}
	return time.Duration(t.rng.IntN(int(maxDelay/time.Millisecond))) * time.Millisecond
}

// noteRevoked counts a request that another node has passed on if its principal was revoked meanwhile.
func (t *transport) noteRevoked(x any) {
	if who := principalOf(x); who != nil && t.w.revoked[who.Name] {
		t.revoked[who.ID]++
	}
}

// principalOf returns the principal of a request, or nil if it has none.
func principalOf(x any) *identity.Principal {
	switch x := x.(type) {
	case *downstream.Exchange:
		return x.Origin.Principal
	case *downstream.EventStream:
		return x.Origin.Principal
	}
	return nil
}

// misdirect returns the node that gets a request although it is for another one, or nil if the request arrives where it must.
func (t *transport) misdirect(to *node) *node {
	if t.w.calm || t.rng.IntN(100) >= t.w.p.Faults/10 {
		return nil
	}
	t.w.count("a misdirected request between nodes")
	others := slices.DeleteFunc(slices.Clone(t.w.nodes), func(n *node) bool { return n == to })
	return others[t.rng.IntN(len(others))]
}

// checkRest checks that nodes have passed on nothing but streams, each of which its client still reads. No client may have another
// request in progress.
func (t *transport) checkRest(when string) {
	reading := map[*route]bool{}
	for _, c := range t.w.clients {
		for x := range c.reading {
			if st, ok := x.(*pipeclient.Stream); ok {
				reading[routeOf(st.Response)] = true
			}
		}
	}
	open := 0
	for _, r := range t.passed {
		if !reading[r] {
			open++
		}
	}
	if open > 0 {
		t.w.violated("%s: %d requests that a node has passed on to another have not ended", when, open)
	}
}

// cut ends what the node has passed on, because its process has ended.
func (t *transport) cut(from *node) {
	var cut []*route
	for _, r := range t.routes {
		if r.from == from && r.to != nil {
			cut = append(cut, r)
		}
	}
	slices.SortFunc(cut, func(a, b *route) int { return a.order - b.order })
	for _, r := range cut {
		t.w.count("a request passed on by a node that ended")
		r.cut()
	}
}

// relay implements actors.Relay for one process of a node.
type relay struct {
	from    *node
	process int
}

// Post implements actors.Relay.
func (r relay) Post(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	raw := slices.Clone(x.Frame.Raw)
	r.from.w.transport.pass(r, incarnation, x, x.Frame.MethodText(), func(to *node, carrier downstream.Connection) (any, pipeclient.Response, func()) {
		second := downstream.NewResponse(x.Origin, carrier, to.gateway.Budget(), clientBuffer)
		if refused := second.Receive(raw); refused != nil {
			return &second.Exchange, &refusedResponse{*refused}, func() {}
		}
		return &second.Exchange, second, func() { to.gateway.Relayed().Post(&second.Exchange) }
	}, r.otherwise(again, func() { message.RefuseNoSession(x) }))
}

// Delete implements actors.Relay.
func (r relay) Delete(incarnation string, x *downstream.Exchange, again cluster.Retry) {
	r.from.w.transport.pass(r, incarnation, x, "DELETE", func(to *node, carrier downstream.Connection) (any, pipeclient.Response, func()) {
		second := downstream.NewResponse(x.Origin, carrier, to.gateway.Budget(), clientBuffer)
		second.Delete()
		return &second.Exchange, second, func() { to.gateway.Relayed().Delete(&second.Exchange) }
	}, r.otherwise(again, func() { message.RefuseNoSession(x) }))
}

// Open implements actors.Relay.
func (r relay) Open(incarnation string, s *downstream.EventStream, again cluster.Retry) {
	r.from.w.transport.pass(r, incarnation, s, "GET", func(to *node, carrier downstream.Connection) (any, pipeclient.Response, func()) {
		second := downstream.NewStreamResponse(s.Origin, carrier, to.gateway.Budget(), clientBuffer)
		return &second.EventStream, second, func() { to.gateway.Relayed().Open(&second.EventStream) }
	}, r.otherwise(again, func() { s.Refuse(404, nil, 0) }))
}

// otherwise returns the function that handles a request whose node is gone.
func (r relay) otherwise(again cluster.Retry, refuse func()) func() {
	if again.Do == nil {
		return refuse
	}
	return func() { r.from.w.scheduler.After(again.After, again.Do) }
}

// refusedResponse is the response to a body that a node does not accept.
type refusedResponse struct{ head downstream.Head }

func (r *refusedResponse) Head() (downstream.Head, bool)       { return r.head, true }
func (*refusedResponse) Read(dst []byte) (_ []byte, last bool) { return dst, true }
func (*refusedResponse) Leave()                                {}
func (*refusedResponse) Over() bool                            { return true }
func (*refusedResponse) Waiting() int                          { return 0 }

// arrival makes the request arrive at a node. It returns the request and its response there, and the function that hands the
// request to the node.
type arrival func(to *node, carrier downstream.Connection) (x any, r pipeclient.Response, hand func())

// pass passes the request x on to the node with that incarnation. unknown answers the request if there is no such node.
func (t *transport) pass(by relay, incarnation string, x any, what string, arrive arrival, unknown func()) {
	from, r := by.from, t.routes[x]
	if again := t.passed[x]; again != nil {
		from.violated("it passed on a request (%s) that %s had passed on to it", what, again.from)
		unknown()
		return
	}
	to := from.resolve(incarnation)
	switch {
	case by.process != from.process: // the process has ended, and so cannot pass anything on
		if r != nil {
			r.cut()
		}
	case to == from:
		from.violated("it passed a request (%s) on to itself", what)
	case to == nil:
		unknown()
	case to.dead: // nothing listens at its address
		from.gateway.NodeRefused(incarnation)
		unknown()
	case r == nil && t.left[x]: // nothing would reach the client
		t.w.count("a request passed on after its client has left")
	case r == nil:
		from.violated("it passed on a request (%s) that was answered or abandoned", what)
	default:
		t.w.trace("%s passes on to %s: %s", from, to, what)
		t.w.count("a request passed on to another node")
		r.what, r.to, r.arrive = what, to, arrive
		r.send()
	}
}
