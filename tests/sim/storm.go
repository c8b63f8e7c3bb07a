package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing/synctest"
	"time"

	"goblin-actor/internal/config"
)

// storm: everything that may happen does.
func (w *world) storm() {
	end := time.Now().Add(w.p.Lasts)
	for _, c := range w.clients {
		if c.honest {
			w.again(end, c.wonder)
		} else {
			w.again(end, c.act)
		}
		if c.modern {
			w.fate.After(c.lag(), c.listen)
		}
	}
	if w.p.Wide {
		for _, c := range w.clients {
			if !c.honest {
				w.again(end, c.wander)
			}
		}
	}
	if w.p.Asked {
		w.again(end, w.revoke)
		w.again(end, w.intrude)
	}
	for _, s := range w.hostile() {
		w.again(end, s.act)
	}
	w.again(end, w.operate)
	w.fate.run(end, func() bool { return w.failed() })
}

// again does something now and then until the end. Each act has a number and a chance of its own, so that the others stay
// what they are when it is left out.
func (w *world) again(end time.Time, do func()) {
	w.lines++
	pace := rand.New(rand.NewPCG(w.p.Seed, 1000+w.lines))
	var next func()
	next = func() {
		if w.calm || time.Now().After(end) {
			return
		}
		w.acts++
		if number := w.acts; !w.without[number] && (w.p.Acts == 0 || number <= w.p.Acts) {
			w.drawing(number, do)
		}
		w.fate.After(time.Duration(pace.Int64N(int64(2*w.p.Pace))), next)
	}
	w.fate.After(time.Duration(pace.Int64N(int64(2*w.p.Pace))), next)
}

// drawing does an act with a chance of its own.
func (w *world) drawing(number int, do func()) {
	srng, crng := w.srng, w.crng
	w.srng = rand.New(rand.NewPCG(w.p.Seed, 1<<32+uint64(number)))
	w.crng = rand.New(rand.NewPCG(w.p.Seed, 2<<32+uint64(number)))
	do()
	w.srng, w.crng = srng, crng
}

// act is something a server does by itself.
func (s *server) act() {
	w := s.w
	if living := s.living(); w.p.Wide && len(living) > 0 && w.srng.IntN(5) == 0 {
		living[w.srng.IntN(len(living))].chat()
	}
	switch how := w.srng.IntN(100); {
	case how < 4:
		s.change()
	case how < 14:
		s.update(s.uris[w.srng.IntN(len(s.uris))], []string{"", "/part"}[w.srng.IntN(2)])
	case how < 15 && w.fault(1000):
		for range 300 {
			s.update(s.uris[0], "")
		}
		w.attacked("a flood of updates")
	case how < 16 && w.fault(500):
		for range 100 {
			s.change()
		}
		w.attacked("a flood of changed lists")
	case how < 17 && w.fault(1000):
		if living := s.living(); len(living) > 0 {
			w.count("a server that died")
			living[w.srng.IntN(len(living))].die()
		}
	case how < 18 && w.fault(200):
		w.count("a server that was away for a while")
		s.down = true
		for _, c := range slices.Clone(s.living()) {
			c.die()
		}
		w.fate.After(w.patience()*2, func() { s.down = false })
	}
}

// operate is something whoever runs the gateway does.
func (w *world) operate() {
	if w.srng.IntN(100) > 1 || !w.fault(1000) {
		return
	}
	i := w.srng.IntN(len(w.hostile()))
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	c := &cfg.Servers[i]
	switch w.srng.IntN(4) {
	case 0:
		c.Disabled = !c.Disabled
		w.count("a server switched on or off")
	case 1:
		c.MaxConcurrent = 1 << w.srng.IntN(5)
		w.count("a limit changed")
	case 2:
		if len(c.Tools.Deny) == 0 {
			c.Tools.Deny = []string{"b"}
		} else {
			c.Tools.Deny = nil
		}
		w.count("a filter changed")
	case 3:
		if !w.servers[i].http {
			c.Replicas = 1 + w.srng.IntN(3)
			w.count("replicas changed")
		}
	}
	w.reload(cfg)
	if w.srng.IntN(3) == 0 {
		w.operate()
	}
}

// reload gives the gateway another configuration.
func (w *world) reload(cfg config.Config) {
	w.trace("reload")
	w.reloads = w.book.moment()
	w.config = cfg
	given := cfg
	w.gateway.Reload(&given)
}

// settle: nothing goes wrong any more, all read, and much time passes.
func (w *world) settle() {
	w.trace("— calm —")
	w.calm = true
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	for i := range cfg.Servers {
		cfg.Servers[i].Disabled = false
		if cfg.Servers[i].Isolates() { // from now on each call is to have its result
			cfg.Servers[i].MaxBackends = 64
		}
	}
	w.reload(cfg)
	w.fate.sloth = 0
	for _, s := range w.servers {
		s.down = false
	}
	for _, c := range w.clients {
		c.stalled = false
	}
	w.pass(20 * time.Minute)
	w.law("after the storm")
	for _, c := range w.clients {
		c.comeTo()
	}
	w.pass(time.Minute)
	for _, s := range w.servers { // one last change, of which all have to hear
		s.change()
		for _, uri := range s.uris {
			s.update(uri, "/part")
		}
	}
	w.pass(2 * time.Minute)
	for _, c := range w.clients {
		w.told(c)
	}
	w.relist()
	w.lists()
	w.shown()
	w.scenes()
	if !w.failed() {
		w.book.check(w)
	}
}

func (w *world) pass(d time.Duration) {
	w.fate.run(time.Now().Add(d), func() bool { return w.failed() })
}

// end: all leave, and the gateway stops.
func (w *world) end() {
	for _, c := range w.clients {
		if !c.modern && c.session != "" && c.state == "ready" {
			c.watch(c.pipe.Delete(c.origin("", "")), nil)
		}
		c.state = "gone"
		if c.stream != nil {
			c.leaves(c.stream)
		}
		if c.listening != nil && c.listening.wire != nil {
			c.leaves(c.listening.wire)
		}
		c.wake()
	}
	w.pass(w.p.Limits.SessionIdle + time.Minute)
	w.books()
	w.levels()
	if used := w.gateway.Budget().Used(); used != 0 && !w.failed() {
		w.broken("%d bytes are still counted as buffered, and nobody is there", used)
	}
	last := w.oneMore()
	took := w.stop()
	if took > 9*time.Second && !w.failed() {
		w.broken("to stop took %v", took)
	}
	if last != nil && !w.failed() && (last.answers != 1 || last.fault == "SHUTTING_DOWN") {
		w.broken("the gateway stopped and left %s alone, which had all the time it needed: %d answers, %s", last, last.answers, last.fault)
	}
}

// stop ends the gateway, and returns how long that took.
func (w *world) stop() time.Duration {
	stopped := false
	began := time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.gateway.Stop(ctx, 10*time.Second); err != nil {
			w.broken("stop: %v; left: %v", err, w.gateway.Mailboxes())
		}
		stopped = true
		w.fate.wake()
	}()
	w.fate.run(time.Now().Add(2*time.Minute), func() bool { return stopped })
	synctest.Wait()
	took := time.Since(began)
	w.pass(time.Second)
	return took
}
