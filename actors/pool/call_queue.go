package pool

import (
	"container/list"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// queued is a call that is being dispatched or waits for a free connection.
type queued struct {
	message.Dispatch
	since    time.Time               // when the pool got the call, or got it back
	deadline time.Time               // until when it may wait in the queue; zero = it has not been queued yet
	broken   *message.ConnectionLost // the earlier loss of its connection or response; nil = none

	inClientQueue             *clientQueue
	ageElement, clientElement *list.Element
}

// client returns the key of the client that the call belongs to.
func (q *queued) client() string { return q.Request.Caller.QueueKey() }

// callQueue holds the calls that wait for a free connection, with one queue per client. Clients take turns, so a client
// that sends many calls delays only its own. Adding and removing a call takes constant time, except that a linear
// search finds the place of a call whose deadline is not the latest, such as one from an earlier wait.
type callQueue struct {
	byAge      list.List // of *queued: all calls, by deadline
	turns      list.List // of *clientQueue: the client whose turn is next comes first
	byClient   map[string]*clientQueue
	byCall     map[message.CallRef]*queued
	lastClient string // the client whose call was sent last, whether or not the call had waited
	taskCalls  int    // queued calls about tasks, which may be sent when no other call may
	timer      queueTimer
}

// queueTimer is the timer of the queue's earliest deadline.
type queueTimer struct {
	number uint64 // counts the timers; only the newest matters
	armed  bool
	at     time.Time // when it fires
}

// arm starts a timer for the earliest deadline, unless one runs that fires by then.
func (l *callQueue) arm(now time.Time, out []kernel.Effect) []kernel.Effect {
	oldest := l.oldest()
	if oldest == nil || l.timer.armed && !oldest.deadline.Before(l.timer.at) {
		return out
	}
	l.timer = queueTimer{l.timer.number + 1, true, oldest.deadline}
	return append(out, kernel.WakeAfter(max(0, oldest.deadline.Sub(now)), queueExpired{l.timer.number}))
}

// clientQueue holds the queued calls of one client.
type clientQueue struct {
	client string
	calls  list.List     // of *queued, by deadline
	turn   *list.Element // its element in callQueue.turns
}

// len returns the number of queued calls.
func (l *callQueue) len() int { return l.byAge.Len() }

// oldest returns the call with the earliest deadline, or nil if the queue is empty.
func (l *callQueue) oldest() *queued {
	if e := l.byAge.Front(); e != nil {
		return e.Value.(*queued)
	}
	return nil
}

// add adds a call to the queue, in order of deadlines.
func (l *callQueue) add(q *queued) {
	if l.byClient == nil {
		l.byClient, l.byCall = map[string]*clientQueue{}, map[message.CallRef]*queued{}
	}
	its := l.byClient[q.client()]
	if its == nil {
		its = &clientQueue{client: q.client()}
		its.turn = l.turns.PushBack(its)
		l.byClient[its.client] = its
	}
	q.inClientQueue, q.ageElement, q.clientElement = its, byDeadline(&l.byAge, q), byDeadline(&its.calls, q)
	l.byCall[q.Call] = q
	if q.Request.AboutTask() {
		l.taskCalls++
	}
}

// byDeadline inserts a call in order of deadlines. A new call normally goes to the end. A call that has kept a deadline
// from an earlier wait may go further to the front.
func byDeadline(calls *list.List, q *queued) *list.Element {
	for e := calls.Back(); e != nil; e = e.Prev() {
		if !q.deadline.Before(e.Value.(*queued).deadline) {
			return calls.InsertAfter(q, e)
		}
	}
	return calls.PushFront(q)
}

// remove takes a call out of the queue.
func (l *callQueue) remove(q *queued) {
	l.byAge.Remove(q.ageElement)
	q.inClientQueue.calls.Remove(q.clientElement)
	delete(l.byCall, q.Call)
	if q.Request.AboutTask() {
		l.taskCalls--
	}
	if q.inClientQueue.calls.Len() == 0 {
		l.turns.Remove(q.inClientQueue.turn)
		delete(l.byClient, q.inClientQueue.client)
	}
}

// send removes a call that is sent to a backend, and moves its client to the end of the turns.
func (l *callQueue) send(q *queued) {
	l.turns.MoveToBack(q.inClientQueue.turn)
	l.remove(q)
}

// rotatePast moves the client whose turn is next to the end of the turns if its call was sent last, even if that call did
// not wait in the queue.
func (l *callQueue) rotatePast() {
	if first := l.turns.Front(); first != nil && first.Value.(*clientQueue).client == l.lastClient {
		l.turns.MoveToBack(first)
	}
}

// victimFor returns the call that makes room for a client's next call in a full queue: the newest call of the
// client with the most queued calls. It returns nil if no other client has more calls than this one would have.
func (l *callQueue) victimFor(client string) *queued {
	most := 1
	if its := l.byClient[client]; its != nil {
		most += its.calls.Len()
	}
	var longest *clientQueue
	for e := l.turns.Front(); e != nil; e = e.Next() {
		if its := e.Value.(*clientQueue); its.calls.Len() > most {
			most, longest = its.calls.Len(), its
		}
	}
	if longest == nil {
		return nil
	}
	return longest.calls.Back().Value.(*queued)
}
