package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// history records what really happened, as clients and servers see it. The invariants are checked against it.
type history struct {
	moments     int                 // number of recorded moments
	executedBy  map[int][]string    // by nonce: connections that executed the call
	lastCall    map[int]*serverCall // by nonce: the last execution
	cut         map[int]bool        // by nonce: see recordCut
	cancels     map[int]bool        // by nonce: a server read a cancellation
	requests    []*clientRequest    // all requests of all clients
	nonces      int
	lastRequest map[int]*clientRequest // by nonce: the last request
	sentAgain   map[int]*serverCall    // by nonce: the request with the answers to the server's requests
	answered    int
}

func newHistory() *history {
	return &history{executedBy: map[int][]string{}, lastCall: map[int]*serverCall{}, cut: map[int]bool{}, cancels: map[int]bool{}, lastRequest: map[int]*clientRequest{}, sentAgain: map[int]*serverCall{}}
}

// moment returns the next logical time.
func (b *history) moment() int {
	b.moments++
	return b.moments
}

// recordCall records that a server executes a call. A call must have a nonce, and only a repeatable call may run twice.
func (b *history) recordCall(w *world, r *serverCall) {
	b.executedBy[r.nonce] = append(b.executedBy[r.nonce], r.c.String())
	before := b.lastCall[r.nonce]
	b.lastCall[r.nonce] = r
	delete(b.cut, r.nonce)
	if r.nonce == 0 {
		w.violated("%s executed a call without a nonce", r.c)
	}
	if len(b.executedBy[r.nonce]) > 1 && !r.mayRepeat(before, len(b.executedBy[r.nonce])) {
		w.violated("call %d was executed twice: by %v", r.nonce, b.executedBy[r.nonce])
	}
}

// recordCut records a POST that no server read and whose response broke. The POST may be the second request of a call,
// with the answers to the server's requests.
func (b *history) recordCut(frame []byte) {
	var r frameToServer
	if json.Unmarshal(frame, &r) == nil && r.Params.Arguments.Nonce > 0 {
		b.cut[r.Params.Arguments.Nonce] = true
	}
}

// checkLost checks a response that reports a lost connection: the call's connection or response must have broken.
func (b *history) checkLost(w *world, a *clientRequest) {
	r := b.lastCall[a.nonce]
	if a.nonce == 0 || a.code != "BACKEND_DISCONNECTED" || r == nil || !r.c.link.http && !w.p.Wide || r.began < w.lastReload || strings.Contains(a.message, "it was disabled") {
		return
	}
	if r.c.modern && a.method == "tools/call again" {
		return // lastCall is the request that the server answered with input requests, not the one with the answers
	}
	if again := b.sentAgain[a.nonce]; again != nil && again.connBroke() { // the gateway has sent it for a legacy client
		return
	}
	if !r.c.lostCalls && !r.c.brokenResponses[r.ticket] && !b.cut[a.nonce] && !r.c.s.down {
		w.violated("%s was answered with %q, but %s lost neither its session nor the response", a, a.message, r.c)
	}
}

func (b *history) recordCancel(r *serverCall) { b.cancels[r.nonce] = true }

// clientRequest is a request of a client.
type clientRequest struct {
	client        *client
	node          *node  // that received it
	route         *route // nil = the story has one node
	id            int
	method        string
	nonce         int            // 0 = not a call
	uri           string         // of a subscription
	reader        responseReader // delivers its response
	session       string         // in which it was sent
	headerValue   string         // of the forwarded header when it was sent
	principal     string         // that sent it
	lastEventID   string         // of its response
	isStream      bool           // it has no response: subscriptions/listen
	answers       int
	cancelled     bool   // legacy: canceled by a notification, so the gateway ends the response
	inputRequired bool   // answered with input requests
	wasAsked      bool   // the server sent its client a request
	link          string // resource that its result links to
	message       string // error.message of its response
	abandoned     bool   // the client left or canceled; a response may still come
	code          string // error.data.code of its response
	failed        bool   // answered with an error
	number        int    // error.code of its response
	item          string // name or URI that it is about, unless it has a nonce
	answered      time.Time
	retryable     bool // error.data.retryable of its response
	began         int
	ended         int
	sent          time.Time
	guarantee     *guarantee // nil = nothing is guaranteed
}

// servedBy returns the node that serves the request: the one that received it, or the one to which it was passed on.
func (a *clientRequest) servedBy() *node {
	if a.route != nil && a.route.to != nil {
		return a.route.to
	}
	return a.node
}

func (a *clientRequest) String() string {
	return fmt.Sprintf("%s's request %d (%s, call %d)", a.client.name, a.id, a.method, a.nonce)
}

// check compares the requests with the servers' executions, once everything is idle.
func (b *history) check(w *world) {
	for _, a := range b.requests {
		switch {
		case a.answers > 1:
			w.violated("%s got %d responses", a, a.answers)
		case a.answers == 0 && !a.abandoned && !a.isStream:
			w.violated("%s got no response", a)
		}
		if a.nonce == 0 {
			continue
		}
		if a.retryable && len(b.executedBy[a.nonce]) > 0 && a.method == "tools/call" && !w.isIdempotent(a) {
			w.violated("%s was refused with the retryable error %s, but executed by %v", a, a.code, b.executedBy[a.nonce])
		}
	}
}
