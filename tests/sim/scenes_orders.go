package sim

import (
	"fmt"
	"path"
	"slices"
	"time"

	"goblin-actor/internal/config"
)

// Scenes of orders in which things seldom happen by themselves: a word between a question and its answer, a switch between
// two others, an actor that has no time while others tell it much.

// occupied leaves the actors whose full names match without a turn for a while.
func (w *world) occupied(pattern string, d time.Duration) {
	for _, m := range w.gateway.Mailboxes() {
		if matched, _ := path.Match(pattern, m.Name); matched {
			w.fate.occupy(m.Name, d)
		}
	}
}

// changed puts a configuration in force that differs from the one there is.
func (w *world) changed(change func(*config.Config)) {
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	change(&cfg)
	w.reload(cfg)
}

func (w *world) switched(i int, off bool) {
	w.changed(func(cfg *config.Config) {
		for _, at := range w.entries(cfg, i) {
			cfg.Servers[at].Disabled = off
		}
	})
}

// legacy is a client with a session, nil = there is none.
func (w *world) legacy() *client {
	some := w.someone(func(c *client) bool { return !c.modern })
	if len(some) == 0 {
		return nil
	}
	return some[0]
}

// besideAQuestion: a log line of a process belongs to the only call that does not wait for an answer, whoever made it.
func (w *world) besideAQuestion() {
	some := w.someone(func(c *client) bool { return !c.modern && c.answers && !c.old })
	if len(some) == 0 {
		return
	}
	was := w.config
	w.changed(func(cfg *config.Config) { // so that both calls are at one process
		for i := range cfg.Servers {
			cfg.Servers[i].Replicas, cfg.Servers[i].MaxConcurrent = 1, 8
		}
	})
	w.pass(20 * time.Second)
	a := some[0]
	for _, s := range w.servers {
		for _, b := range w.someone(func(c *client) bool { return c != a }) {
			if s.speaks(false) && s.Members == 0 && !s.isolates() {
				w.lineBeside(s, a, b)
			}
		}
	}
	w.reload(was)
	w.pass(20 * time.Second)
}

// lineBeside has the server say something about b's call while a's waits for its client.
func (w *world) lineBeside(s *server, a, b *client) {
	w.count("a scene: a line beside a question")
	for _, c := range w.someone(func(c *client) bool { return !c.modern }) {
		c.send("logging/setLevel", "", `,"level":"info"`)
	}
	a.mute, b.verbose = true, true
	x := a.tell(s, "ask")
	w.pass(2 * time.Second)
	y := b.tell(s, "log")
	w.pass(3 * time.Second)
	if line := fmt.Sprintf(`"of %d"`, y.nonce); x.answers == 0 && y.answers == 1 && !y.failed {
		for _, c := range w.someone(func(*client) bool { return true }) {
			if c.lines[line] != (c == b) {
				w.broken("%s was told the line of %s: %v; it was the only call that ran", c.name, y, c.lines[line])
			}
		}
	}
	a.giveUp(x)
	w.pass(2 * time.Second)
	a.mute, b.verbose = false, false
}

// changedMind: a client subscribes, and takes it back before the server has said yes. It is told both.
func (w *world) changedMind() {
	c := w.legacy()
	if c == nil {
		return
	}
	for _, s := range w.servers {
		w.count("a scene: unsubscribed before the yes")
		yes, no := c.about("subscribe", s.quiet), c.about("unsubscribe", s.quiet)
		w.pass(10 * time.Second)
		if yes.answers == 0 || no.answers == 0 {
			w.broken("%s was answered %d times, and %s, which took it back, %d times", yes, yes.answers, no, no.answers)
		}
	}
}

