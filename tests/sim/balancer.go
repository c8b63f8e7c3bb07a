package sim

import (
	"goblin-actor/protocol/downstream"
	"goblin-actor/tests/sim/pipeclient"
)

// balancer deals the clients' requests to the nodes: in turn, or to the one or two nodes where it keeps a client.
type balancer struct {
	dealt   int   // requests dealt in turn
	only    *node // gets all requests; nil = there is no such node
	without *node // gets no request, because it is not ready; nil = all are ready
}

// connect connects the client to all nodes.
func (c *client) connect() {
	c.pipes = nil
	for _, n := range c.w.nodes {
		c.pipes = append(c.pipes, n.pipe(c.resumeReads))
	}
}

// pipe returns a connection of a client to the node. more is called when there may be something to read.
func (n *node) pipe(more func()) *pipeclient.Client {
	p := &pipeclient.Client{Handler: n.gateway.Front(), Budget: n.gateway.Budget(), Limit: clientBuffer, More: more}
	if t := n.w.transport; t != nil {
		p.Carry = func(x any, r pipeclient.Response) pipeclient.Response { return t.newRoute(n, x, r, more) }
	}
	return p
}

// clientBuffer is how many bytes wait for a client that does not read.
const clientBuffer = 64 << 10

// deal returns the node that gets the client's next request.
func (w *world) deal(c *client) *node {
	switch {
	case len(w.nodes) == 1:
		return w.nodes[0]
	case w.balancer.only != nil:
		return w.balancer.only
	case len(c.keptAt) > 0:
		c.dealt++
		return w.balancer.ready(c.keptAt[c.dealt%len(c.keptAt)], w.nodes)
	}
	w.balancer.dealt++
	return w.balancer.ready(w.nodes[w.balancer.dealt%len(w.nodes)], w.nodes)
}

// ready returns n, or the next node if n is not ready.
func (b *balancer) ready(n *node, all []*node) *node {
	if n == b.without {
		return all[(n.number+1)%len(all)]
	}
	return n
}

// at deals all requests that are sent during do to one node. A nil node changes nothing.
func (w *world) at(n *node, do func()) {
	was := w.balancer.only
	if n != nil {
		w.balancer.only = n
	}
	do()
	w.balancer.only = was
}

// open opens a stream.
func (c *client) open(o downstream.Origin) *pipeclient.Stream {
	return c.pipes[c.w.deal(c).number].Open(o)
}

// end sends a DELETE of the client's session.
func (c *client) end() {
	c.startReading(c.pipes[c.w.deal(c).number].Delete(c.origin("", "")), nil)
}
