package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/upstream"
)

const completion = `{"completion":{"values":["x"]}}`

var levels = []string{"debug", "info", "notice", "warning", "error"}

// version is what a client with sessions speaks.
func (c *client) version() string {
	if c.old {
		return "2025-03-26"
	}
	return "2025-11-25"
}

// level is how much a modern client wants to hear of a call.
func (c *client) level() string {
	if c.verbose {
		return "info"
	}
	if c.w.calm || c.w.crng.IntN(4) > 0 {
		return ""
	}
	return pick(c.w.crng, levels)
}

// complete asks for the completion of a prompt's argument.
func (c *client) complete(value string) *ask {
	s := c.w.servers[c.w.crng.IntN(len(c.w.servers))]
	return c.completeAt(s, value)
}

func (c *client) completeAt(s *server, value string) *ask {
	return c.send("completion/complete", "", fmt.Sprintf(`,"ref":{"type":"ref/prompt","name":"%s_p"},"argument":{"name":"x","value":%q}`, s.name, value))
}

// tell calls a tool that does as it is told.
func (c *client) tell(s *server, do string) *ask {
	nonce := c.w.book.nonces + 1
	c.w.wordOf[nonce] = do
	return c.call(s.name+"_a", 0, "")
}

// obey does what the client has told the tool to do.
func (r *running) obey(do string) {
	switch do {
	case "ask":
		r.question(`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
	case "roots":
		r.question(`"roots/list"`)
	case "log":
		r.c.say(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of %d"}}`, r.nonce)
		r.answer(time.Second)
	case "link":
		r.link = fmt.Sprintf(`{"type":"resource_link","uri":"x://%s/made/%d","name":"made"},`, r.c.s.name, r.nonce)
		r.answer(0)
	case "big":
		r.padding = strings.Repeat("x", 24<<10)
		r.answer(0)
	case "flood":
		lane := uint64(pipeLane)
		if r.c.link.http {
			lane = r.ticket
		}
		for i := range 3500 {
			r.c.link.tell(lane, upstream.Received{Ticket: lane, Status: 200,
				Frame: mustFrame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.token, i))})
		}
		r.answer(20 * time.Second)
	case "hold":
		r.answer(hold)
	default: // slow
		r.answer(3 * time.Second)
	}
}

// speaks reports whether a server is there on connections of that era alone.
func (s *server) speaks(modern bool) bool {
	living := s.living()
	return len(living) > 0 && !slices.ContainsFunc(living, func(c *conn) bool { return c.modern != modern })
}

// someone returns the clients that are of a kind, and there.
func (w *world) someone(which func(*client) bool) (some []*client) {
	for _, c := range w.clients {
		if c.ready() && c.project == nil && which(c) { // those in projects are in scenes of their own
			some = append(some, c)
		}
	}
	return some
}

// scene is one of the scenes. Its name stands in stories that are kept.
type scene struct {
	name string
	play func()
	wide bool // only wide stories have it
}

func (w *world) allScenes() []scene {
	return []scene{
		{"roots", w.roots, false}, {"questions", w.questions, false}, {"beside a question", w.besideAQuestion, false}, {"completions", w.completions, false}, {"links", w.links, false},
		{"a slow reader", w.slowReader, false}, {"in turn", w.inTurn, false}, {"floods", w.floods, false}, {"one machine", w.oneMachine, false}, {"given up", w.givenUp, false},
		{"changed mind", w.changedMind, false}, {"switched off", w.switchedOff, false}, {"another replica", w.anotherReplica, false}, {"a crowd", w.crowd, false},
		{"came back", w.cameBack, false}, {"new rules", w.newRules, false},
		{"comes and goes", w.comesAndGoes, true}, {"others", w.others, true}, {"turns", w.turns, true},
	}
}

// scenes are conversations in the calm after the storm of which it is known how they have to end.
func (w *world) scenes() {
	for _, scene := range w.allScenes() {
		if w.failed() {
			return
		}
		if slices.Contains(w.p.Unseen, scene.name) || scene.wide && !w.p.Wide {
			continue
		}
		w.trace("— %s —", scene.name)
		for _, c := range w.clients {
			if !c.modern && c.ready() {
				c.send("ping", "", "")
			}
			c.mute = false
		}
		w.pass(time.Second)
		scene.play()
	}
	for _, c := range w.clients {
		c.mute = false
	}
	w.pass(w.p.Limits.ParkedCall + time.Minute)
	w.law("after the scenes")
	w.measured()
	w.restarted()
}

// roots: what a reload changes reaches connections that are there.
func (w *world) roots() {
	cfg := w.config
	cfg.Servers = slices.Clone(cfg.Servers)
	for i := range cfg.Servers {
		cfg.Servers[i].Roots = []string{"file:///later"}
	}
	w.reload(cfg)
	w.pass(time.Second)
	for _, c := range w.someone(func(c *client) bool { return !c.modern && !c.answers }) {
		for _, s := range w.servers {
			if !s.speaks(false) {
				continue
			}
			w.count("a scene: roots after a reload")
			a := c.tell(s, "roots")
			w.pass(5 * time.Second)
			if r := w.book.runs[a.nonce]; r != nil && !a.failed && !strings.Contains(r.c.roots, "file:///later") {
				w.broken("%s was told the roots %s; the configuration has others", r.c, r.c.roots)
			}
		}
	}
}

// questions: a client gives a call up that waits for its answer.
func (w *world) questions() {
	for _, c := range w.someone(func(c *client) bool { return !c.modern && c.answers && !c.old }) {
		c.mute = true
		for _, s := range w.servers {
			w.count("a scene: a call given up at its question")
			a := c.tell(s, "ask")
			w.pass(2 * time.Second)
			if a.answers > 0 {
				continue
			}
			c.giveUp(a)
			w.pass(3 * time.Second)
			for _, id := range sortedKeys(c.asked) {
				if c.asked[id] == a && !c.withdrawn[id] {
					w.broken("%s has cancelled %s, and still has its question %s before it", c.name, a, id)
				}
			}
		}
		c.mute = false
	}
}

