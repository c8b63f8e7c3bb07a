package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"goblin-actor/internal/config"
)

// storm runs the phase in which clients, servers and the operator act at random and faults happen.
func (w *world) storm() {
	end := time.Now().Add(w.p.StormTime)
	w.setNetwork()
	for _, c := range w.clients {
		if c.honest {
			w.repeat(end, c.actHonestly)
		} else {
			w.repeat(end, c.act)
		}
		if c.modern {
			w.scheduler.After(c.latency(), c.listen)
		}
	}
	if w.p.Wide {
		for _, c := range w.clients {
			if !c.honest {
				w.repeat(end, c.maybeChangeHeader)
			}
		}
	}
	if w.p.Authenticated {
		w.repeat(end, w.maybeRevoke)
		w.repeat(end, w.maybeIntrude)
	}
	for _, s := range w.hostile() {
		w.repeat(end, s.actAlone)
	}
	w.repeat(end, w.maybeReconfigure)
	w.scheduler.run(end, func() bool { return w.failed() })
}

// repeat performs an act at random times until the end. Each act has a number and its own random source, so that
// leaving one out does not change the others.
func (w *world) repeat(end time.Time, do func()) {
	w.activities++
	pace := rand.New(rand.NewPCG(w.p.Seed, 1000+w.activities))
	var next func()
	next = func() {
		if w.calm || time.Now().After(end) {
			return
		}
		w.acts++
		if number := w.acts; !w.skipped[number] && (w.p.MaxActs == 0 || number <= w.p.MaxActs) {
			w.withOwnRandom(number, do)
		}
		w.scheduler.After(time.Duration(pace.Int64N(int64(2*w.p.Pace))), next)
	}
	w.scheduler.After(time.Duration(pace.Int64N(int64(2*w.p.Pace))), next)
}

// withOwnRandom performs an act with its own random source.
func (w *world) withOwnRandom(number int, do func()) {
	srng, crng := w.serverRand, w.clientRand
	w.serverRand = rand.New(rand.NewPCG(w.p.Seed, 1<<32+uint64(number)))
	w.clientRand = rand.New(rand.NewPCG(w.p.Seed, 2<<32+uint64(number)))
	do()
	w.serverRand, w.clientRand = srng, crng
}

// actAlone performs a random action of a server.
func (s *server) actAlone() {
	w := s.w
	if living := s.liveConns(); w.p.Wide && len(living) > 0 && w.serverRand.IntN(5) == 0 {
		living[w.serverRand.IntN(len(living))].sendIdleLog()
	}
	switch how := w.serverRand.IntN(100); {
	case how < 4:
		s.changeTools()
	case how < 14:
		s.update(s.uris[w.serverRand.IntN(len(s.uris))], []string{"", "/part"}[w.serverRand.IntN(2)])
	case how < 15 && w.fault(1000):
		for range 300 {
			s.update(s.uris[0], "")
		}
		w.attackStarted("a flood of updates")
	case how < 16 && w.fault(500):
		for range 100 {
			s.changeTools()
		}
		w.attackStarted("a flood of list changes")
	case how < 17 && w.fault(1000):
		if living := s.liveConns(); len(living) > 0 {
			w.count("a server that died")
			living[w.serverRand.IntN(len(living))].die()
		}
	case how < 18 && w.fault(200):
		w.count("a server down for a while")
		s.down = true
		for _, c := range slices.Clone(s.liveConns()) {
			c.die()
		}
		w.scheduler.After(w.userDelay()*2, func() { s.down = false })
	}
}

// maybeReconfigure occasionally changes the configuration.
func (w *world) maybeReconfigure() {
	if w.serverRand.IntN(100) > 1 || !w.fault(1000) {
		return
	}
	i := w.serverRand.IntN(len(w.hostile()))
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	c := &cfg.Servers[i]
	switch w.serverRand.IntN(4) {
	case 0:
		c.Disabled = !c.Disabled
		w.count("a server enabled or disabled")
	case 1:
		c.MaxConcurrent = 1 << w.serverRand.IntN(5)
		w.count("a changed limit")
	case 2:
		if len(c.Tools.Deny) == 0 {
			c.Tools.Deny = []string{"b"}
		} else {
			c.Tools.Deny = nil
		}
		w.count("a changed filter")
	case 3:
		if !w.servers[i].http {
			c.Replicas = 1 + w.serverRand.IntN(3)
			w.count("a changed number of replicas")
		}
	}
	w.reload(cfg)
	if w.serverRand.IntN(3) == 0 {
		w.maybeReconfigure()
	}
}

