package sim

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/internal/config"
)

// Scenes about rare orders of events: a log line between a server request and its answer, a change between two others,
// an actor that gets no turns while it receives many messages.

// reconfigure reloads the gateway with a changed copy of its configuration.
func (w *world) reconfigure(change func(*config.Config)) {
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	change(&cfg)
	w.reload(cfg)
}

func (w *world) setDisabled(i int, off bool) {
	w.reconfigure(func(cfg *config.Config) {
		for _, at := range w.entries(cfg, i) {
			cfg.Servers[at].Disabled = off
		}
	})
}

// legacyClient returns a client with a session, or nil if there is none.
func (w *world) legacyClient() *client {
	some := w.readyClients(func(c *client) bool { return !c.modern })
	if len(some) == 0 {
		return nil
	}
	return some[0]
}

// sceneLogLines checks that a log line of a process goes to the client of the only call that does not wait for an answer.
func (w *world) sceneLogLines() {
	some := w.readyClients(func(c *client) bool { return !c.modern && c.answers && !c.old })
	if len(some) == 0 {
		return
	}
	was := w.config
	w.reconfigure(func(cfg *config.Config) { // so that both calls use one process
		for i := range cfg.Servers {
			cfg.Servers[i].Replicas, cfg.Servers[i].MaxConcurrent = 1, 8
		}
	})
	w.advance(20 * time.Second)
	a := some[0]
	for _, s := range w.servers {
		for _, b := range w.readyClients(func(c *client) bool { return c != a }) {
			if s.onlySpeaks(false) && s.Members == 0 && !s.isolates() {
				w.checkLogLine(s, a, b)
			}
		}
	}
	w.reload(was)
	w.advance(20 * time.Second)
}

// checkLogLine makes the server log a line during b's call, while a's call waits for its client.
func (w *world) checkLogLine(s *server, a, b *client) {
	w.count("a scene: a log line during a question")
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern }) {
		c.send("logging/setLevel", "", `,"level":"info"`)
	}
	a.ignoresQuestions, b.wantsLogs = true, true
	var x, y *clientRequest
	w.at(a.informed(), func() { x = a.callWith(s, "ask") })
	w.advance(2 * time.Second)
	at := b.informed()
	if b.modern { // both calls must use the same process
		at = a.informed()
	}
	w.at(at, func() { y = b.callWith(s, "log") })
	w.advance(3 * time.Second)
	if line := fmt.Sprintf(`"of %d"`, y.nonce); x.answers == 0 && y.answers == 1 && !y.failed {
		for _, c := range w.readyClients(func(*client) bool { return true }) {
			if c.logLines[line] != (c == b) {
				w.violated("%s received the log line of %s: %v, want %v; the only other call waits for its client", c.name, y, c.logLines[line], c == b)
			}
		}
	}
	a.abandon(x)
	w.advance(2 * time.Second)
	a.ignoresQuestions, b.wantsLogs = false, false
}

// sceneUnsubscribeEarly unsubscribes before the server confirmed the subscription. Both requests must get a response.
func (w *world) sceneUnsubscribeEarly() {
	c := w.legacyClient()
	if c == nil {
		return
	}
	for _, s := range w.servers {
		w.count("a scene: unsubscribed before the confirmation")
		var yes, no *clientRequest
		w.at(c.home(), func() { // other nodes may pass the second request on before the first
			yes, no = c.sendSubscription("subscribe", s.quietURI), c.sendSubscription("unsubscribe", s.quietURI)
		})
		w.advance(10 * time.Second)
		if yes.answers == 0 || no.answers == 0 {
			w.violated("%s got %d responses, and the following %s got %d", yes, yes.answers, no, no.answers)
		}
	}
}

// sceneDisabledServer disables a server while a subscription waits for its confirmation. The subscription must get a
// response. Then it enables the server, lets the client subscribe again, and disables and enables the server before it has
// stopped. Calls must succeed, and the client must be notified of a change.
func (w *world) sceneDisabledServer() {
	c := w.legacyClient()
	if c == nil {
		return
	}
	for i, s := range w.servers {
		w.count("a scene: a server disabled during a subscription")
		a := c.sendSubscription("subscribe", s.quietURI)
		w.advance(time.Duration(w.clientRand.IntN(8)) * time.Millisecond)
		w.setDisabled(i, true)
		w.advance(10 * time.Second)
		if a.answers == 0 {
			w.violated("%s has no response, although %s was disabled 10 s ago", a, s.name)
		}
		w.setDisabled(i, false)
		w.advance(time.Minute)
		w.everSubscribed[c.name+" "+s.quietURI] = true
		c.sendSubscription("subscribe", s.quietURI)
		w.advance(5 * time.Second)
		w.setDisabled(i, true)
		w.setDisabled(i, false)
		w.advance(time.Minute)
		b := c.callWith(s, "slow")
		w.advance(20 * time.Second)
		if b.answers == 0 || b.failed {
			w.violated("%s got %d responses, %s %s, although %s was enabled a minute ago", b, b.answers, b.code, b.message, s.name)
		}
		w.checkNotified(c, s, "the server was disabled and enabled")
		c.sendSubscription("unsubscribe", s.quietURI)
		delete(c.subs, s.quietURI)
		w.advance(5 * time.Second)
	}
}

