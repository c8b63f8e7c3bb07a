package sim

import (
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
)

// Scenes about state that the gateway keeps for a long time: parked calls and the servers' filters.

// holdTime is the duration of calls with the instruction "hold". It is shorter than the gateway's timeout for silent
// servers.
const holdTime = 25 * time.Second

// sceneAnsweredCalls lets a client answer the server requests of its calls while other calls of the same client keep
// running. Answered calls must not count as parked, even at the lowest limit.
func (w *world) sceneAnsweredCalls() {
	some := w.readyClients(func(c *client) bool { return c.modern && c.answers })
	asking := slices.IndexFunc(w.servers, func(s *server) bool { return s.onlySpeaks(false) })
	if len(some) == 0 || asking < 0 {
		return
	}
	w.count("a scene: answered calls while other calls run")
	was := w.config
	w.reconfigure(func(cfg *config.Config) {
		cfg.Limits.ParkedPerClient, cfg.Limits.MaxInFlightPerClient = statelessActors, 16*statelessActors
	})
	w.advance(time.Second)
	c, honest := some[0], w.servers[len(w.servers)-1]
	for range 2 * c.statelessActors() {
		a := c.callWith(w.servers[asking], "ask")
		for range 2 { // longer than answering takes
			for range statelessActors {
				c.callWith(honest, "hold")
			}
			w.advance(time.Second)
			if a.code == "OVERLOADED" && strings.Contains(a.message, "too many calls of this client wait") {
				w.violated("%s was refused, although all parked calls were answered: %s", a, a.message)
				return
			}
			w.advance(holdTime - 5*time.Second)
		}
	}
	w.reload(was)
	w.advance(holdTime)
}

// sceneNewRules changes the servers' filters by reload. Lists and calls must follow, and listening clients must be
// notified.
func (w *world) sceneNewRules() {
	was := w.config
	for _, rules := range []config.Filter{{Deny: []string{"a"}}, {Allow: []string{"a"}}, {Rename: map[string]string{"a": "other"}}, {}} {
		w.count("a scene: new rules")
		began := w.history.moment()
		w.reconfigure(func(cfg *config.Config) {
			for i := range cfg.Servers {
				cfg.Servers[i].Tools.Filter = rules
			}
		})
		w.advance(5 * time.Second)
		for _, c := range w.readyClients(func(c *client) bool {
			return c.modern && c.listening != nil && c.ackedAt > 0 || !c.modern && c.stream != nil
		}) {
			if c.listChangedAt < began && !w.listsOnlyMetaTools() {
				w.violated("%s listens, but was not notified that a reload changed the list", c.name)
			}
		}
		w.compareLists()
		w.checkStatus()
		if w.failed() {
			return
		}
		for _, c := range w.readyClients(func(*client) bool { return true }) {
			s := w.servers[0]
			for _, tool := range []string{"a", "other"} {
				a := c.call(s.name+"_"+tool, 0, "")
				w.advance(time.Second)
				listed := slices.Contains(w.toolsOffered(0, nil), w.toolOf[a.nonce])
				if a.code == "TOOL_NOT_FOUND" && listed || a.answers > 0 && !a.failed && !listed {
					w.violated("%s (tool %q) was answered with %q %s; listed: %v", a, w.toolOf[a.nonce], a.code, a.message, listed)
				}
			}
		}
	}
	w.reload(was)
	w.advance(5 * time.Second)
}

// compareLists checks that every client's list at each node has the servers' tools, as filtered by the configuration, and
// the gateway's own.
func (w *world) compareLists() {
	w.startLazyServers()
	for _, n := range w.nodes {
		w.at(n, w.listTwice)
		w.checkLists(n)
	}
}

// listTwice makes every client list tools twice. After the first request, the gateway fetches lists that change without
// a notification.
func (w *world) listTwice() {
	for _, c := range w.clients {
		if c.ready() {
			c.send("tools/list", "", "")
		}
	}
	w.advance(10 * time.Second)
	for _, c := range w.clients {
		if c.ready() {
			c.lastList = c.send("tools/list", "", "")
		}
	}
	w.advance(time.Minute)
}
