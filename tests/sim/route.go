package sim

import (
	"bytes"

	"goblin-actor/protocol/downstream"
	"goblin-actor/tests/sim/pipeclient"
)

// route is the way of a request from the node that received it, and of the response to the client. It implements
// pipeclient.Response: the client reads from it. If the node passes the request on, the response of the other node takes the
// place of its own, and arrives in pieces, each after a delay.
type route struct {
	t     *transport
	from  *node
	x     any                 // the request at from
	first pipeclient.Response // of from
	order int                 // routes are numbered in the order of their requests
	more  func()              // tells the client that there may be something to read

	what   string // of the request, for people
	sent   int    // how often the request was sent to another node
	to     *node  // to which from passes the request on; nil = from serves it
	wrong  *node  // that gets the request although it is for to; nil = to gets it
	arrive arrival
	second any                 // the request at to; nil until it has arrived
	answer pipeclient.Response // of to

	pulling bool             // pull is due
	head    *downstream.Head // arrived; nil = it has not arrived, or the client has read it
	begun   bool             // the head has arrived
	waiting []byte           // arrived bytes of the event stream
	full    bool             // more has to arrive once the client has read
	last    bool             // nothing arrives any more
	over    bool             // the client has read the last message
	broken  bool             // to has ended the response without a last message
	left    bool             // the client has left
	refused int              // how often a node has refused the request
}

// newRoute returns the route of the request x, which a node is about to get.
func (t *transport) newRoute(from *node, x any, first pipeclient.Response, more func()) *route {
	t.created++
	r := &route{t: t, from: from, x: x, first: first, order: t.created, more: more}
	t.routes[x] = r
	return r
}

// routeOf returns the route that is a client's response, or nil if it is none.
func routeOf(r pipeclient.Response) *route {
	found, _ := r.(*route)
	return found
}

// forget removes an ended route.
func (r *route) forget() {
	delete(r.t.routes, r.x)
	delete(r.t.passed, r.second)
}

// send makes the request arrive after a delay. In the storm it may arrive at a wrong node, as if that node had taken over the
// address of another.
func (r *route) send() {
	r.sent++
	n := r.to
	if r.wrong = r.t.misdirect(r.to); r.wrong != nil {
		n = r.wrong
	}
	r.t.w.scheduler.After(r.t.delay(), func() {
		r.first.Leave() // from needs no memory for the request any more
		if r.left || r.broken {
			return
		}
		x, answer, hand := r.arrive(n, carrier{r})
		r.second, r.answer = x, answer
		r.t.passed[x] = r
		r.t.noteRevoked(x)
		hand()
		r.wake()
	})
}

// carrier is the connection that carries the response of the other node.
type carrier struct{ r *route }

func (c carrier) Wake()         { c.r.wake() }
func (c carrier) Lost()         { c.r.wake() }
func (carrier) Watch()          {}
func (c carrier) Kill()         { c.r.wake() }
func (carrier) DroppedLogs(int) {}
func (carrier) Run(f func())    { f() }

// wake arranges that what the other node has written arrives. Pieces keep their order.
func (r *route) wake() {
	if r.pulling {
		return
	}
	r.pulling = true
	r.t.w.scheduler.After(r.t.delay(), r.pull)
}

// pull lets the next pieces of the response arrive, unless too many bytes wait for the client.
func (r *route) pull() {
	r.pulling = false
	if r.left || r.last || r.broken || r.answer == nil {
		return
	}
	if !r.begun {
		head, ok := r.answer.Head()
		if !ok {
			if r.breakIfOver(); r.broken {
				r.more()
			}
			return
		}
		if !r.accepts(&head) {
			return
		}
		r.begun, r.head, r.last = true, &head, !head.Stream
	}
	for !r.last {
		if r.full = len(r.waiting) >= clientBuffer; r.full {
			break
		}
		var piece []byte
		if piece, r.last = r.answer.Read(nil); len(piece) == 0 {
			break
		}
		r.waiting = append(r.waiting, piece...)
	}
	if !r.last && !r.full {
		r.breakIfOver()
	}
	r.more()
}

// cut ends the route, because the process of from has ended. What has arrived remains to be read.
func (r *route) cut() {
	r.broken, r.t.left[r.x] = true, true
	r.forget()
	if r.first.Leave(); r.answer != nil {
		r.answer.Leave()
	}
	r.more()
}

// breakIfOver records the end of the other node's response if it came without a last message.
func (r *route) breakIfOver() {
	if r.answer.Over() {
		r.broken = true
		r.forget()
	}
}

// accepts checks the head of the other node's response. If a wrong node has refused the request, from sends it again, and
// accepts returns false.
func (r *route) accepts(head *downstream.Head) bool {
	switch {
	case r.wrong == nil && head.Status == 421 && r.t.w.moving && r.refused < maxRefused: // its view of the members is not the newest
		r.refused++
		r.sendAgain()
		return false
	case r.wrong == nil && head.Status == 421 && (r.t.w.stopping || r.isRevoked()):
	case r.wrong == nil && head.Status == 421:
		r.to.violated("it refused a request (%s) from %s as misdirected: %s", r.what, r.from, bytes.TrimSpace(head.Body))
	case r.wrong == nil:
	case head.Status == 421:
		r.sendAgain()
		return false
	case head.Status < 400 && !bytes.Contains(head.Body, []byte(`"error"`)):
		r.wrong.violated("it served a request (%s) from %s that was for %s: %d %s", r.what, r.from, r.to, head.Status, bytes.TrimSpace(head.Body))
	}
	return true
}

// isRevoked reports whether the principal of the request was revoked.
func (r *route) isRevoked() bool {
	who := principalOf(r.x)
	return who != nil && r.t.w.revoked[who.Name]
}

// maxRefused is how often nodes may refuse a request because they do not agree on the members yet.
const maxRefused = 20

// sendAgain sends a request that a node has refused.
func (r *route) sendAgain() {
	delete(r.t.passed, r.second)
	r.second, r.answer = nil, nil
	r.send()
}

// Head implements pipeclient.Response.
func (r *route) Head() (downstream.Head, bool) {
	if r.to == nil {
		head, ok := r.first.Head()
		if ok {
			r.forget() // from has decided to serve the request
		}
		return head, ok
	}
	if r.head == nil {
		return downstream.Head{}, false
	}
	head := *r.head
	if r.head = nil; !head.Stream {
		r.over = true
		r.forget()
	}
	return head, true
}

// Read implements pipeclient.Response.
func (r *route) Read(dst []byte) (_ []byte, last bool) {
	if r.to == nil {
		return r.first.Read(dst)
	}
	if r.over {
		return dst, false
	}
	dst = append(dst, r.waiting...)
	r.waiting = nil
	if r.over = r.last; r.over {
		r.forget()
	} else if r.full {
		r.full = false
		r.wake()
	}
	return dst, r.over
}

// Leave implements pipeclient.Response.
func (r *route) Leave() {
	r.left, r.t.left[r.x] = true, true
	r.forget()
	if r.answer == nil {
		r.first.Leave()
		return
	}
	r.t.w.scheduler.After(r.t.delay(), r.answer.Leave)
}

// Over implements pipeclient.Response.
func (r *route) Over() bool {
	if r.to == nil {
		return r.first.Over()
	}
	return r.left || r.over || r.broken && r.head == nil && len(r.waiting) == 0
}

// Waiting implements pipeclient.Response.
func (r *route) Waiting() int {
	switch {
	case r.to == nil:
		return r.first.Waiting()
	case r.answer == nil:
		return 0
	}
	return len(r.waiting) + r.answer.Waiting()
}
