package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Limits of the progress invariant: a request of an honest client to an honest server gets a result in time, whatever
// other clients send. Each turn takes time (see scheduler), so that waiting behind a flood is measurable.
const (
	// guaranteedTime includes 30 ms for the network and the server. If messages of hundreds of other clients are due
	// first, that part grows to 110 ms. With seed 41207, a request took 152 ms in all.
	guaranteedTime = 200 * time.Millisecond
	honestStart    = 20 * time.Second // startup time of the gateway and its servers, in which nothing is guaranteed
)

// guarantee marks a request that must get a result in time.
type guarantee struct {
	at time.Time
}

// addHonest adds a client and a server that cause no faults. Only what other clients and servers do affects them.
func (p *Params) addHonest() {
	p.Limits.MaxSessions++
	r := rand.New(rand.NewPCG(p.Seed, 6))
	p.Servers = append(p.Servers, ServerParams{Honest: true, Modern: r.IntN(2) == 0, HTTP: r.IntN(2) == 0, Replicas: 1})
	p.Clients = append(p.Clients, ClientParams{Honest: true, Modern: r.IntN(3) > 0})
	if r.IntN(2) == 0 { // otherwise other clients can fill the buffer, and requests have no reserved share
		p.Limits.MaxBufferedBytes <<= 6
	}
}

// isCalm reports whether the server answers immediately and does nothing by itself.
func (s *server) isCalm() bool { return s.honest || s.w.calm }

func (s *server) fault(n int) bool { return !s.honest && s.w.fault(n) }

// latency returns the transfer time of a message between the gateway and the server.
func (s *server) latency() time.Duration { return s.w.latency(s.isCalm()) }

// workTime returns how long the server works on a request.
func (s *server) workTime() time.Duration { return s.w.workTime(s.isCalm()) }

// latency returns the transfer time of a message between the client and the gateway.
func (c *client) latency() time.Duration { return c.w.latency(c.honest || c.w.calm) }

// hostile returns the servers that are not honest. Only these act by themselves, and only these are changed by reloads.
// They come first in w.servers.
func (w *world) hostile() []*server {
	return slices.DeleteFunc(slices.Clone(w.servers), func(s *server) bool { return s.honest })
}

// attackStarted makes the honest clients send requests at the worst moment: right after an attack on the gateway.
func (w *world) attackStarted(how string) {
	w.count(how)
	for _, c := range w.clients {
		if c.honest {
			c.actHonestly()
		}
	}
}

// actHonestly sends a request that must succeed, to an honest server or to the gateway alone.
func (c *client) actHonestly() {
	w := c.w
	if time.Since(w.began) < honestStart || len(w.guaranteed) > 0 {
		return // one at a time, so that none waits for another
	}
	if !c.modern && c.state == "" {
		c.mustSucceed(c.initialize())
		return
	}
	if !c.ready() {
		return
	}
	s := w.servers[slices.IndexFunc(w.servers, func(s *server) bool { return s.honest })]
	switch how := w.clientRand.IntN(10); {
	case how < 6:
		c.mustSucceed(c.call(s.name+"_a", 0, ""))
	case how < 8:
		c.mustSucceed(c.send("tools/list", "", ""))
	default:
		c.mustSucceed(c.send("resources/read", s.uris[0], fmt.Sprintf(`,"uri":%q`, s.uris[0])))
	}
}

// mustSucceed records that the request must get a result.
func (c *client) mustSucceed(a *clientRequest) {
	a.guarantee = &guarantee{time.Now()}
	if a.answers > 0 { // refused at once
		c.w.checkGuarantee(a)
		return
	}
	c.w.guaranteed = append(c.w.guaranteed, a)
}

// guaranteeLimit returns the time limit of guaranteed requests. A request takes about thirty turns, each of which may
// be delayed by up to two seconds, so delayed turns add DelayedTurns times two seconds, at most 30 s. At an actor that
// all clients use, such as a server's only connection, a request also waits for as many turns as all clients may have
// calls in flight. Each takes the average delay: DelayedTurns milliseconds.
func (w *world) guaranteeLimit() time.Duration {
	crowd := time.Duration(len(w.p.Clients)*w.p.Limits.MaxInFlightPerClient*w.p.DelayedTurns) * time.Millisecond
	return guaranteedTime + min(time.Duration(w.p.DelayedTurns)*2*time.Second, 30*time.Second) + crowd
}

// askTime is how long a new guest waits for the answer of its home.
const askTime = 300 * time.Millisecond

// passingTime returns how long the way of the request to other nodes may take, and the way of its response. It includes the question of a
// guest to its home.
func (a *clientRequest) passingTime() (d time.Duration) {
	if a.client.w.p.Bus && !a.client.modern {
		d = askTime
	}
	if a.route != nil {
		d += time.Duration(2*a.route.sent) * maxDelay
	}
	return d
}

// checkGuarantee checks the response to a guaranteed request.
func (w *world) checkGuarantee(a *clientRequest) {
	w.guaranteed = slices.DeleteFunc(w.guaranteed, func(b *clientRequest) bool { return a == b })
	if w.failed() {
		return
	}
	took, silence := time.Since(a.guarantee.at), time.Since(w.lastAdmitted)
	w.slowest = max(w.slowest, took)
	if a.message == "too many bytes are buffered" { // see addHonest
		w.count("an honest request refused for lack of buffer space")
		return
	}
	w.lastAdmitted = time.Now()
	switch {
	case silence >= w.p.Limits.SessionIdle && strings.HasPrefix(a.message, "Session not found"): // requests refused at once do not reach the session
		w.count("an honest session ended as idle, because its requests were refused")
	case a.code == "QUEUE_TIMEOUT" && w.p.DelayedTurns > 0: // a pool whose turns are delayed may assign no slot in time
		w.count("an honest request that timed out at a pool without turns")
	case a.failed:
		w.violated("%s, guaranteed to succeed, was answered with %s %s", a, a.code, a.message)
	case took > w.guaranteeLimit()+a.passingTime():
		w.violated("%s, guaranteed to succeed, was answered after %v; the limit is %v", a, took, w.guaranteeLimit()+a.passingTime())
	}
}

// checkGuarantees checks that no guaranteed request is overdue.
func (w *world) checkGuarantees() {
	for _, a := range w.guaranteed {
		if took := time.Since(a.guarantee.at); took > w.guaranteeLimit()+a.passingTime() && !w.failed() {
			w.violated("%s, guaranteed to succeed, has no response after %v", a, took)
		}
	}
}
