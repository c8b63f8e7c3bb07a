package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Bounds of the law of progress: what an honest client asks of an honest server is answered with a result, whatever the others
// send meanwhile. Each turn of anybody takes time (see fate), so that waiting behind a flood is seen.
const (
	promisedIn = 200 * time.Millisecond // of which the network and the server need 30 ms, 110 when hundreds of others have something to say (seed 41207: 152 ms)
	honestFrom = 20 * time.Second       // so long the gateway and its servers may take to start
)

// promise says when an honest client has asked.
type promise struct {
	at time.Time
}

// addHonest adds a client and a server that do nobody any harm, and to whom nothing happens but what others do.
func (p *Params) addHonest() {
	p.Limits.MaxSessions++
	r := rand.New(rand.NewPCG(p.Seed, 6))
	p.Servers = append(p.Servers, ServerParams{Honest: true, Modern: r.IntN(2) == 0, HTTP: r.IntN(2) == 0, Replicas: 1})
	p.Clients = append(p.Clients, ClientParams{Honest: true, Modern: r.IntN(3) > 0})
	if r.IntN(2) == 0 { // else others may fill it, and requests have no shares of it
		p.Limits.MaxBufferedBytes <<= 6
	}
}

// calm reports whether the server answers at once, and does nothing else.
func (s *server) calm() bool { return s.honest || s.w.calm }

func (s *server) fault(n int) bool { return !s.honest && s.w.fault(n) }

// lag is how long bytes take to the server and from it.
func (s *server) lag() time.Duration { return s.w.lag(s.calm()) }

// think is how long the server works.
func (s *server) think() time.Duration { return s.w.think(s.calm()) }

// lag is how long bytes take to the client and from it.
func (c *client) lag() time.Duration { return c.w.lag(c.honest || c.w.calm) }

// hostile are the servers that are not honest: only they do something by themselves, and only they are touched by a reload.
// They come first.
func (w *world) hostile() []*server {
	return slices.DeleteFunc(slices.Clone(w.servers), func(s *server) bool { return s.honest })
}

// attacked has the honest ask something at the worst moment: somebody has just done this to the gateway.
func (w *world) attacked(how string) {
	w.count(how)
	for _, c := range w.clients {
		if c.honest {
			c.wonder()
		}
	}
}

// wonder asks something that has to be answered, of an honest server or of the gateway alone.
func (c *client) wonder() {
	w := c.w
	if time.Since(w.began) < honestFrom || len(w.promises) > 0 {
		return // one after the other, so that none waits for its own
	}
	if !c.modern && c.state == "" {
		c.promised(c.begin(""))
		return
	}
	if !c.ready() {
		return
	}
	s := w.servers[slices.IndexFunc(w.servers, func(s *server) bool { return s.honest })]
	switch how := w.crng.IntN(10); {
	case how < 6:
		c.promised(c.call(s.name+"_a", 0, ""))
	case how < 8:
		c.promised(c.send("tools/list", "", ""))
	default:
		c.promised(c.send("resources/read", s.uris[0], fmt.Sprintf(`,"uri":%q`, s.uris[0])))
	}
}

// promised notes that the gateway owes a result.
func (c *client) promised(a *ask) {
	a.promise = &promise{time.Now()}
	if a.answers > 0 { // it was refused at the door
		c.w.kept(a)
		return
	}
	c.w.promises = append(c.w.promises, a)
}

// inTime is the bound. Where turns are put off, a request passes about thirty of them, each by up to two seconds; and on an actor that all use,
// such as a server's only connection, it waits behind as much as all clients may have in flight, each by as long as a turn takes on average.
func (w *world) inTime() time.Duration {
	crowd := time.Duration(len(w.p.Clients)*w.p.Limits.MaxInFlightPerClient*w.p.Sloth) * time.Millisecond // Sloth thousandths of the turns, by a second
	return promisedIn + min(time.Duration(w.p.Sloth)*2*time.Second, 30*time.Second) + crowd
}

// kept holds an answer to an honest request against the law.
func (w *world) kept(a *ask) {
	w.promises = slices.DeleteFunc(w.promises, func(b *ask) bool { return a == b })
	if w.failed() {
		return
	}
	took, silence := time.Since(a.promise.at), time.Since(w.letIn)
	w.slowest = max(w.slowest, took)
	if a.text == "too much is buffered" { // see addHonest
		w.count("an honest request for whose bytes there was no room")
		return
	}
	w.letIn = time.Now()
	switch {
	case silence >= w.p.Limits.SessionIdle && strings.HasPrefix(a.text, "Session not found"): // what is refused at the door does not reach it
		w.count("an honest session that nothing reached for so long that it ended")
	case a.fault == "QUEUE_TIMEOUT" && w.p.Sloth > 0: // a pool whose turns are put off has no time to give it a slot
		w.count("an honest request that waited for a pool without turns")
	case a.failed:
		w.broken("%s, all honest, was answered with %s %s", a, a.fault, a.text)
	case took > w.inTime():
		w.broken("%s, all honest, was answered after %v; %v is the bound", a, took, w.inTime())
	}
}

// unkept notices promises that are not kept at all.
func (w *world) unkept() {
	for _, a := range w.promises {
		if took := time.Since(a.promise.at); took > w.inTime() && !w.failed() {
			w.broken("%s, all honest, is not answered after %v", a, took)
		}
	}
}