// reload reloads the gateway's configuration.
func (w *world) reload(cfg config.Config) {
	w.trace("reload")
	w.lastReload = w.history.moment()
	w.config = cfg
	given := cfg
	for _, n := range w.nodes {
		n.gateway.Reload(&given)
	}
}

// settle ends all faults, lets every client read, waits, and checks the invariants. Then it plays the scenes.
func (w *world) settle() {
	w.trace("— calm —")
	w.calm = true
	w.setNetwork()
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	for i := range cfg.Servers {
		cfg.Servers[i].Disabled = false
		if cfg.Servers[i].Isolates() { // from now on every call must succeed
			cfg.Servers[i].MaxBackends = 64
		}
	}
	w.reload(cfg)
	w.scheduler.delayed = 0
	for _, s := range w.servers {
		s.down = false
	}
	for _, c := range w.clients {
		c.stalled = false
	}
	w.startWatchers()
	w.startRecordings()
	w.keepPayloads()
	w.advance(w.settleTime())
	w.checkRecordings("after the storm")
	w.checkPayloads("after the storm")
	w.checkQuiet("after the storm")
	w.checkFinished("after the storm")
	w.checkStreams("after the storm")
	for _, c := range w.clients {
		c.recover()
	}
	w.advance(time.Minute)
	for _, s := range w.servers { // a last change, of which every subscriber must be notified
		s.changeTools()
		for _, uri := range s.uris {
			s.update(uri, "/part")
		}
	}
	if !w.p.Bus { // the first recordings are still kept
		w.startRecordings()
	}
	w.keepPayloads()
	w.advance(2 * time.Minute)
	w.checkRecordings("before the scenes")
	w.checkPayloads("before the scenes")
	for _, c := range w.clients {
		w.checkUpdates(c)
	}
	w.compareLists()
	w.checkStatus()
	w.playScenes()
	if !w.failed() {
		w.history.check(w)
	}
}

// settleTime is how long it takes until all calls of the storm have ended, and all idle sessions.
func (w *world) settleTime() time.Duration {
	if w.p.Bus {
		return 7 * time.Minute
	}
	return 20 * time.Minute
}

func (w *world) advance(d time.Duration) {
	w.scheduler.run(time.Now().Add(d), func() bool { return w.failed() })
}

// finish closes all clients and stops the gateway.
func (w *world) finish() {
	for _, c := range w.clients {
		if !c.modern && c.session != "" && c.state == "ready" {
			c.end()
		}
		c.state = "gone"
		if c.stream != nil {
			c.dropReader(c.stream)
		}
		if c.listening != nil && c.listening.reader != nil {
			c.dropReader(c.listening.reader)
		}
		c.resumeReads()
	}
	w.advance(w.p.Limits.SessionIdle + time.Minute)
	w.checkEmpty()
	w.checkStreams("at the end")
	w.checkPayloads("at the end")
	w.stopWatchers()
	w.checkLogLevels()
	for _, n := range w.nodes {
		if used := n.gateway.Budget().Used(); used != 0 && !w.failed() {
			n.violated("%d bytes are still counted as buffered, although all clients left", used)
		}
	}
	last := w.callBeforeStop()
	w.stopping = true
	for _, n := range w.nodes {
		if took := n.stop(); took > 9*time.Second && !w.failed() {
			n.violated("stopping took %v", took)
		}
	}
	if last != nil && !w.failed() && (last.answers != 1 || last.code == "SHUTTING_DOWN") {
		w.violated("the gateway stopped without completing %s, although there was enough time: %d responses, error %q", last, last.answers, last.code)
	}
}
