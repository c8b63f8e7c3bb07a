package pool

import (
	"container/list"
	"time"

	"goblin-actor/actors/message"
)

// queued is a call that waits for a free slot.
type queued struct {
	message.Dispatch
	since    time.Time
	deadline time.Time
	broken   *message.ConnectionLost // the connection it was written to is lost; nil = nobody has seen it

	line          *line
	byAge, inLine *list.Element
}

// client is who waits for the call.
func (q *queued) client() string { return q.Request.Caller.Line() }

// lines are the calls that wait for a free slot: one line for each client, so that whoever asks much waits for himself. Calls cost the
// same, so taking turns is fair. What is done to one call costs the same however many wait.
type lines struct {
	age       list.List // of *queued: all, the oldest first
	turns     list.List // of *line: whose turn is next stands first
	of        map[string]*line
	calls     map[message.CallRef]*queued
	last      string // the client that was served last, from its line or without waiting
	aboutTask int    // calls among them that may go out although no other may
}

// line is the calls of one client.
type line struct {
	client string
	calls  list.List // of *queued, the oldest first
	turn   *list.Element
}

func (l *lines) len() int { return l.age.Len() }

// oldest is the call that has waited longest; nil = none waits.
func (l *lines) oldest() *queued {
	if e := l.age.Front(); e != nil {
		return e.Value.(*queued)
	}
	return nil
}

func (l *lines) add(q *queued) {
	if l.of == nil {
		l.of, l.calls = map[string]*line{}, map[message.CallRef]*queued{}
	}
	its := l.of[q.client()]
	if its == nil {
		its = &line{client: q.client()}
		its.turn = l.turns.PushBack(its)
		l.of[its.client] = its
	}
	q.line, q.byAge, q.inLine = its, byDeadline(&l.age, q), byDeadline(&its.calls, q)
	l.calls[q.Call] = q
	if q.Request.AboutTask() {
		l.aboutTask++
	}
}

// byDeadline puts a call where its deadline belongs: at the end, but for one that has waited before.
func byDeadline(calls *list.List, q *queued) *list.Element {
	for e := calls.Back(); e != nil; e = e.Prev() {
		if !q.deadline.Before(e.Value.(*queued).deadline) {
			return calls.InsertAfter(q, e)
		}
	}
	return calls.PushFront(q)
}

func (l *lines) remove(q *queued) {
	l.age.Remove(q.byAge)
	q.line.calls.Remove(q.inLine)
	delete(l.calls, q.Call)
	if q.Request.AboutTask() {
		l.aboutTask--
	}
	if q.line.calls.Len() == 0 {
		l.turns.Remove(q.line.turn)
		delete(l.of, q.line.client)
	}
}

// served takes out a call that goes to a backend: its client has had its turn.
func (l *lines) served(q *queued) {
	l.turns.MoveToBack(q.line.turn)
	l.remove(q)
}

// passOver puts the client that was served last behind the others: its turn was the one that has just ended, also when its call had
// not waited in a line.
func (l *lines) passOver() {
	if first := l.turns.Front(); first != nil && first.Value.(*line).client == l.last {
		l.turns.MoveToBack(first)
	}
}

// newestOfLongest is the call that makes room for another one of that client when there is no more: the newest of the client that has
// most of them waiting. nil: no other has more than this client would have, so it gets no room.
func (l *lines) newestOfLongest(client string) *queued {
	most := 1
	if its := l.of[client]; its != nil {
		most += its.calls.Len()
	}
	var longest *line
	for e := l.turns.Front(); e != nil; e = e.Next() {
		if its := e.Value.(*line); its.calls.Len() > most {
			most, longest = its.calls.Len(), its
		}
	}
	if longest == nil {
		return nil
	}
	return longest.calls.Back().Value.(*queued)
}