// completions: a server asks something while it completes, and completes all the same.
func (w *world) completions() {
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		for _, s := range w.servers {
			w.count("a scene: a question in a completion")
			a := c.completeAt(s, "ask")
			w.pass(40 * time.Second)
			if a.failed && c.modern && c.seesServer(s) {
				w.broken("%s was answered with %s %s; its server would have completed", a, a.fault, a.text)
			}
		}
	}
}

// links: what a result links to can be read.
func (w *world) links() {
	for _, c := range w.clients {
		if !c.ready() {
			continue
		}
		for _, s := range w.servers {
			a := c.tell(s, "link")
			w.pass(2 * time.Second)
			if a.link == "" {
				continue
			}
			w.count("a scene: a resource that is linked to")
			b := c.send("resources/read", a.link, fmt.Sprintf(`,"uri":%q`, a.link))
			w.pass(2 * time.Second)
			if b.fault == "RESOURCE_NOT_FOUND" {
				w.broken("%s was refused with %s %s; %s has the link from its server", b, b.fault, b.text, c.name)
			}
		}
	}
}

// slowReader: somebody asks much, and does not read.
func (w *world) slowReader() {
	c := w.clients[int(w.p.Seed)%len(w.clients)]
	if !c.ready() {
		return
	}
	w.count("a scene: a slow reader")
	c.stalled = true
	for range 40 {
		c.tell(w.servers[0], "big")
		w.pass(100 * time.Millisecond)
	}
	c.stalled = false
	w.pass(10 * time.Second)
}

// unread: what waits for clients that do not read is within the budget, but for a little of each.
func (w *world) unread() {
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
	if w.metaTools() { // a list of theirs is as large as an answer may be that is kept in any case
		little = 16 << 10
	}
	if most := int(w.p.Limits.MaxBufferedBytes) + wires*little + 32<<10; waits > most {
		w.broken("%d bytes wait for clients that do not read; limits.maxBufferedBytes is %d", waits, w.p.Limits.MaxBufferedBytes)
	}
}

// inTurn: one client asks much at once, and another one little, a moment later.
func (w *world) inTurn() {
	two := strangers(w.someone(func(c *client) bool { return c.modern }))
	if len(two) < 2 {
		return
	}
	w.count("a scene: one who asks much beside one who asks little")
	greedy, modest := two[0], two[1]
	before, queued := greedy.woken, 0
	for range 120 {
		if a := greedy.send("tools/list", "", ""); a.answers == 0 {
			queued++
		}
	}
	was := modest.woken
	a := modest.send("tools/list", "", "")
	if a.answers > 0 || queued < 60 {
		return
	}
	w.fate.run(time.Now().Add(time.Second), func() bool { return modest.woken > was || w.failed() })
	if served := greedy.woken - before; served > queued/2 {
		w.broken("%s waited for %d of the %d requests that %s had sent", a, served, queued, greedy.name)
	}
	w.pass(time.Second)
}

// oneMachine: what one client has under way is not counted as another's, though they have the same address.
func (w *world) oneMachine() {
	two := strangers(w.someone(func(c *client) bool { return c.modern }))
	if len(two) < 2 {
		return
	}
	w.count("a scene: two clients on one machine")
	for range 2 * desks * w.p.Limits.MaxInFlightPerClient {
		two[0].tell(w.servers[0], "slow")
	}
	var calls []*ask
	for range desks {
		calls = append(calls, two[1].tell(w.servers[0], "slow"))
	}
	w.pass(20 * time.Second)
	for _, a := range calls {
		if a.fault == "OVERLOADED" && strings.Contains(a.text, "maxInFlightPerClient") {
			w.broken("%s was refused, the only one of its client: %s", a, a.text)
		}
	}
}

// givenUp: a client gives calls up that wait for its answers, and says nothing. They make room for its next ones.
func (w *world) givenUp() {
	some := w.someone(func(c *client) bool { return c.modern && c.answers })
	if len(some) == 0 {
		return
	}
	c := some[0]
	c.mute = true
	for _, s := range w.servers {
		if !s.speaks(false) {
			continue
		}
		w.count("a scene: calls that are given up without a word")
		for range desks*w.p.Limits.ParkedPerClient + 2 {
			a := c.tell(s, "ask")
			w.pass(time.Second)
			if a.fault == "OVERLOADED" && strings.Contains(a.text, "too many calls of this client wait") {
				w.broken("%s was refused: %s; and nobody waits for one of them", a, a.text)
			}
		}
		return
	}
}

// oneMore is a modern client's call under way when the gateway is to stop.
func (w *world) oneMore() *ask {
	for _, c := range w.clients {
		if !c.modern || w.failed() || c.project != nil {
			continue
		}
		w.count("a call under way when the gateway stops")
		c.state = ""
		a := c.tell(w.servers[0], "slow")
		w.pass(500 * time.Millisecond)
		if w.book.runs[a.nonce] == nil {
			return nil // it has not come far enough
		}
		return a
	}
	return nil
}

// levels: nobody is there who wants much logged, and those whom their clients have forgotten are not there any more. What is
// said over HTTP may arrive in another order than it was said.
func (w *world) levels() {
	for _, s := range w.servers {
		for _, c := range s.living() {
			if !w.failed() && !c.modern && !s.http && c.ready && c.level != "" && c.level != "info" {
				w.broken("%s still logs as %s; who wanted that has gone", c, c.level)
			}
		}
	}
}
