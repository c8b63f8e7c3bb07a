package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
	"goblin-actor/tests/sim/pipeclient"
)

// In some wide stories, clients are authenticated, and an intruder knows the ids of all sessions, requests and events
// of other clients, and their sealed states. Invariants:
//
//   - To the intruder, sessions and states of other principals look the same as ones that do not exist.
//   - The intruder cannot see, cancel, resume or answer another principal's calls.
//   - Nothing of a revoked principal remains.

// intruderName is the name of the intruder's principal.
const intruderName = "intruder"

// drawPrincipals draws the clients' principals. Some clients with sessions share one.
func (p *Params) drawPrincipals() {
	r := rand.New(rand.NewPCG(p.Seed, 8))
	if p.Authenticated = p.Wide && r.IntN(2) == 0; !p.Authenticated {
		return
	}
	for i := range p.Clients {
		p.Clients[i].Principal = fmt.Sprintf("p%d", i)
		if i > 0 && !p.Clients[i].Modern && !p.Clients[i-1].Modern && !p.Clients[i].Honest && r.IntN(2) == 0 {
			p.Clients[i].Principal = p.Clients[i-1].Principal
		}
	}
}

func (w *world) newPrincipal(name string) *identity.Principal {
	return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey, Usage: w.usageOf(name)}
}

// publishPrincipals gives the gateways the principals, if clients are authenticated.
func (w *world) publishPrincipals() {
	all := map[string]*identity.Principal{}
	for _, c := range w.clients {
		if c.principal != nil {
			all[c.principal.ID] = c.principal
		}
	}
	if len(all) > 0 {
		intruder := w.newPrincipal(intruderName)
		all[intruder.ID] = intruder
		for _, n := range w.nodes {
			n.gateway.LoadPrincipals(all)
		}
	}
}

// principalID returns the id of the client's principal, or "" if it is not authenticated.
func (c *client) principalID() string {
	if c.principal == nil {
		return ""
	}
	return c.principal.ID
}

// distinctPrincipals returns the first client of each principal, and all clients without a principal.
func distinctPrincipals(clients []*client) (some []*client) {
	for _, c := range clients {
		if c.principal == nil || !slices.ContainsFunc(some, func(other *client) bool { return other.principalID() == c.principalID() }) {
			some = append(some, c)
		}
	}
	return some
}

// maybeRevoke occasionally revokes a principal. Its clients then get a new one.
func (w *world) maybeRevoke() {
	c := w.clients[w.clientRand.IntN(len(w.clients))]
	if c.honest || w.clientRand.IntN(40) > 0 {
		return
	}
	w.count("a revoked principal")
	old := c.principal
	w.trace("%s is revoked", old.ID)
	w.revoked[old.Name] = true
	next := w.newPrincipal(fmt.Sprintf("%s'%d", old.Name, len(w.revoked)))
	if w.p.Bus {
		w.revokeAtOne(old)
	}
	for _, n := range w.nodes {
		if !w.p.Bus {
			n.gateway.UpdatePrincipals(map[string]*identity.Principal{old.ID: nil})
		}
		n.gateway.AddPrincipals(map[string]*identity.Principal{next.ID: next})
	}
	for _, other := range w.clients {
		if other.principalID() == old.ID {
			other.principal = next
		}
	}
}

// checkRevoked checks that revoked principals have no sessions and no calls.
func (n *node) checkRevoked(when string) {
	w := n.w
	if len(w.revoked) == 0 || w.failed() {
		return
	}
	s := n.status()
	for _, session := range s.Sessions {
		if w.revoked[session.Who] {
			n.violated("%s: the revoked principal %s still has a session: %+v", when, session.Who, session)
		}
	}
	for _, call := range s.Calls {
		if w.revoked[call.Who] {
			n.violated("%s: the revoked principal %s still has a call: %+v", when, call.Who, call)
		}
	}
}

// intrusion is an attempt of the intruder, sent twice: with a stolen value and with a value that does not exist.
type intrusion struct {
	action  string
	readers [2]responseReader
	seen    [2][]pipeclient.Seen
	want    string // must occur in both responses; "" = no requirement
	until   time.Time
	theft   int // index in world.thefts plus 1; 0 = it used no session
}

// theft is a message of the intruder with the session of a client.
type theft struct {
	client  *client
	session string
	node    *node     // that refused it
	over    time.Time // when the session answered it; zero = it has not
}

// drop closes the attempt's response readers.
func (s *intrusion) drop() {
	for _, x := range s.readers {
		if x != nil {
			x.Leave()
		}
	}
}

// maybeIntrude occasionally uses a stolen value.
func (w *world) maybeIntrude() {
	c := w.clients[w.clientRand.IntN(len(w.clients))]
	switch {
	case w.clientRand.IntN(4) > 0:
	case c.modern && c.sealed != nil:
		w.stealState(c)
	case !c.modern && c.state == "ready":
		w.stealSession(c)
	}
}

// unknownID has the form of a session id but belongs to no session. It is also used as a state that the gateway did not
// seal.
const unknownID = "1azzzzzzzzzzzzzzzzzzzzzzzzzz"

