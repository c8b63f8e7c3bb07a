package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/cluster"
)

// In one of three stories, the gateway is a cluster: several nodes behind a balancer. The clients know nothing of it, so all
// invariants of one gateway hold. In addition:
//
//   - A node passes no request on that another node has passed on to it.
//   - On every node, a stolen session id, event id or state looks like one that does not exist.
//   - While no client has a request in progress, no guest is left, and nothing that a node has passed on.
//   - While nothing changes, a client gets equal lists from all nodes.

// clusterNodes is the number of nodes of a cluster.
const clusterNodes = 3

// lastSingleSeed is the largest seed up to which no story is a cluster. These stories stay the same when clusters get more
// properties.
const lastSingleSeed = 8

// drawCluster decides whether the story is a cluster, and draws where the balancer keeps clients.
func (p *Params) drawCluster() {
	r := rand.New(rand.NewPCG(p.Seed, 12))
	if p.Seed <= lastSingleSeed || r.IntN(3) > 0 {
		return
	}
	p.Nodes, p.Bus = clusterNodes, p.DelayedTurns == 0 && r.IntN(3) > 0
	if p.Bus { // nodes send each other five beats a second, so these stories are short
		p.StormTime = min(p.StormTime, 6*time.Minute)
		p.Limits.ParkedCall, p.Limits.SessionIdle = 20*time.Second, min(p.Limits.SessionIdle, 5*time.Minute)
	}
	p.StormTime = p.StormTime * 2 / 3 // the story of a cluster takes the machine longer
	for i := range p.Clients {
		c := &p.Clients[i]
		c.KeptAt = r.Perm(clusterNodes)[:[]int{0, 0, 1, 2}[r.IntN(4)]]
		if !c.Modern && c.Answers && !c.Honest && !c.NoElicitation && r.IntN(4) == 0 {
			c.Declares = cluster.MaxDeclared
		}
	}
}

// isCluster reports whether the gateway is a cluster.
func (w *world) isCluster() bool { return w.p.Nodes > 0 }

// addNodes adds the gateways of the story.
func (w *world) addNodes() {
	if !w.isCluster() {
		w.addNode("")
		return
	}
	w.count("a cluster")
	w.transport = newTransport(w)
	for i := range w.p.Nodes {
		w.addNode(nodeName(i))
	}
}

// cluster returns what makes the node part of a cluster, or nil if it runs alone. The node gets a new incarnation.
func (n *node) cluster() *actors.Cluster {
	if n.w.transport == nil {
		return nil
	}
	n.members = cluster.NewMembers(cluster.NewIncarnation())
	c := &actors.Cluster{Name: clusterName, Node: n.name, Address: n.name + ":8731", Secrets: n.w.transport.secrets, Members: n.members, Relay: relay{n, n.process}}
	if n.w.p.Bus {
		n.bus = n.w.transport.fabric.Join(n.name)
		c.Bus, c.Revoked = nodeBus{n.bus}, n.revoke
	}
	return c
}

// nodeOf returns the node with that incarnation, or nil if there is none.
func (w *world) nodeOf(incarnation string) *node {
	for _, n := range w.nodes {
		if n.members != nil && n.members.Mine(incarnation) {
			return n
		}
	}
	return nil
}

// home returns the node that is the home of the client's session, or nil if the client has no session. The only node of a story
// is the home of all.
func (c *client) home() *node {
	if !c.w.isCluster() {
		return c.w.nodes[0]
	}
	return c.w.homeOf(c.session)
}

// homeOf returns the node that is the home of a session of the cluster: the one that has opened it or, if that has ended, the one on
// which the members agree. It returns nil if no node has sealed the id.
func (w *world) homeOf(session string) *node {
	incarnation, ok := cluster.HomeOf(session)
	if !ok {
		return nil
	}
	if n := w.nodeOf(incarnation); n != nil || !w.p.Bus {
		return n
	}
	for _, n := range w.nodes {
		if n == w.balancer.without {
			continue
		}
		if m := n.members.View().Home(session); m != nil {
			return w.nodeOf(m.Incarnation)
		}
	}
	return nil
}

// attacked returns the node to which the intruder sends its next request.
func (w *world) attacked() *node {
	if !w.isCluster() {
		return w.nodes[0]
	}
	return w.nodes[w.clientRand.IntN(len(w.nodes))]
}

// unknownSession returns the id of a session that does not exist. In a cluster it may be sealed with another secret, or be the
// id of the client's session with another character.
func (w *world) unknownSession(c *client) string {
	if !w.isCluster() {
		return unknownID
	}
	switch w.clientRand.IntN(3) {
	case 0:
		return unknownID
	case 1:
		home, _ := cluster.HomeOf(c.session)
		id, err := w.transport.foreign.SealSession(home, &cluster.SessionFacts{Version: c.version(), Path: "/mcp", Holder: c.owner})
		if err != nil {
			w.violated("%v", err)
		}
		return id
	}
	changed := []byte(c.session)
	at := 1 + w.clientRand.IntN(len(changed)-1)
	if changed[at] = 'A'; c.session[at] == 'A' {
		changed[at] = 'B'
	}
	return string(changed)
}

