package sim

import (
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
)

// Scenes of what the gateway keeps in its books for long: what a client has parked, and the rules of servers.

// hold is how long a call that is told to hold takes: a little less than a server may be silent about it.
const hold = 25 * time.Second

// cameBack: a client answers the questions of its calls, one after the other, while others of its calls run all the time. What it
// has answered is parked no longer, however little may be.
func (w *world) cameBack() {
	some := w.someone(func(c *client) bool { return c.modern && c.answers })
	asking := slices.IndexFunc(w.servers, func(s *server) bool { return s.speaks(false) })
	if len(some) == 0 || asking < 0 {
		return
	}
	w.count("a scene: calls that came back beside others")
	was := w.config
	w.changed(func(cfg *config.Config) {
		cfg.Limits.ParkedPerClient, cfg.Limits.MaxInFlightPerClient = desks, 16*desks
	})
	w.pass(time.Second)
	c, honest := some[0], w.servers[len(w.servers)-1]
	for range 2 * desks {
		a := c.tell(w.servers[asking], "ask")
		for range 2 { // longer than it takes to answer
			for range desks {
				c.tell(honest, "hold")
			}
			w.pass(time.Second)
			if a.fault == "OVERLOADED" && strings.Contains(a.text, "too many calls of this client wait") {
				w.broken("%s was refused: %s; and all that waited have been answered", a, a.text)
				return
			}
			w.pass(hold - 5*time.Second)
		}
	}
	w.reload(was)
	w.pass(hold)
}

// newRules: a reload changes what is listed of servers, and nothing else happens. Lists and calls follow it, and who listens is told.
func (w *world) newRules() {
	was := w.config
	for _, rules := range []config.Filter{{Deny: []string{"a"}}, {Allow: []string{"a"}}, {Rename: map[string]string{"a": "other"}}, {}} {
		w.count("a scene: new rules")
		began := w.book.moment()
		w.changed(func(cfg *config.Config) {
			for i := range cfg.Servers {
				cfg.Servers[i].Tools.Filter = rules
			}
		})
		w.pass(5 * time.Second)
		for _, c := range w.someone(func(c *client) bool {
			return c.modern && c.listening != nil && c.acked > 0 || !c.modern && c.stream != nil
		}) {
			if c.changed < began && !w.onlyMeta() {
				w.broken("%s listens, and was not told that a reload has changed the list", c.name)
			}
		}
		w.relist()
		w.lists()
		w.shown()
		if w.failed() {
			return
		}
		for _, c := range w.someone(func(*client) bool { return true }) {
			s := w.servers[0]
			for _, tool := range []string{"a", "other"} {
				a := c.call(s.name+"_"+tool, 0, "")
				w.pass(time.Second)
				listed := slices.Contains(w.offered(0, nil), w.toolOf[a.nonce])
				if a.fault == "TOOL_NOT_FOUND" && listed || a.answers > 0 && !a.failed && !listed {
					w.broken("%s, of %s, was answered with %q %s; is it listed? %v", a, w.toolOf[a.nonce], a.fault, a.text, listed)
				}
			}
		}
	}
	w.reload(was)
	w.pass(5 * time.Second)
}

// relist has every client ask for the list. What has changed without a word is looked at when somebody asks, so it asks twice.
func (w *world) relist() {
	w.awake()
	for _, c := range w.clients {
		if c.ready() {
			c.send("tools/list", "", "")
		}
	}
	w.pass(10 * time.Second)
	for _, c := range w.clients {
		if c.ready() {
			c.listed = c.send("tools/list", "", "")
		}
	}
	w.pass(time.Minute)
}
