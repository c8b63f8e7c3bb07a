package sim

import (
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/config"
)

// Scenes of what only wide stories have.

// answered waits until a request has its answer, or so long.
func (w *world) answered(a *ask, d time.Duration) {
	w.fate.run(time.Now().Add(d), func() bool { return a.answers > 0 || w.failed() })
}

// comesAndGoes: a lazy server is wanted again in the moment in which it is stopped. Each call has its result.
func (w *world) comesAndGoes() {
	some := w.someone(func(*client) bool { return true })
	if len(some) == 0 {
		return
	}
	for _, s := range w.servers {
		if !s.sleeps() {
			continue
		}
		w.unheard(s)
		for range 8 {
			w.count("a scene: a call as its server goes to rest")
			a := some[w.crng.IntN(len(some))].call(s.name+"_a", 0, "")
			if w.answered(a, time.Minute); a.answers == 0 || a.failed {
				w.broken("%s was answered %d times, %s %s; %s comes and goes, and is well", a, a.answers, a.fault, a.text, s.name)
				return
			}
			w.pass(s.IdleStop + time.Duration(w.crng.IntN(60)-40)*time.Millisecond)
		}
		w.pass(s.IdleStop + 10*time.Second)
		if living := s.living(); len(living) > 0 {
			w.broken("nobody has wanted anything of %s for %v, and it has %d connections", s.name, s.IdleStop+10*time.Second, len(living))
		}
	}
}

// unheard has nobody listen for changes of the server's resources any more: that keeps it running.
func (w *world) unheard(s *server) {
	for _, uri := range append(slices.Clone(s.uris), s.quiet) {
		w.dropped[uri] = true
		for _, c := range w.clients {
			if !c.ready() || c.subs[uri] == nil {
				continue
			}
			if c.modern && c.listening != nil && c.listening.wire != nil {
				c.leaveStream()
			} else if !c.modern {
				delete(c.subs, uri)
				c.about("unsubscribe", uri)
			}
		}
	}
	w.pass(10 * time.Second)
}

// others: what changes outside of a project is not told to who is in it.
func (w *world) others() {
	w.awake()
	w.pass(5 * time.Second)
	for _, c := range w.clients {
		if c.project == nil || !c.ready() || c.modern && (c.listening == nil || c.acked == 0) || !c.modern && c.stream == nil {
			continue
		}
		for _, s := range w.hostile() {
			if c.seesServer(s) {
				continue
			}
			w.count("a scene: a change outside of a project")
			began := w.book.moment()
			for range 2 {
				s.change()
				w.pass(3 * time.Second)
			}
			if c.changed > began {
				w.broken("%s is in project %s, and was told that its list has changed; only %s has", c.name, c.project.Name, s.name)
			}
		}
	}
}

// turns: one client asks much of a server at once, and another one little, a moment later, when the queue is full. The second has
// its turn when the next slot is free.
func (w *world) turns() {
	two := strangers(w.someone(func(c *client) bool { return !c.honest }))
	if len(two) < 2 {
		return
	}
	was := w.config
	w.changed(func(cfg *config.Config) {
		cfg.Limits.MaxInFlightPerClient = 1000
		for i := range cfg.Servers {
			cfg.Servers[i].MaxConcurrent, cfg.Servers[i].Queue = 2, config.Queue{Size: 40, Timeout: time.Minute}
		}
	})
	w.pass(10 * time.Second)
	greedy, modest := two[0], two[1]
	for _, s := range w.hostile() {
		w.count("a scene: turns in a queue")
		var much []*ask
		for range 60 {
			much = append(much, greedy.tell(s, "slow"))
		}
		w.pass(2 * time.Second)
		began := w.book.moment()
		a := modest.tell(s, "slow")
		w.answered(a, 2*time.Minute)
		if a.failed {
			w.broken("%s was refused with %s %s; its client has asked for one thing, and %s for %d", a, a.fault, a.text, greedy.name, len(much))
		}
		before := 0
		if r := w.book.runs[a.nonce]; r != nil {
			for _, b := range much {
				if other := w.book.runs[b.nonce]; other != nil && other.began > began && other.began < r.began {
					before++
				}
			}
		}
		if before > 4 { // two slots, and those on their way
			w.broken("%s waited for %d calls of %s that began after it had come", a, before, greedy.name)
		}
		w.pass(2 * time.Minute)
	}
	w.reload(was)
	w.pass(10 * time.Second)
}

// What may become of a server while the gateway is away.
const (
	asBefore = iota
	changes
	isDown
	hangs
)

