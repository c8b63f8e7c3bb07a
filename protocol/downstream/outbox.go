package downstream

import (
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

const (
	outboxLogs  = 256 // log messages that may wait in one queue
	outboxSteps = 32  // progress messages with the same key that may wait in one queue
)

// outboxKey identifies a state message that a newer one may replace.
type outboxKey struct {
	owner uint64 // the exchange if several share the queue, else 0
	key   string
}

// outboxItem is one waiting message.
type outboxItem struct {
	protocol.Message
	weight     Weight
	key        outboxKey
	counted    int // bytes taken from the budget
	prev, next *outboxItem
}

// outboxQueue holds the messages that wait for a slow reader, oldest first. If the budget or the client's share of it is
// used up, errors replace answers, and progress and log messages are dropped. A state message takes the place of the
// waiting message with the same key, because moving it to the end each time could delay it forever. If too many log
// messages wait, the oldest is dropped.
//
// The owner of a queue locks it. The zero value is an empty queue.
type outboxQueue struct {
	first, last *outboxItem
	oldestLog   *outboxItem               // the first log message of the list
	states      map[outboxKey]*outboxItem // the newest message of each key
	steps       map[outboxKey]int         // number of progress messages of each key
	logs        int                       // number of log messages
	bytes       int                       // size of all waiting frames
	limit       int                       // number of bytes beyond which the reader is too slow for a message that is not an answer; 0 means no limit
	budget      *stream.Budget            // counts the bytes while it has room
}

// push queues a message and retains its frame. late means that the reader is too far behind: the caller must end the
// stream.
func (q *outboxQueue) push(msg protocol.Message, weight Weight, key outboxKey) (done Queued, late bool) {
	switch weight {
	case WeightAnswer:
		if !q.budget.Admits(q.bytes, len(msg.Frame)) {
			msg.Frame, _ = noRoom(msg.Frame)
		}
	case WeightLog, WeightProgress:
		if !q.budget.Spares(q.bytes, len(msg.Frame)) {
			return Queued{Dropped: 1}, false
		}
	}
	if weight == WeightState || weight == WeightProgress && q.steps[key] >= outboxSteps {
		if old := q.states[key]; old != nil {
			q.uncount(old)
			old.Message = msg
			q.count(old)
			return Queued{Merged: true}, q.overfull(weight)
		}
	}
	if weight == WeightLog && q.logs >= outboxLogs {
		q.remove(q.oldestLog)
		done.Dropped = 1
	}
	item := &outboxItem{Message: msg, weight: weight, key: key, prev: q.last}
	if q.last == nil {
		q.first = item
	} else {
		q.last.next = item
	}
	q.last = item
	q.count(item)
	switch weight {
	case WeightState, WeightProgress:
		if q.states == nil {
			q.states = make(map[outboxKey]*outboxItem)
		}
		q.states[key] = item
		if weight == WeightProgress {
			if q.steps == nil {
				q.steps = make(map[outboxKey]int)
			}
			q.steps[key]++
		}
	case WeightLog:
		if q.logs++; q.oldestLog == nil {
			q.oldestLog = item
		}
	}
	return done, q.overfull(weight)
}

func (q *outboxQueue) overfull(weight Weight) bool {
	if weight == WeightAnswer {
		return q.budget.Overdrawn(q.bytes)
	}
	return q.limit > 0 && q.bytes > q.limit
}

// pop removes and returns the oldest message, or nil if none waits.
func (q *outboxQueue) pop() *outboxItem {
	item := q.first
	if item != nil {
		q.remove(item)
	}
	return item
}

func (q *outboxQueue) empty() bool { return q.first == nil }

// clear removes all messages and returns their bytes to the budget.
func (q *outboxQueue) clear() {
	for q.first != nil {
		q.remove(q.first)
	}
}

func (q *outboxQueue) remove(item *outboxItem) {
	switch item.weight {
	case WeightState, WeightProgress:
		if q.states[item.key] == item {
			if delete(q.states, item.key); len(q.states) == 0 {
				q.states = nil
			}
		}
		if item.weight == WeightProgress {
			if q.steps[item.key]--; q.steps[item.key] == 0 {
				delete(q.steps, item.key)
			}
		}
	case WeightLog:
		q.logs--
		if item == q.oldestLog {
			q.oldestLog = nextLog(item.next)
		}
	}
	if item.prev == nil {
		q.first = item.next
	} else {
		item.prev.next = item.next
	}
	if item.next == nil {
		q.last = item.prev
	} else {
		item.next.prev = item.prev
	}
	item.prev, item.next = nil, nil
	q.uncount(item)
}

func nextLog(item *outboxItem) *outboxItem {
	for item != nil && item.weight != WeightLog {
		item = item.next
	}
	return item
}

func (q *outboxQueue) count(item *outboxItem) {
	q.bytes += len(item.Frame)
	if q.budget.Take(len(item.Frame)) {
		item.counted = len(item.Frame)
	}
}

func (q *outboxQueue) uncount(item *outboxItem) {
	q.bytes -= len(item.Frame)
	q.budget.Give(item.counted)
	item.counted = 0
}