// switchedOff: a server is switched off while somebody waits for its yes, and on, off and on again before it has gone. Who has
// subscribed meanwhile is told of changes.
func (w *world) switchedOff() {
	c := w.legacy()
	if c == nil {
		return
	}
	for i, s := range w.servers {
		w.count("a scene: a server switched off while it is asked")
		a := c.about("subscribe", s.quiet)
		w.pass(time.Duration(w.crng.IntN(8)) * time.Millisecond)
		w.switched(i, true)
		w.pass(10 * time.Second)
		if a.answers == 0 {
			w.broken("%s is not answered; %s was switched off 10 s ago", a, s.name)
		}
		w.switched(i, false)
		w.pass(time.Minute)
		w.wanted[c.name+" "+s.quiet] = true
		c.about("subscribe", s.quiet)
		w.pass(5 * time.Second)
		w.switched(i, true)
		w.switched(i, false)
		w.pass(time.Minute)
		b := c.tell(s, "slow")
		w.pass(20 * time.Second)
		if b.answers == 0 || b.failed {
			w.broken("%s was answered %d times, %s %s; %s was switched on a minute ago", b, b.answers, b.fault, b.text, s.name)
		}
		w.hears(c, s, "it was switched off and on")
		c.about("unsubscribe", s.quiet)
		delete(c.subs, s.quiet)
		w.pass(5 * time.Second)
	}
}

// hears: a client that has subscribed to the quiet resource of a server is told that it changes, whatever has happened.
func (w *world) hears(c *client, s *server, happened string) {
	s.update(s.quiet, "")
	w.pass(5 * time.Second)
	if sub := c.subs[s.quiet]; sub != nil && c.stream != nil && sub.told < s.changed[s.quiet] {
		w.broken("%s was not told that %s has changed; %s", c.name, s.quiet, happened)
	}
}

// anotherReplica: the process that tells of changes dies and does not come back. Another one is asked.
func (w *world) anotherReplica() {
	for _, s := range w.servers {
		for _, c := range w.someone(func(c *client) bool { return !c.modern && c.stream != nil }) {
			living := s.living()
			if s.http || len(living) < 2 || !s.speaks(false) || s.isolates() {
				continue
			}
			w.count("a scene: the replica that tells of changes dies")
			w.wanted[c.name+" "+s.quiet] = true
			c.about("subscribe", s.quiet)
			w.pass(5 * time.Second)
			i := slices.IndexFunc(living, func(x *conn) bool { return x.subs[s.quiet] })
			if i < 0 || c.subs[s.quiet] == nil {
				continue
			}
			s.down = true
			living[i].die()
			w.pass(10 * time.Second)
			w.hears(c, s, "its replica died, and another one is there")
			s.down = false
			c.about("unsubscribe", s.quiet)
			delete(c.subs, s.quiet)
			w.pass(time.Minute)
			break
		}
	}
}

// floods: a server says more than anybody can hand on, and whoever is to hand it on has no time.
func (w *world) floods() {
	if w.p.Seed%4 != 0 {
		return
	}
	c := w.legacy()
	if c == nil {
		return
	}
	for _, s := range w.servers {
		w.count("a scene: a flood")
		w.wanted[c.name+" "+s.uris[0]] = true
		c.about("subscribe", s.uris[0])
		a := c.tell(s, "flood")
		w.fate.run(time.Now().Add(time.Second), func() bool { return w.book.runs[a.nonce] != nil || w.failed() })
		w.occupied("gateway/session/*", 8*time.Second)
		w.pass(30 * time.Second)
		w.occupied("gateway/pool/"+s.name, 8*time.Second)
		for range 6000 {
			s.update(s.uris[0], "")
		}
		w.pass(30 * time.Second)
	}
}

// crowd: more calls come than a backend has room for, while it has no time. Each is answered, and leaves nothing.
func (w *world) crowd() {
	some := w.someone(func(*client) bool { return true })
	if w.p.Seed%4 != 1 || len(some) == 0 {
		return
	}
	w.count("a scene: a crowd of calls")
	was := w.config
	w.changed(func(cfg *config.Config) {
		cfg.Limits.MaxInFlightPerClient = 5000
		for i := range cfg.Servers {
			cfg.Servers[i].MaxConcurrent, cfg.Servers[i].Queue.Size = 2000, 2000
		}
	})
	w.pass(10 * time.Second)
	c, s := some[0], w.servers[0]
	w.occupied("gateway/pool/"+s.name+"/backend/*", 10*time.Second)
	rounds := 24
	if w.p.Wide { // more connections answer at once than a session has turns: its mailbox takes as many results as it has calls
		rounds = 12
	}
	for range rounds {
		for range 100 {
			c.tell(s, "slow")
		}
		w.pass(200 * time.Millisecond)
	}
	w.pass(time.Minute)
	w.reload(was)
	w.pass(10 * time.Second)
}
