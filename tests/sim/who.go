package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// In some wide stories clients are asked who they are. There is an intruder then, who knows all that others have been told: ids of sessions,
// of requests and of events, and sealed states. The law: to the intruder what belongs to others is as what does not exist; nobody sees, cancels,
// resumes or answers what is another's; and of who is revoked nothing is left.

// drawPrincipals says who clients are. Some with sessions have one principal together.
func (p *Params) drawPrincipals() {
	r := rand.New(rand.NewPCG(p.Seed, 8))
	if p.Asked = p.Wide && r.IntN(2) == 0; !p.Asked {
		return
	}
	for i := range p.Clients {
		p.Clients[i].Who = fmt.Sprintf("p%d", i)
		if i > 0 && !p.Clients[i].Modern && !p.Clients[i-1].Modern && !p.Clients[i].Honest && r.IntN(2) == 0 {
			p.Clients[i].Who = p.Clients[i-1].Who
		}
	}
}

func principal(name string) *identity.Principal {
	return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
}

// known tells the gateway who there is, where clients are asked.
func (w *world) known() {
	all := map[string]*identity.Principal{}
	for _, c := range w.clients {
		if c.who != nil {
			all[c.who.ID] = c.who
		}
	}
	if len(all) > 0 {
		intruder := principal("intruder")
		all[intruder.ID] = intruder
		w.gateway.LoadPrincipals(all)
	}
}

// whoID is the client's principal, "" = it is not asked.
func (c *client) whoID() string {
	if c.who == nil {
		return ""
	}
	return c.who.ID
}

// strangers are those of the clients that share no principal.
func strangers(clients []*client) (some []*client) {
	for _, c := range clients {
		if c.who == nil || !slices.ContainsFunc(some, func(other *client) bool { return other.whoID() == c.whoID() }) {
			some = append(some, c)
		}
	}
	return some
}

// revoke makes a principal nobody, now and then. Its clients have another one from then on.
func (w *world) revoke() {
	c := w.clients[w.crng.IntN(len(w.clients))]
	if c.honest || w.crng.IntN(40) > 0 {
		return
	}
	w.count("a principal revoked")
	old := c.who
	w.trace("%s is revoked", old.ID)
	w.revoked[old.Name] = true
	w.gateway.UpdatePrincipals(map[string]*identity.Principal{old.ID: nil})
	next := principal(fmt.Sprintf("%s'%d", old.Name, len(w.revoked)))
	w.gateway.AddPrincipals(map[string]*identity.Principal{next.ID: next})
	for _, other := range w.clients {
		if other.whoID() == old.ID {
			other.who = next
		}
	}
}

// nothingLeft: of those who were revoked there is nothing.
func (w *world) nothingLeft(when string) {
	if len(w.revoked) == 0 || w.failed() {
		return
	}
	s := w.status()
	for _, session := range s.Sessions {
		if w.revoked[session.Who] {
			w.broken("%s: %s is revoked, and has a session: %+v", when, session.Who, session)
		}
	}
	for _, call := range s.Calls {
		if w.revoked[call.Who] {
			w.broken("%s: %s is revoked, and has a call: %+v", when, call.Who, call)
		}
	}
}

// theft is what the intruder has sent twice: once with what was stolen, once with what is nobody's.
type theft struct {
	what   string
	wires  [2]wire
	seen   [2][]downstream.Seen
	wanted string // in what comes back; "" = what it is for what is nobody's
	until  time.Time
}

// leave lets go of what came of it.
func (s *theft) leave() {
	for _, x := range s.wires {
		if x != nil {
			x.Leave()
		}
	}
}

// intrude uses something that was stolen, now and then.
func (w *world) intrude() {
	if w.intruder == nil {
		w.intruder = &downstream.PipeClient{Handler: w.gateway.Front(), Budget: w.gateway.Budget(), Limit: 64 << 10}
	}
	c := w.clients[w.crng.IntN(len(w.clients))]
	switch {
	case w.crng.IntN(4) > 0:
	case c.modern && c.sealed != nil:
		w.stealState(c)
	case !c.modern && c.state == "ready":
		w.stealSession(c)
	}
}

