package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/upstream"
)

const completion = `{"completion":{"values":["x"]}}`

var logLevels = []string{"debug", "info", "notice", "warning", "error"}

// version returns the version that a client with sessions speaks.
func (c *client) version() string {
	if c.old {
		return "2025-03-26"
	}
	return "2025-11-25"
}

// logLevel returns the log level that a modern client requests for a call, or "".
func (c *client) logLevel() string {
	if c.wantsLogs {
		return "info"
	}
	if c.w.calm || c.w.clientRand.IntN(4) > 0 {
		return ""
	}
	return pick(c.w.clientRand, logLevels)
}

// complete requests completions of a prompt's argument.
func (c *client) complete(value string) *clientRequest {
	s := c.w.servers[c.w.clientRand.IntN(len(c.w.servers))]
	return c.completeAt(s, value)
}

func (c *client) completeAt(s *server, value string) *clientRequest {
	a := c.send("completion/complete", "", fmt.Sprintf(`,"ref":{"type":"ref/prompt","name":"%s_p"},"argument":{"name":"x","value":%q}`, s.name, value))
	a.item = s.name + "_p"
	return a
}

// callWith calls a tool with an instruction; see follow.
func (c *client) callWith(s *server, do string) *clientRequest {
	nonce := c.w.history.nonces + 1
	c.w.instructionOf[nonce] = do
	return c.call(s.name+"_a", 0, "")
}

// follow does what the client's instruction tells the tool to do.
func (r *serverCall) follow(do string) {
	switch do {
	case "ask":
		r.askOne(`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
	case "roots":
		r.askOne(`"roots/list"`)
	case "log":
		r.c.send(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of %d"}}`, r.nonce)
		r.complete(time.Second)
	case "link":
		r.link = fmt.Sprintf(`{"type":"resource_link","uri":"x://%s/made/%d","name":"made"},`, r.c.s.name, r.nonce)
		r.complete(0)
	case "big":
		r.padding = strings.Repeat("x", 24<<10)
		r.complete(0)
	case "flood":
		lane := uint64(pipeLane)
		if r.c.link.http {
			lane = r.ticket
		}
		for i := range 3500 {
			r.c.link.emit(lane, upstream.Received{Ticket: lane, Status: 200,
				Frame: mustFrame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.token, i))})
		}
		r.complete(20 * time.Second)
	case "hold":
		r.complete(holdTime)
	default: // slow
		r.complete(3 * time.Second)
	}
}

// onlySpeaks reports whether the server has connections and all of them have the given era.
func (s *server) onlySpeaks(modern bool) bool {
	living := s.liveConns()
	return len(living) > 0 && !slices.ContainsFunc(living, func(c *conn) bool { return c.modern != modern })
}

// readyClients returns the ready clients without a project that the given function accepts.
func (w *world) readyClients(which func(*client) bool) (some []*client) {
	for _, c := range w.clients {
		if c.ready() && c.project == nil && which(c) { // clients in projects have scenes of their own
			some = append(some, c)
		}
	}
	return some
}

// scene is a conversation with a known result. Stored stories refer to its name.
type scene struct {
	name    string
	play    func()
	wide    bool // for wide stories only
	cluster bool // for clusters only
	bus     bool // for clusters with a bus only
}

func (w *world) allScenes() []scene {
	return []scene{
		{name: "roots", play: w.sceneRoots},
		{name: "abandoned questions", play: w.sceneAbandonedQuestion},
		{name: "log lines", play: w.sceneLogLines},
		{name: "completions", play: w.sceneCompletions},
		{name: "links", play: w.sceneLinks},
		{name: "slow reader", play: w.sceneSlowReader},
		{name: "fairness", play: w.sceneFairness},
		{name: "floods", play: w.sceneFloods},
		{name: "one machine", play: w.sceneOneMachine},
		{name: "abandoned calls", play: w.sceneAbandonedCalls},
		{name: "early unsubscribe", play: w.sceneUnsubscribeEarly},
		{name: "disabled server", play: w.sceneDisabledServer},
		{name: "replica dies", play: w.sceneReplicaDies},
		{name: "crowd", play: w.sceneCrowd},
		{name: "answered calls", play: w.sceneAnsweredCalls},
		{name: "new rules", play: w.sceneNewRules},
		{name: "idle stop", play: w.sceneIdleStop, wide: true},
		{name: "other projects", play: w.sceneOtherProjects, wide: true},
		{name: "queue turns", play: w.sceneQueueTurns, wide: true},
		{name: "guests", play: w.sceneGuests, cluster: true},
		{name: "thefts", play: w.sceneThefts, cluster: true},
		{name: "ending guests", play: w.sceneEndingGuests, cluster: true},
		{name: "canceled elsewhere", play: w.sceneCanceledElsewhere, bus: true},
		{name: "levels elsewhere", play: w.sceneLevelsElsewhere, bus: true},
		{name: "changes elsewhere", play: w.sceneChangesElsewhere, bus: true},
		{name: "used elsewhere", play: w.sceneUsedElsewhere, bus: true},
		{name: "ended elsewhere", play: w.sceneEndedElsewhere, bus: true},
		{name: "links elsewhere", play: w.sceneLinks, bus: true},
	}
}

