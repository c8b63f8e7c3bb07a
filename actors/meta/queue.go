package meta

import (
	"slices"
	"time"

	"goblin-actor/actors/message"
)

// queuedCall is a call that waits to start.
type queuedCall struct {
	message.Dispatch
	expires time.Time // when the call is refused if it has not started
}

// callQueue holds the calls that wait to start. Each client has its own queue and the clients take turns, so a client
// with many calls hardly delays the others.
type callQueue struct {
	clients []*clientQueue // the first is served next; none is empty
	count   int
}

// clientQueue holds the waiting calls of one client.
type clientQueue struct {
	client string
	calls  []queuedCall // oldest first
}

// add queues a call. If the queue is full, it removes and returns the newest call of the client with the most calls.
// That can be the added call itself.
func (t *callQueue) add(w queuedCall) (refused message.Dispatch, full bool) {
	client := w.Request.Caller.QueueKey()
	its := slices.IndexFunc(t.clients, func(l *clientQueue) bool { return l.client == client })
	if t.count >= maxWaiting {
		most := slices.MaxFunc(t.clients, func(a, b *clientQueue) int { return len(a.calls) - len(b.calls) })
		if its >= 0 && len(t.clients[its].calls)+1 >= len(most.calls) || len(most.calls) == 1 {
			return w.Dispatch, true
		}
		refused, full = most.calls[len(most.calls)-1].Dispatch, true
		most.calls = slices.Delete(most.calls, len(most.calls)-1, len(most.calls)) // it had more than one call, so its queue remains
		t.count--
	}
	if its < 0 {
		its = len(t.clients)
		t.clients = append(t.clients, &clientQueue{client: client})
	}
	t.clients[its].calls = append(t.clients[its].calls, w)
	t.count++
	return refused, full
}

// next removes and returns the next call. The queue must not be empty.
func (t *callQueue) next() message.Dispatch {
	l := t.clients[0]
	d := l.calls[0].Dispatch
	l.calls = slices.Delete(l.calls, 0, 1)
	t.count--
	t.clients = slices.Delete(t.clients, 0, 1)
	if len(l.calls) > 0 {
		t.clients = append(t.clients, l)
	}
	return d
}

// take removes and returns all calls for which the function match returns true.
func (t *callQueue) take(match func(*queuedCall) bool) (taken []message.Dispatch) {
	for _, l := range t.clients {
		l.calls = slices.DeleteFunc(l.calls, func(w queuedCall) bool {
			if match(&w) {
				taken = append(taken, w.Dispatch)
				return true
			}
			return false
		})
	}
	t.clients = slices.DeleteFunc(t.clients, func(l *clientQueue) bool { return len(l.calls) == 0 })
	t.count -= len(taken)
	return taken
}