// madeUp is an id as those of sessions are, and of none; and a state that nobody has sealed.
const madeUp = "1azzzzzzzzzzzzzzzzzzzzzzzzzz"

// stealSession uses the id of a client's session.
func (w *world) stealSession(c *client) {
	origin := func(id string) downstream.Origin {
		o := c.origin("", "")
		o.Remote, o.Who, o.SessionID = "127.0.0.1:39999", principal("intruder"), id
		return o
	}
	s := &theft{what: "a session"}
	switch how := w.crng.IntN(10); {
	case how < 6:
		raw := pick(w.crng, []string{
			`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + w.anyTool() + `","arguments":{}}}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 1+w.crng.IntN(max(1, c.lastID))),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{}}}`, 1+w.crng.IntN(4)),
			`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"i","version":"1"}}}`,
		})
		for i, id := range []string{c.session, madeUp} {
			x, refused := w.intruder.Post([]byte(raw), origin(id))
			if refused != nil { // there is no room for anything
				s.leave()
				return
			}
			s.wires[i] = x
		}
		s.what += ", and sent " + raw
	case how < 8:
		for i, id := range []string{c.session, madeUp} {
			o := origin(id)
			o.LastEvent = c.streamEvent
			s.wires[i] = w.intruder.Open(o)
		}
		s.what += ", and opened its stream"
	default:
		for i, id := range []string{c.session, madeUp} {
			s.wires[i] = w.intruder.Delete(origin(id))
		}
		s.what += ", and ended it"
	}
	w.count("a session that was stolen")
	w.stolen(c, s)
}

// stealState uses a state that a client was given, with all that belongs to it.
func (w *world) stealState(c *client) {
	s := &theft{what: "a state", wanted: "REQUEST_STATE_INVALID"}
	for i, state := range []string{c.sealed.state, madeUp} {
		tool := w.toolOf[c.sealed.nonce]
		o := c.origin("tools/call", tool)
		o.Remote, o.Who = "127.0.0.1:39999", principal("intruder")
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":%s},"name":%q,"arguments":{"nonce":%d},"inputResponses":{"q1":{"action":"accept","content":{}}},"requestState":%q}}`,
			capabilities, tool, c.sealed.nonce, state)
		x, refused := w.intruder.Post([]byte(raw), o)
		if refused != nil {
			s.leave()
			return
		}
		s.wires[i] = x
	}
	w.count("a state that was stolen")
	w.stolen(c, s)
}

// stolen waits for what comes back, and holds it against the law.
func (w *world) stolen(c *client, s *theft) {
	s.until = time.Now().Add(2 * time.Minute)
	w.trace("the intruder has stolen of %s %s", c.name, s.what)
	var look func()
	look = func() {
		over := true
		for i, x := range s.wires {
			for seen, ok := x.Next(); ok; seen, ok = x.Next() {
				s.seen[i] = append(s.seen[i], seen)
			}
			over = over && x.Over()
		}
		if !over && time.Now().Before(s.until) && !w.failed() {
			w.fate.After(time.Second, look)
			return
		}
		s.leave()
		w.judge(c, s)
	}
	w.fate.After(time.Second, look)
}

// judge compares what came back. A session whose mailbox is full says so to everybody.
func (w *world) judge(c *client, s *theft) {
	got, want := fmt.Sprintf("%+v", plain(s.seen[0])), fmt.Sprintf("%+v", plain(s.seen[1]))
	if strings.Contains(got, "too many messages wait") || w.failed() {
		return
	}
	if got != want || !strings.Contains(got, s.wanted) {
		w.broken("the intruder has stolen of %s %s, and was told %s; of what is nobody's it is told %s", c.name, s.what, got, want)
	}
}

// plain is what was seen, for people.
func plain(all []downstream.Seen) (text []string) {
	for _, seen := range all {
		text = append(text, fmt.Sprintf("%d %v %s %s", seen.Status, seen.Stream, seen.Session, seen.Frame))
	}
	return text
}