// playScenes plays the scenes, after the storm.
func (w *world) playScenes() {
	for _, scene := range w.allScenes() {
		if w.failed() {
			return
		}
		if slices.Contains(w.p.SkippedScenes, scene.name) || scene.wide && !w.p.Wide || scene.cluster && !w.isCluster() || w.p.Bus != scene.bus && !scene.cluster {
			continue
		}
		w.trace("— %s —", scene.name)
		for _, c := range w.clients {
			if !c.modern && c.ready() {
				w.at(c.informed(), func() { c.send("ping", "", "") })
			}
			c.ignoresQuestions = false
		}
		w.advance(time.Second)
		w.recordServer()
		w.keepPayloads()
		scene.play()
		w.checkPayloads(scene.name)
		w.checkJoined(scene.name)
	}
	for _, c := range w.clients {
		c.ignoresQuestions = false
	}
	w.advance(w.p.Limits.ParkedCall + time.Minute)
	w.checkQuiet("after the scenes")
	w.checkMetrics()
	w.checkPayloads("after the scenes")
	w.sceneNodesEnd()
	w.sceneRestart()
}

// sceneRoots checks that a reload changes the roots of open connections.
func (w *world) sceneRoots() {
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	for i := range cfg.Servers {
		cfg.Servers[i].Roots = []string{"file:///later"}
	}
	w.reload(cfg)
	w.advance(time.Second)
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern && !c.answers }) {
		for _, s := range w.servers {
			if !s.onlySpeaks(false) {
				continue
			}
			w.count("a scene: roots after a reload")
			a := c.callWith(s, "roots")
			w.advance(5 * time.Second)
			if r := w.history.lastCall[a.nonce]; r != nil && !a.failed && !strings.Contains(r.c.roots, "file:///later") {
				w.violated("%s received the roots %s, but the configuration has others", r.c, r.c.roots)
			}
		}
	}
}

// sceneAbandonedQuestion cancels calls that wait for an answer of their client. The server request must be canceled as well.
func (w *world) sceneAbandonedQuestion() {
	for _, c := range w.readyClients(func(c *client) bool { return !c.modern && c.answers && !c.old }) {
		c.ignoresQuestions = true
		for _, s := range w.servers {
			w.count("a scene: a call canceled during its question")
			var a *clientRequest
			w.at(c.informed(), func() { a = c.callWith(s, "ask") })
			w.advance(2 * time.Second)
			if a.answers > 0 {
				continue
			}
			c.abandon(a)
			w.advance(3 * time.Second)
			for _, id := range sortedKeys(c.questions) {
				if c.questions[id] == a && !c.withdrawn[id] {
					w.violated("%s canceled %s, but its server request %s was not canceled", c.name, a, id)
				}
			}
		}
		c.ignoresQuestions = false
	}
}

// sceneCompletions requests completions. Legacy servers send the client a request before they complete. This must not
// make the completion of a modern client fail.
func (w *world) sceneCompletions() {
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		for _, s := range w.servers {
			w.count("a scene: a question during a completion")
			a := c.completeAt(s, "ask")
			w.advance(40 * time.Second)
			if a.failed && c.modern && c.seesServer(s) {
				w.violated("%s was answered with %s %s, although its server offers completions", a, a.code, a.message)
			}
		}
	}
}

// sceneLinks checks that resources that results link to can be read.
func (w *world) sceneLinks() {
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		for _, s := range w.servers {
			a := c.callWith(s, "link")
			w.advance(2 * time.Second)
			if a.link == "" {
				continue
			}
			w.count("a scene: a linked resource")
			var b *clientRequest
			w.at(a.knowsLink(s), func() { b = c.send("resources/read", a.link, fmt.Sprintf(`,"uri":%q`, a.link)) })
			w.advance(2 * time.Second)
			if b.code == "RESOURCE_NOT_FOUND" {
				w.violated("%s was refused with %s %s, but %s has the link from a result", b, b.code, b.message, c.name)
			}
		}
	}
}

// sceneSlowReader lets a client send many calls without reading the results. checkBuffered checks the limit meanwhile.
func (w *world) sceneSlowReader() {
	c := w.clients[int(w.p.Seed)%len(w.clients)]
	if !c.ready() {
		return
	}
	w.count("a scene: a slow reader")
	c.stalled = true
	for range 40 {
		c.callWith(w.servers[0], "big")
		w.advance(100 * time.Millisecond)
	}
	c.stalled = false
	w.advance(10 * time.Second)
}