// stolenEvent returns the id of an event of the client's stream or, in a cluster, also of one of its calls.
func (w *world) stolenEvent(c *client) string {
	if w.isCluster() && w.clientRand.IntN(2) == 0 {
		for _, a := range slices.Backward(w.history.requests[max(0, len(w.history.requests)-200):]) {
			if a.client == c && a.lastEventID != "" {
				return a.lastEventID
			}
		}
	}
	return c.lastEventID
}

// questionID returns the id under which a session of the node sends a server's request with that number to its client.
func (n *node) questionID(number int) string {
	if n.members == nil {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf(`"%s.%d"`, n.members.Self(), number)
}

// checkRest checks that no guest is left, and nothing that a node has passed on. No client may have a request in progress.
func (w *world) checkRest(when string) {
	if !w.isCluster() || w.failed() {
		return
	}
	w.advance(2 * guestIdle) // the last call of a guest may have ended just now
	for _, n := range w.nodes {
		for _, m := range n.gateway.Mailboxes() {
			id, _ := strings.CutPrefix(m.Name, "gateway/session/")
			if home := w.homeOf(id); home != nil && home != n {
				n.violated("%s: the guest %s is left", when, id[:8])
			}
		}
	}
	w.transport.checkRest(when)
	w.checkMembers(when)
}

// sceneGuests lets servers send requests to the client of a call that runs at a node other than the session's home. The client's
// answers, and its reconnection to the response, reach any node. The call must succeed.
func (w *world) sceneGuests() {
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern && c.answers && !c.noElicitation }) {
		for _, s := range w.servers {
			for _, n := range w.nodes {
				if !s.onlySpeaks(false) || n == c.home() {
					continue
				}
				w.askAt(n, c, s)
				if w.failed() {
					return
				}
			}
		}
	}
}

// sceneEndingGuests sends requests to guests at the moment when they end, because they have been idle. All must succeed.
func (w *world) sceneEndingGuests() {
	c := w.legacyClient()
	if c == nil {
		return
	}
	for _, n := range w.nodes {
		for range 8 {
			if n == c.home() || !c.ready() {
				break
			}
			w.count("a scene: a request while its guest ends")
			var first, second *clientRequest
			w.at(n, func() { first = c.send("ping", "", "") })
			w.scheduler.After(guestIdle, func() {
				w.at(n, func() { second = c.send("tools/list", "", "") })
			})
			w.advance(guestIdle / 2)
			w.at(c.informed(), func() { c.send("ping", "", "") })
			w.advance(guestIdle)
			if first.failed || second.answers == 0 || second.failed {
				w.violated("%s at %s got %d responses, %s %s, although its session lives", second, n, second.answers, second.code, second.message)
				return
			}
		}
	}
}

// guestIdle is how long a guest stays without requests.
const guestIdle = time.Minute

// checkEnded checks that no node but the home says that a session has ended while it lives.
func (c *client) checkEnded(a *clientRequest) {
	incarnation, ok := cluster.HomeOf(a.session)
	home := c.w.nodeOf(incarnation)
	if !ok || home == nil || home == a.servedBy() || a.session != c.session || a.principal != c.owner {
		return
	}
	for _, m := range home.gateway.Mailboxes() {
		if m.Name == "gateway/session/"+a.session {
			a.node.violated("%s was answered with %q, but its session lives at %s", a, a.message, home)
		}
	}
}

// sceneThefts sends each client's session id to nodes where no guest of the session runs.
func (w *world) sceneThefts() {
	if !w.p.Authenticated {
		return
	}
	w.advance(guestIdle + time.Second)
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern }) {
		w.at(c.informed(), func() { c.send("ping", "", "") })
		w.advance(time.Second)
		if !c.ready() {
			continue
		}
		for _, n := range w.nodes {
			w.sendStolen(c, n, listTools)
			w.advance(3 * time.Second)
		}
	}
}

// askAt lets a client call a tool at a node. The server sends the client a request.
func (w *world) askAt(n *node, c *client, s *server) {
	w.count("a scene: a question of another node")
	c.prompt = w.clientRand.IntN(2) == 0
	c.ignoresQuestions = !c.prompt
	var a *clientRequest
	w.at(n, func() { a = c.callWith(s, "ask") })
	w.advance(time.Second)
	if !c.prompt && a.lastEventID != "" {
		c.reconnect(a)
		w.advance(time.Second)
		for _, id := range sortedKeys(c.questions) {
			if c.questions[id] == a {
				c.post(nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, id), c.origin("", ""))
			}
		}
	}
	if w.awaitAnswer(a, 10*time.Second); a.answers != 1 || a.failed {
		w.violated("%s at %s got %d responses, %s %s, although its client answered", a, n, a.answers, a.code, a.message)
	}
	c.prompt, c.ignoresQuestions = false, false
}
