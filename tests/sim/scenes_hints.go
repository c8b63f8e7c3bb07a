package sim

import (
	"fmt"
	"slices"
	"time"
)

// The nodes of a cluster with a bus tell each other about events of sessions. In addition to the invariants of clusters:
//
//   - A canceled call is canceled at the node where it runs, whichever node gets the cancellation.
//   - A client's log level holds at all nodes.
//   - When the list of a server changes at one node, the clients of all nodes are notified.
//   - A session that is used at any node is not idle.
//   - No node answers requests of a session that has ended hintTime ago, except with 404.

// hintTime is how long a hint needs to reach all nodes and to take effect.
const hintTime = 2 * time.Second

// sceneCanceledElsewhere cancels calls at nodes other than those where they run.
func (w *world) sceneCanceledElsewhere() {
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern }) {
		for i, runs := range w.nodes {
			w.count("a scene: a call canceled at another node")
			s := w.servers[i%len(w.servers)]
			var a *clientRequest
			w.at(runs, func() { a = c.callWith(s, "hold") })
			w.advance(hintTime)
			if a.answers > 0 { // refused
				continue
			}
			w.at(w.nodes[(i+1)%len(w.nodes)], func() { c.abandon(a) })
			w.advance(hintTime)
			if r := w.history.lastCall[a.nonce]; a.answers != 1 || r != nil && !r.done {
				w.violated("%s runs at %s and was canceled at another node, but has %d responses, and the server's call is canceled: %v", a, runs, a.answers, r != nil && r.done)
				return
			}
		}
	}
}

// sceneLevelsElsewhere sets a log level at any node, and calls a tool that logs a line at each node.
func (w *world) sceneLevelsElsewhere() {
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern }) {
		for _, level := range []string{"emergency", "info"} {
			w.count("a scene: a log level at other nodes")
			c.send("logging/setLevel", "", fmt.Sprintf(`,"level":%q`, level))
			w.advance(hintTime)
			for _, n := range w.nodes {
				for _, s := range w.servers {
					if !s.onlySpeaks(false) || s.isLazy() {
						continue
					}
					var a *clientRequest
					w.at(n, func() { a = c.callWith(s, "log") })
					w.advance(3 * time.Second)
					if got := c.logLines[fmt.Sprintf(`"of %d"`, a.nonce)]; got && level == "emergency" {
						w.violated("%s at %s: the client got a line of level error, but wants none below emergency", a, n)
						return
					}
				}
			}
		}
	}
}

// sceneChangesElsewhere changes the list of a server, which announces it at one node only.
func (w *world) sceneChangesElsewhere() {
	if w.listsOnlyMetaTools() {
		return
	}
	for i, n := range w.nodes {
		s := w.servers[i%len(w.servers)]
		here := slices.DeleteFunc(slices.Clone(s.liveConns()), func(c *conn) bool { return c.node != n || !c.ready && !c.modern })
		if len(here) == 0 || s.silent || len(w.toolsOffered(i%len(w.servers), nil)) == 0 {
			continue
		}
		w.count("a scene: a list that changed at one node")
		w.advance(5 * time.Second) // earlier changes have been announced
		began := w.history.moment()
		for _, connection := range here {
			connection.announce("tools/list_changed", "", func(st *listenStream) bool { return st.tools })
		}
		w.advance(5 * time.Second)
		for _, c := range w.readyClients(func(c *client) bool {
			return c.modern && c.listening != nil && c.ackedAt > 0 || !c.modern && c.stream != nil
		}) {
			if c.listChangedAt < began {
				w.violated("%s listens, but was not notified of a change of %s at %s", c.name, s.name, n)
				return
			}
		}
	}
}

// sceneUsedElsewhere uses a session without a stream only at a node that is not its home. It must not end.
func (w *world) sceneUsedElsewhere() {
	c := w.legacyClient()
	if c == nil {
		return
	}
	w.count("a scene: a session used at one other node")
	if c.stream != nil {
		c.dropReader(c.stream)
		c.stream = nil
	}
	n := w.nodes[(c.home().number+1)%len(w.nodes)]
	session := c.session
	pause := min(w.p.Limits.SessionIdle/4, guestIdle/3) // its guest stays
	for passed := time.Duration(0); passed < 2*w.p.Limits.SessionIdle; passed += pause {
		var a *clientRequest
		w.at(n, func() { a = c.send("ping", "", "") })
		w.advance(pause)
		if a.answers != 1 || a.failed {
			w.violated("%s got %d responses, %s, although the session was used at %s", a, a.answers, a.message, n)
			return
		}
	}
	var a *clientRequest
	w.at(c.home(), func() { a = c.send("ping", "", "") })
	w.advance(time.Second)
	if a.failed || c.session != session {
		w.violated("the session of %s has ended at its home, although it was used at %s", c.name, n)
	}
}

// sceneEndedElsewhere ends a session at any node, and sends requests of the session to all nodes, with guests and without.
func (w *world) sceneEndedElsewhere() {
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern }) {
		w.count("a scene: an ended session at other nodes")
		for _, n := range w.nodes {
			w.at(n, func() { c.send("ping", "", "") })
		}
		w.advance(time.Second)
		if !c.ready() {
			continue
		}
		ended := c.endSession()
		for _, wait := range []time.Duration{hintTime, 2 * guestIdle} {
			w.advance(wait)
			w.checkStaysEnded(ended, fmt.Sprintf("%v ago", wait))
		}
		c.initialize()
		w.advance(3 * time.Second)
		if w.failed() {
			return
		}
	}
}
