package sim

import (
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
)

// Scenes for wide stories.

// awaitAnswer waits until the request has a response, for at most d.
func (w *world) awaitAnswer(a *clientRequest, d time.Duration) {
	w.scheduler.run(time.Now().Add(d), func() bool { return a.answers > 0 || w.failed() })
}

// sceneIdleStop calls a lazy server at about the moment when it is stopped. Every call must succeed. Afterward, the
// unused server must be stopped.
func (w *world) sceneIdleStop() {
	some := w.readyClients(func(*client) bool { return true })
	if len(some) == 0 {
		return
	}
	for _, s := range w.servers {
		if !s.isLazy() {
			continue
		}
		w.dropSubscriptions(s)
		for range 8 {
			w.count("a scene: a call while its server is stopped as idle")
			var a *clientRequest
			w.at(w.nodes[int(w.p.Seed)%len(w.nodes)], func() { a = some[w.clientRand.IntN(len(some))].call(s.name+"_a", 0, "") })
			if w.awaitAnswer(a, time.Minute); a.answers == 0 || a.failed {
				w.violated("%s got %d responses, %s %s, although the lazy server %s works", a, a.answers, a.code, a.message, s.name)
				return
			}
			w.advance(s.IdleStop + time.Duration(w.clientRand.IntN(60)-40)*time.Millisecond)
		}
		w.advance(s.IdleStop + 10*time.Second)
		if living := s.liveConns(); len(living) > 0 {
			w.violated("%s was idle for %v, but has %d connections", s.name, s.IdleStop+10*time.Second, len(living))
		}
	}
}

// dropSubscriptions ends all subscriptions to the server's resources, because they keep it running.
func (w *world) dropSubscriptions(s *server) {
	for _, uri := range append(slices.Clone(s.uris), s.quietURI) {
		w.droppedURIs[uri] = true
		for _, c := range w.clients {
			if !c.ready() || c.subs[uri] == nil {
				continue
			}
			if c.modern && c.listening != nil && c.listening.reader != nil {
				c.dropStream()
			} else if !c.modern {
				delete(c.subs, uri)
				c.sendSubscription("unsubscribe", uri)
			}
		}
	}
	w.advance(10 * time.Second)
}

// sceneOtherProjects checks that clients are not notified of changes outside their project.
func (w *world) sceneOtherProjects() {
	w.startLazyServers()
	w.advance(5 * time.Second)
	for _, c := range w.clients {
		if c.project == nil || !c.ready() || c.modern && (c.listening == nil || c.ackedAt == 0) || !c.modern && c.stream == nil {
			continue
		}
		for _, s := range w.hostile() {
			if c.seesServer(s) {
				continue
			}
			w.count("a scene: a change outside of a project")
			began := w.history.moment()
			for range 2 {
				s.changeTools()
				w.advance(3 * time.Second)
			}
			if c.listChangedAt > began {
				w.violated("%s is in project %s, but was notified of a list change of %s", c.name, c.project.Name, s.name)
			}
		}
	}
}

// sceneQueueTurns lets one client send many calls to a server, and a second client one call when the queue is full. The
// second client's call must get one of the next free slots.
func (w *world) sceneQueueTurns() {
	two := distinctPrincipals(w.readyClients(func(c *client) bool { return !c.honest }))
	if len(two) < 2 {
		return
	}
	was := w.config
	w.reconfigure(func(cfg *config.Config) {
		cfg.Limits.MaxInFlightPerClient = 1000
		for i := range cfg.Servers {
			cfg.Servers[i].MaxConcurrent, cfg.Servers[i].Queue = 2, config.Queue{Size: 40, Timeout: time.Minute}
		}
	})
	w.advance(10 * time.Second)
	greedy, modest := two[0], two[1]
	for _, s := range w.hostile() {
		w.count("a scene: fairness in a queue")
		var much []*clientRequest
		for range 60 {
			much = append(much, greedy.callWith(s, "slow"))
		}
		w.advance(2 * time.Second)
		began := w.history.moment()
		a := modest.callWith(s, "slow")
		w.awaitAnswer(a, 2*time.Minute)
		if a.failed {
			w.violated("%s was refused with %s %s, although it is its client's only call and %s sent %d", a, a.code, a.message, greedy.name, len(much))
		}
		before := 0
		if r := w.history.lastCall[a.nonce]; r != nil {
			for _, b := range much {
				if other := w.history.lastCall[b.nonce]; other != nil && other.c.node == r.c.node && other.began > began && other.began < r.began {
					before++
				}
			}
		}
		if before > 4 { // two slots, and calls in transit
			w.violated("%s waited for %d calls of %s that started after it was sent", a, before, greedy.name)
		}
		w.advance(2 * time.Minute)
	}
	w.reload(was)
	w.advance(10 * time.Second)
}

// What happens to a server while the gateway is stopped.
const (
	serverUnchanged = iota
	serverChanges
	serverIsDown
	serverHangs
)