// stealSession sends a message, opens a stream or ends the session with a client's session id.
func (w *world) stealSession(c *client) {
	n := w.attacked()
	switch how := w.clientRand.IntN(10); {
	case how < 6:
		w.sendStolen(c, n, pick(w.clientRand, []string{
			listTools, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + w.randomTool() + `","arguments":{}}}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 1+w.clientRand.IntN(max(1, c.lastID))),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, n.questionID(1+w.clientRand.IntN(4))),
			`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"i","version":"1"}}}`,
		}))
	case how < 8:
		event := w.stolenEvent(c)
		w.useStolen(c, n, "opened its stream", func(p *pipeclient.Client, o downstream.Origin) responseReader {
			o.LastEvent = event
			return p.Open(o)
		})
	default:
		w.useStolen(c, n, "ended it", func(p *pipeclient.Client, o downstream.Origin) responseReader { return p.Delete(o) })
	}
}

// listTools is a request of the intruder.
const listTools = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`

// sendStolen sends a message with a client's session id to a node.
func (w *world) sendStolen(c *client, n *node, raw string) {
	w.useStolen(c, n, "sent "+raw, func(p *pipeclient.Client, o downstream.Origin) responseReader {
		x, refused := p.Post([]byte(raw), o)
		if refused != nil { // a limit of the gateway is reached
			return nil
		}
		return x
	})
}

// useStolen calls send for a request with a client's session id, and for one with the id of a session that does not exist.
func (w *world) useStolen(c *client, n *node, action string, send func(*pipeclient.Client, downstream.Origin) responseReader) {
	intruder := n.pipe(func() {})
	w.thefts = append(w.thefts, theft{client: c, session: c.session, node: n}) // also if a limit of the gateway ends it below
	s := &intrusion{action: "a session, and " + action, theft: len(w.thefts)}
	for i, id := range []string{c.session, w.unknownSession(c)} {
		o := c.origin("", "")
		o.Remote, o.Principal, o.SessionID = "127.0.0.1:39999", w.newPrincipal(intruderName), id
		if s.readers[i] = send(intruder, o); s.readers[i] == nil {
			s.drop()
			return
		}
	}
	w.count("a stolen session")
	w.awaitIntrusion(c, s)
}

// stealState uses a sealed state of a client in a request that otherwise fits the state: with the tool, arguments and
// answers of its call.
func (w *world) stealState(c *client) {
	intruder := w.attacked().pipe(func() {})
	s := &intrusion{action: "a state", want: "REQUEST_STATE_INVALID"}
	for i, state := range []string{c.sealed.state, unknownID} {
		tool := w.toolOf[c.sealed.nonce]
		o := c.origin("tools/call", tool)
		o.Remote, o.Principal = "127.0.0.1:39999", w.newPrincipal(intruderName)
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":%s},"name":%q,"arguments":{"nonce":%d},"inputResponses":{"q1":{"action":"accept","content":{}}},"requestState":%q}}`,
			capabilities, tool, c.sealed.nonce, state)
		x, refused := intruder.Post([]byte(raw), o)
		if refused != nil {
			s.drop()
			return
		}
		s.readers[i] = x
		w.forgeries++
	}
	w.count("a stolen state")
	w.awaitIntrusion(c, s)
}

// awaitIntrusion waits for both responses, then compares them.
func (w *world) awaitIntrusion(c *client, s *intrusion) {
	s.until = time.Now().Add(2 * time.Minute)
	w.trace("the intruder uses this of %s: %s", c.name, s.action)
	var look func()
	look = func() {
		over := true
		for i, x := range s.readers {
			for seen, ok := x.Next(); ok; seen, ok = x.Next() {
				s.seen[i] = append(s.seen[i], seen)
			}
			over = over && x.Over()
		}
		if !over && time.Now().Before(s.until) && !w.failed() {
			w.scheduler.After(time.Second, look)
			return
		}
		s.drop()
		w.checkIntrusion(c, s)
	}
	w.scheduler.After(time.Second, look)
}

// checkIntrusion compares both responses. It skips sessions with a full mailbox, which refuse every message with the
// same text.
func (w *world) checkIntrusion(c *client, s *intrusion) {
	got, want := fmt.Sprintf("%+v", describeSeen(s.seen[0])), fmt.Sprintf("%+v", describeSeen(s.seen[1]))
	if strings.Contains(got, "too many messages wait") || w.failed() {
		return
	}
	if s.theft > 0 {
		w.thefts[s.theft-1].over = time.Now()
	}
	if got != want || !strings.Contains(got, s.want) {
		w.violated("the intruder took from client %s %s, and received %s; with a value that does not exist it received %s; both must be equal and contain %q", c.name, s.action, got, want, s.want)
	}
}

// describeSeen formats received messages.
func describeSeen(all []pipeclient.Seen) (text []string) {
	for _, seen := range all {
		text = append(text, fmt.Sprintf("%d %v %s %s", seen.Status, seen.Stream, seen.Session, seen.Frame))
	}
	return text
}