// restarted: the gateway stops, and another one takes its place that has its state file. What servers have offered is listed at once, whatever
// has become of them; calls wait for those that start, and fail when they cannot.
func (w *world) restarted() {
	some := w.someone(func(*client) bool { return true })
	if !w.p.Remembers || len(some) == 0 || slices.Contains(w.p.Unseen, "restarted") {
		return
	}
	w.trace("— restarted —")
	w.count("a scene: the gateway is restarted")
	w.awake()
	w.pass(5 * time.Second)
	fates, remembered := map[*server]int{}, map[*server][]string{}
	for i, s := range w.servers {
		remembered[s] = w.offered(i, nil)
	}
	w.stop()
	if w.failed() {
		return
	}
	for _, s := range w.hostile() {
		switch fates[s] = w.crng.IntN(4); fates[s] {
		case changes:
			s.change()
		case isDown:
			s.down = true
		case hangs:
			s.hangs = true
		}
		w.trace("%s: %d", s.name, fates[s])
	}
	w.open()
	for _, c := range w.clients {
		c.pipe.Handler, c.pipe.Budget = w.gateway.Front(), w.gateway.Budget()
		c.sealed = nil
		if !c.modern {
			c.begin("")
		}
	}
	w.firstLists(fates, remembered)
	w.firstCalls(some, fates)
	for _, s := range w.servers {
		s.down, s.hangs = false, false
	}
	w.pass(3 * time.Minute)
	for _, c := range w.clients {
		c.comeTo()
	}
	w.pass(time.Minute)
	w.relist()
	w.lists()
	for _, c := range w.clients {
		if c.ready() && len(c.cached) > 0 {
			w.broken("%s is told that %v are only remembered; their servers have been asked", c.name, c.cached)
		}
	}
	w.law("after the restart")
}

// firstLists: the first list holds what was remembered, and says so of servers that cannot be asked.
func (w *world) firstLists(fates map[*server]int, remembered map[*server][]string) {
	w.pass(100 * time.Millisecond)
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		a := c.send("tools/list", "", "")
		if w.answered(a, time.Second); a.answers == 0 || a.failed {
			w.broken("%s was answered %d times, %s %s; what servers have offered is known", a, a.answers, a.fault, a.text)
			return
		}
		for i, s := range w.servers {
			if w.onlyMeta() {
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
			now := w.offered(i, c)
			slices.Sort(now)
			out := fates[s] == isDown || fates[s] == hangs
			switch {
			case !slices.Equal(names, known) && (out || !slices.Equal(names, now)):
				w.broken("%s lists %v of %s, which had %v, and has %v now (%d)", c.name, names, s.name, known, now, fates[s])
			case out && !slices.Equal(cached, known):
				w.broken("%s lists %v of %s, and says only of %v that they are remembered (%d)", c.name, names, s.name, cached, fates[s])
			}
		}
	}
}

// firstCalls: a call waits for a server that starts, as long as calls may wait; of one that cannot be started it is told so.
func (w *world) firstCalls(some []*client, fates map[*server]int) {
	some = slices.DeleteFunc(slices.Clone(some), func(c *client) bool { return !c.ready() })
	if len(some) == 0 || w.failed() {
		return
	}
	waits := slices.ContainsFunc(w.servers, func(s *server) bool { return fates[s] == hangs || fates[s] == isDown })
	calls, began := map[*server]*ask{}, time.Now()
	for _, s := range w.servers {
		calls[s] = some[w.crng.IntN(len(some))].call(s.name+"_a", 0, "")
	}
	most := w.p.Queue.Timeout
	w.pass(most - 100*time.Millisecond)
	for _, s := range w.servers {
		if a := calls[s]; fates[s] == hangs && a.answers > 0 && a.fault != "OVERLOADED" && s.wellFor(began) {
			w.broken("%s was answered with %s %s; %s is in its first start, and calls may wait for %v", a, a.fault, a.text, s.name, most)
		}
	}
	w.pass(30 * time.Second)
	for _, s := range w.servers {
		a := calls[s]
		ok := !a.failed
		switch fates[s] {
		case hangs:
			ok = a.fault == "QUEUE_TIMEOUT" || a.fault == "SERVER_UNAVAILABLE" || a.fault == "NO_BACKENDS_AVAILABLE"
		case isDown:
			ok = a.fault == "SERVER_UNAVAILABLE" || a.fault == "NO_BACKENDS_AVAILABLE" || a.fault == "QUEUE_TIMEOUT" && waits
		default:
			ok = ok || a.fault == "QUEUE_TIMEOUT" && waits // the others may take all turns to start
		}
		if a.fault == "OVERLOADED" { // its client has made others, too
			ok = true
		}
		if a.answers != 1 || !ok {
			w.broken("%s was answered %d times, %q %s; %s: %d", a, a.answers, a.fault, a.text, s.name, fates[s])
		}
	}
}

// wellFor reports whether none of the server's connections has had its end since.
func (s *server) wellFor(since time.Time) bool {
	return len(s.living()) > 0 && !slices.ContainsFunc(s.living(), func(c *conn) bool { return c.opened.After(since) })
}