// sceneRestart stops the gateway and starts another one with the same state file. Its first lists must have the tools
// that each server had before the restart or has now. Calls must wait for servers that start, and fail for servers that
// cannot start.
func (w *world) sceneRestart() {
	some := w.readyClients(func(*client) bool { return true })
	if !w.p.StateFile || len(some) == 0 || slices.Contains(w.p.SkippedScenes, "restart") {
		return
	}
	w.trace("— restart —")
	w.count("a scene: a restart of the gateway")
	w.startLazyServers()
	w.advance(5 * time.Second)
	fates, remembered := map[*server]int{}, map[*server][]string{}
	for i, s := range w.servers {
		remembered[s] = w.toolsOffered(i, nil)
	}
	w.stopWatchers()
	w.stopAll()
	if w.failed() {
		return
	}
	for _, s := range w.hostile() {
		switch fates[s] = w.clientRand.IntN(4); fates[s] {
		case serverChanges:
			s.changeTools()
		case serverIsDown:
			s.down = true
		case serverHangs:
			s.hangs = true
		}
		w.trace("%s: %d", s.name, fates[s])
	}
	w.startNodes()
	w.awaitMembers()
	w.stopping = false
	w.startWatchers()
	for _, c := range w.clients {
		c.connect()
		c.sealed = nil
		if !c.modern {
			c.initialize()
		}
	}
	w.checkFirstLists(fates, remembered)
	w.checkFirstCalls(some, fates)
	for _, s := range w.servers {
		s.down, s.hangs = false, false
	}
	w.advance(3 * time.Minute)
	for _, c := range w.clients {
		c.recover()
	}
	w.advance(time.Minute)
	w.compareLists()
	for _, c := range w.clients {
		if c.ready() && len(c.cached) > 0 {
			w.violated("%s receives %v marked as cached, although their servers are connected", c.name, c.cached)
		}
	}
	w.checkQuiet("after the restart")
}

// stopAll stops all nodes.
func (w *world) stopAll() {
	w.stopping = true
	for _, n := range w.nodes {
		n.stop()
	}
}

// checkFirstLists checks that the first lists have the last known or the current tools of each server. Servers that
// cannot be reached must have the known ones, marked as cached.
func (w *world) checkFirstLists(fates map[*server]int, remembered map[*server][]string) {
	w.advance(100 * time.Millisecond)
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		a := c.send("tools/list", "", "")
		if w.awaitAnswer(a, time.Second); a.answers == 0 || a.failed {
			w.violated("%s got %d responses, %s %s, although the servers' tools are known", a, a.answers, a.code, a.message)
			return
		}
		for i, s := range w.servers {
			if w.listsOnlyMetaTools() {
				break
			}
			var names, cached, known []string
			for _, name := range c.list {
				if strings.HasPrefix(name, s.name+"_") {
					names = append(names, name)
				}
			}
			for _, name := range c.cached {
				if strings.HasPrefix(name, s.name+"_") {
					cached = append(cached, name)
				}
			}
			for _, name := range remembered[s] {
				if c.seesTool(name) {
					known = append(known, name)
				}
			}
			slices.Sort(known)
			now := w.toolsOffered(i, c)
			slices.Sort(now)
			out := fates[s] == serverIsDown || fates[s] == serverHangs
			switch {
			case !slices.Equal(names, known) && (out || !slices.Equal(names, now)):
				w.violated("%s lists %v of %s, which had %v before and has %v now (fate %d)", c.name, names, s.name, known, now, fates[s])
			case out && !slices.Equal(cached, known):
				w.violated("%s lists %v of %s, but marks only %v as cached (fate %d)", c.name, names, s.name, cached, fates[s])
			}
		}
	}
}

// checkFirstCalls checks that calls wait for servers that start, up to the queue timeout, and fail for servers that
// cannot start.
func (w *world) checkFirstCalls(some []*client, fates map[*server]int) {
	some = slices.DeleteFunc(slices.Clone(some), func(c *client) bool { return !c.ready() })
	if len(some) == 0 || w.failed() {
		return
	}
	waits := slices.ContainsFunc(w.servers, func(s *server) bool { return fates[s] == serverHangs || fates[s] == serverIsDown })
	calls, began := map[*server]*clientRequest{}, time.Now()
	for _, s := range w.servers {
		calls[s] = some[w.clientRand.IntN(len(some))].call(s.name+"_a", 0, "")
	}
	most := w.p.Queue.Timeout
	w.advance(most - 100*time.Millisecond)
	for _, s := range w.servers {
		if a := calls[s]; fates[s] == serverHangs && a.answers > 0 && a.code != "OVERLOADED" && s.noRestartSince(began) {
			w.violated("%s was answered with %s %s, although %s is starting and calls may wait for %v", a, a.code, a.message, s.name, most)
		}
	}
	w.advance(30 * time.Second)
	for _, s := range w.servers {
		a := calls[s]
		ok := !a.failed
		switch fates[s] {
		case serverHangs:
			ok = a.code == "QUEUE_TIMEOUT" || a.code == "SERVER_UNAVAILABLE" || a.code == "NO_BACKENDS_AVAILABLE"
		case serverIsDown:
			ok = a.code == "SERVER_UNAVAILABLE" || a.code == "NO_BACKENDS_AVAILABLE" || a.code == "QUEUE_TIMEOUT" && waits
		default:
			ok = ok || a.code == "QUEUE_TIMEOUT" && waits // other servers may take all start slots
		}
		if a.code == "OVERLOADED" { // its client has other calls
			ok = true
		}
		if a.answers != 1 || !ok {
			w.violated("%s got %d responses, %q %s; state of %s: %d", a, a.answers, a.code, a.message, s.name, fates[s])
		}
	}
}

// noRestartSince reports whether the server has connections, none of them opened after since.
func (s *server) noRestartSince(since time.Time) bool {
	return len(s.liveConns()) > 0 && !slices.ContainsFunc(s.liveConns(), func(c *conn) bool { return c.opened.After(since) })
}