// checkNotified checks that a client that subscribed to a server's quiet resource is notified of a change.
func (w *world) checkNotified(c *client, s *server, happened string) {
	s.update(s.quietURI, "")
	w.advance(5 * time.Second)
	if sub := c.subs[s.quietURI]; sub != nil && c.stream != nil && sub.updatedAt < s.changedAt[s.quietURI] {
		w.violated("%s was not notified that %s changed after %s", c.name, s.quietURI, happened)
	}
}

// sceneReplicaDies kills the replica with a subscription. Another replica must take the subscription over.
func (w *world) sceneReplicaDies() {
	for _, s := range w.servers {
		for _, c := range w.readyClients(func(c *client) bool { return !c.modern && c.stream != nil }) {
			living := s.connsOf(c.home())
			if s.http || len(living) < 2 || !s.onlySpeaks(false) || s.isolates() {
				continue
			}
			w.count("a scene: the replica with a subscription dies")
			w.everSubscribed[c.name+" "+s.quietURI] = true
			c.sendSubscription("subscribe", s.quietURI)
			w.advance(5 * time.Second)
			i := slices.IndexFunc(living, func(x *conn) bool { return x.subs[s.quietURI] })
			if i < 0 || c.subs[s.quietURI] == nil {
				continue
			}
			s.down = true
			living[i].die()
			w.advance(10 * time.Second)
			w.checkNotified(c, s, "its replica died")
			s.down = false
			c.sendSubscription("unsubscribe", s.quietURI)
			delete(c.subs, s.quietURI)
			w.advance(time.Minute)
			break
		}
	}
}

// sceneFloods lets servers send more than the gateway can forward, while sessions and pools get no turns.
func (w *world) sceneFloods() {
	if w.p.Seed%4 != 0 {
		return
	}
	c := w.legacyClient()
	if c == nil {
		return
	}
	for _, s := range w.servers {
		w.count("a scene: a flood")
		w.everSubscribed[c.name+" "+s.uris[0]] = true
		c.sendSubscription("subscribe", s.uris[0])
		a := c.callWith(s, "flood")
		w.scheduler.run(time.Now().Add(time.Second), func() bool { return w.history.lastCall[a.nonce] != nil || w.failed() })
		w.occupy("gateway/session/*", 8*time.Second)
		w.advance(30 * time.Second)
		w.occupy("gateway/pool/"+s.name, 8*time.Second)
		for range 6000 {
			s.update(s.uris[0], "")
		}
		w.advance(30 * time.Second)
	}
}

// sceneCrowd sends a backend more calls than it has room for while its actor gets no turns. Each call must get a
// response, and none may remain.
func (w *world) sceneCrowd() {
	some := w.readyClients(func(*client) bool { return true })
	if w.p.Seed%4 != 1 || len(some) == 0 {
		return
	}
	w.count("a scene: a crowd of calls")
	was := w.config
	w.reconfigure(func(cfg *config.Config) {
		cfg.Limits.MaxInFlightPerClient = 5000
		for i := range cfg.Servers {
			cfg.Servers[i].MaxConcurrent, cfg.Servers[i].Queue.Size = 2000, 2000
		}
	})
	w.advance(10 * time.Second)
	c, s := some[0], w.servers[0]
	w.occupy("gateway/pool/"+s.name+"/backend/*", 10*time.Second)
	rounds := 24
	if w.p.Wide { // with more connections, more results arrive at once than a session has turns for; its mailbox must hold all of them
		rounds = 12
	}
	for range rounds {
		for range 100 {
			c.callWith(s, "slow")
		}
		w.advance(200 * time.Millisecond)
	}
	w.advance(time.Minute)
	w.reload(was)
	w.advance(10 * time.Second)
}
