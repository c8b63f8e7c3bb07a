package sim

import (
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/downstream"
)

// A node that joins a cluster learns from the others what it has missed. In addition to the invariants of clusters, from the moment at
// which the node is ready:
//
//   - Its clients see the same lists as at the other nodes, although its own servers still start. The servers with URLs are excepted: the
//     gateway may log in to them, and so what they list may depend on the login.
//   - Sessions that have ended while it was gone have ended there, too.

// joined is what clients know of the cluster before a node joins.
type joined struct {
	lists map[*client][]string // names of the tools that the other nodes list
	ended []endedSession
}

// endedSession is a session that its client has ended.
type endedSession struct {
	client *client
	origin downstream.Origin // of a request of the session
}

// endSession ends the client's session at the node to which the balancer deals the request.
func (c *client) endSession() endedSession {
	s := endedSession{c, c.origin("", "")}
	c.end()
	for _, a := range c.pending {
		a.abandoned = true
	}
	c.state = "closed"
	if c.stream != nil {
		c.dropReader(c.stream)
		c.stream = nil
	}
	return s
}

// beforeJoin ends some of the sessions whose home was the node that joins next, and notes what the others list.
func (w *world) beforeJoin(moved []*client) (j joined) {
	for _, c := range moved {
		if c.ready() && w.clientRand.IntN(2) == 0 {
			w.count("a session that ended before a node joined")
			j.ended = append(j.ended, c.endSession())
		}
	}
	w.advance(hintTime)
	j.lists = map[*client][]string{}
	for _, c := range w.readyClients(func(c *client) bool { return c.declares == 0 }) {
		a := c.send("tools/list", "", "")
		if w.awaitAnswer(a, time.Second); a.answers == 1 && !a.failed {
			j.lists[c] = w.learned(c.list)
		}
	}
	return j
}

// learned returns those tools of a list that a node learns from others before it is ready.
func (w *world) learned(tools []string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(name string) bool {
		return slices.ContainsFunc(w.servers, func(s *server) bool { return s.http && strings.HasPrefix(name, s.name+"_") })
	})
}

// afterJoin waits until the node is ready, and checks what its clients see from that moment on.
func (w *world) afterJoin(n *node, j joined) {
	for began := time.Now(); !n.members.View().Ready() && time.Since(began) < joinTime; {
		w.advance(time.Millisecond)
	}
	sent := map[*client]*clientRequest{}
	for _, c := range w.clients {
		if j.lists[c] != nil && c.ready() {
			w.count("a list of a node that has just joined")
			w.at(n, func() { sent[c] = c.send("tools/list", "", "") })
		}
	}
	for _, c := range w.clients {
		a := sent[c]
		if a == nil || w.failed() {
			continue
		}
		if w.awaitAnswer(a, time.Second); a.answers != 1 || a.failed || !slices.Equal(w.learned(c.list), j.lists[c]) {
			n.violated("%s lists %v at this node, which has just joined: %d responses, %s %s; the other nodes list %v", c.name, c.list, a.answers, a.code, a.message, j.lists[c])
		}
	}
	for _, s := range j.ended {
		w.checkStaysEnded(s, "before "+n.name+" joined")
	}
}

// checkStaysEnded checks that no node serves the session.
func (w *world) checkStaysEnded(s endedSession, when string) {
	for _, n := range w.nodes {
		if w.failed() {
			return
		}
		x, refused := n.pipe(func() {}).Post([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), s.origin)
		if refused != nil {
			continue
		}
		w.advance(hintTime)
		if seen, ok := x.Next(); !ok || seen.Status != 404 || !strings.Contains(string(seen.Frame), "Session not found") {
			n.violated("it answered a request of a session of %s, which has ended %s: %d %s", s.client.name, when, seen.Status, seen.Frame)
		}
		x.Leave()
	}
}