// checkBuffered checks that responses to clients that do not read stay within the buffer limit, plus a little for each
// response.
func (w *world) checkBuffered() {
	waits, wires := 0, 0
	for _, c := range w.clients {
		for x := range c.reading {
			if x, ok := x.(interface{ Waiting() int }); ok {
				waits += x.Waiting()
				wires++
			}
		}
	}
	little := 2 << 10
	if w.listsMetaTools() { // responses of the size of such a list are buffered in any case
		little = 16 << 10
	}
	if most := int(w.p.Limits.MaxBufferedBytes) + wires*little + 32<<10; waits > most {
		w.violated("%d bytes wait for clients that do not read; limits.maxBufferedBytes is %d", waits, w.p.Limits.MaxBufferedBytes)
	}
}

// sceneFairness lets one client send many requests at once, and a second client one request soon after. The second
// client must not wait for most requests of the first.
func (w *world) sceneFairness() {
	two := distinctPrincipals(w.readyClients(func(c *client) bool { return c.modern }))
	if len(two) < 2 {
		return
	}
	w.count("a scene: a client with many requests next to one with few")
	greedy, modest := two[0], two[1]
	before, queued := greedy.wakeups, 0
	for range 120 {
		if a := greedy.send("tools/list", "", ""); a.answers == 0 {
			queued++
		}
	}
	was := modest.wakeups
	a := modest.send("tools/list", "", "")
	if a.answers > 0 || queued < 60 {
		return
	}
	w.scheduler.run(time.Now().Add(time.Second), func() bool { return modest.wakeups > was || w.failed() })
	if served := greedy.wakeups - before; served > queued/2 {
		w.violated("%s waited for %d of the %d requests that %s had sent", a, served, queued, greedy.name)
	}
	w.advance(time.Second)
}

// sceneOneMachine checks that calls of one client do not count toward the limit of another client at the same address.
func (w *world) sceneOneMachine() {
	two := distinctPrincipals(w.readyClients(func(c *client) bool { return c.modern }))
	if len(two) < 2 {
		return
	}
	w.count("a scene: two clients at one address")
	for range 2 * two[0].statelessActors() * w.p.Limits.MaxInFlightPerClient {
		two[0].callWith(w.servers[0], "slow")
	}
	var calls []*clientRequest
	for range two[1].statelessActors() {
		calls = append(calls, two[1].callWith(w.servers[0], "slow"))
	}
	w.advance(20 * time.Second)
	for _, a := range calls {
		if a.code == "OVERLOADED" && strings.Contains(a.message, "maxInFlightPerClient") {
			w.violated("%s was refused, although its client has few calls: %s", a, a.message)
		}
	}
}

// sceneAbandonedCalls lets a client abandon calls that wait for its answers. Abandoned calls must make room for new ones.
func (w *world) sceneAbandonedCalls() {
	some := w.readyClients(func(c *client) bool { return c.modern && c.answers })
	if len(some) == 0 {
		return
	}
	c := some[0]
	c.ignoresQuestions = true
	for _, s := range w.servers {
		if !s.onlySpeaks(false) {
			continue
		}
		w.count("a scene: calls abandoned without a cancellation")
		for range c.statelessActors()*w.p.Limits.ParkedPerClient + 2 {
			a := c.callWith(s, "ask")
			w.advance(time.Second)
			if a.code == "OVERLOADED" && strings.Contains(a.message, "too many calls of this client wait") {
				w.violated("%s was refused, although the parked calls were abandoned: %s", a, a.message)
			}
		}
		return
	}
}

// callBeforeStop starts a modern client's call just before the gateway stops. It returns nil if no call has reached a server.
func (w *world) callBeforeStop() *clientRequest {
	for _, c := range w.clients {
		if !c.modern || w.failed() || c.project != nil {
			continue
		}
		w.count("a call in progress when the gateway stops")
		c.state = ""
		a := c.callWith(w.servers[0], "slow")
		w.advance(500 * time.Millisecond)
		if w.history.lastCall[a.nonce] == nil {
			return nil // it has not reached the server
		}
		return a
	}
	return nil
}

// checkLogLevels checks that no server keeps a detailed log level for clients that left. HTTP servers are excluded,
// because requests may overtake each other.
func (w *world) checkLogLevels() {
	for _, s := range w.servers {
		for _, c := range s.liveConns() {
			if !w.failed() && !c.modern && !s.http && c.ready && c.level != "" && c.level != "info" {
				w.violated("%s still has log level %s, although the client that set it left", c, c.level)
			}
		}
	}
}
