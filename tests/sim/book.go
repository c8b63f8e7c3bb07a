package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// book is what really happened, written by clients and servers: the laws are checked against it.
type book struct {
	moments  int              // of everything worth an order
	done     map[int][]string // by nonce: who executed it
	runs     map[int]*running // by nonce: how it was, last
	cut      map[int]bool     // by nonce: its response broke, and no server has seen what it answers
	cancels  map[int]bool     // by nonce: its server has read a cancel
	asks     []*ask           // every request of every client
	nonces   int
	askOf    map[int]*ask // by nonce: the last that has it
	answered int
}

func newBook() *book {
	return &book{done: map[int][]string{}, runs: map[int]*running{}, cut: map[int]bool{}, cancels: map[int]bool{}, askOf: map[int]*ask{}}
}

// moment numbers what happens, in its order.
func (b *book) moment() int {
	b.moments++
	return b.moments
}

func (b *book) executed(w *world, r *running) {
	b.done[r.nonce] = append(b.done[r.nonce], r.c.String())
	before := b.runs[r.nonce]
	b.runs[r.nonce] = r
	delete(b.cut, r.nonce)
	if r.nonce == 0 {
		w.broken("%s executed a call without a number", r.c)
	}
	if len(b.done[r.nonce]) > 1 && !r.repeats(before, len(b.done[r.nonce])) {
		w.broken("call %d was executed twice: by %v", r.nonce, b.done[r.nonce])
	}
}

// unseen notes a POST whose response broke before a server had seen it. It may be the second of a call: its server has asked, and this has the
// answers.
func (b *book) unseen(frame []byte) {
	var r request
	if json.Unmarshal(frame, &r) == nil && r.Params.Arguments.Nonce > 0 {
		b.cut[r.Params.Arguments.Nonce] = true
	}
}

// lost: a call was answered with the loss of its connection. One to a URL that nothing has happened to has not lost it.
func (b *book) lost(w *world, a *ask) {
	r := b.runs[a.nonce]
	if a.nonce == 0 || a.fault != "BACKEND_DISCONNECTED" || r == nil || !r.c.link.http && !w.p.Wide || r.began < w.reloads || strings.Contains(a.text, "it was disabled") {
		return
	}
	if r.c.modern && a.method == "tools/call again" {
		return // the book has who asked, not who got the answers
	}
	if !r.c.trouble && !r.c.cut[r.ticket] && !b.cut[a.nonce] && !r.c.s.down {
		w.broken("%s was answered with %q, and %s has neither lost its session nor the response", a, a.text, r.c)
	}
}

func (b *book) cancelledAt(r *running) { b.cancels[r.nonce] = true }

// ask is one request of a client.
type ask struct {
	client    *client
	id        int
	method    string
	nonce     int    // of a call; 0 = none
	uri       string // of a subscription
	wire      wire   // where its answer comes
	session   string // it was sent in
	token     string // it was sent with
	who       string // it was sent by
	event     string // the last event id of its stream
	streams   bool   // it is a stream that has no answer: subscriptions/listen
	answers   int
	cancelled bool   // legacy: by a notification, so that its response has an end of its own
	asks      bool   // it was answered with questions
	wasAsked  bool   // its client was asked something
	link      string // its result names this resource
	text      string // error.message of its answer
	given     bool   // the client has given it up: it left, or cancelled; an answer may come or not
	fault     string // error.data.code of its answer
	failed    bool   // it was answered with an error
	again     bool   // that says that it does no harm to send it again
	began     int
	ended     int
	sent      time.Time // when
	promise   *promise  // nil = it is not an honest client's
}

func (a *ask) String() string {
	return fmt.Sprintf("%s's request %d (%s, call %d)", a.client.name, a.id, a.method, a.nonce)
}

// check holds the asks against what the servers did, once all is quiet.
func (b *book) check(w *world) {
	for _, a := range b.asks {
		switch {
		case a.answers > 1:
			w.broken("%s was answered %d times", a, a.answers)
		case a.answers == 0 && !a.given && !a.streams:
			w.broken("%s was never answered", a)
		}
		if a.nonce == 0 {
			continue
		}
		if a.again && len(b.done[a.nonce]) > 0 && a.method == "tools/call" && !w.mayAgain(a) {
			w.broken("%s was refused with %s, retryable, and executed by %v", a, a.fault, b.done[a.nonce])
		}
	}
}
