package downstream

import (
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

const (
	outboxLogs  = 256 // log messages that may wait in one outbox
	outboxSteps = 32  // progress messages of one key, likewise
)

// outboxKey names a waiting state message: the same key of another owner is another message.
type outboxKey struct {
	owner uint64 // the exchange on a shared pipe; 0 on a stream of one's own
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

// outboxQueue holds what waits for a slow reader, oldest first, by the rules of Weight: answers stay, or when there is no
// room in the budget an error stays instead of each; progress and log messages are dropped then. A state message
// replaces the waiting one with its key in its place (at the end it could be overtaken for ever), the oldest log
// message goes when too many wait. It is not safe for concurrent use: its owner has the lock. The zero value is empty.
type outboxQueue struct {
	first, last *outboxItem
	oldestLog   *outboxItem               // the first log message of the list
	states      map[outboxKey]*outboxItem // the newest of each key
	steps       map[outboxKey]int         // progress messages of each key
	logs        int
	bytes       int            // of all waiting frames
	limit       int            // more bytes than this mean that the reader is lost; 0 = none
	budget      *stream.Budget // counts the bytes as far as it has room
}

// push queues a message and returns how many log messages it dropped for it. The queue keeps the frame.
// lost: more is waiting than its reader will ever take; the caller ends the stream.
func (q *outboxQueue) push(msg protocol.Message, weight Weight, key outboxKey) (dropped int, lost bool) {
	switch weight {
	case WeightAnswer:
		if !q.budget.Admits(q.bytes, len(msg.Frame)) {
			msg.Frame, _ = noRoom(msg.Frame)
		}
	case WeightLog, WeightProgress:
		if !q.budget.Spares(q.bytes, len(msg.Frame)) {
			return 1, false
		}
	}
	if weight == WeightState || weight == WeightProgress && q.steps[key] >= outboxSteps {
		if old := q.states[key]; old != nil {
			q.uncount(old)
			old.Message = msg
			q.count(old)
			return 0, q.overfull(weight)
		}
	}
	if weight == WeightLog && q.logs >= outboxLogs {
		q.remove(q.oldestLog)
		dropped = 1
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
	return dropped, q.overfull(weight)
}

func (q *outboxQueue) overfull(weight Weight) bool {
	if weight == WeightAnswer {
		return q.budget.Overdrawn(q.bytes)
	}
	return q.limit > 0 && q.bytes > q.limit
}

// pop takes the oldest message; nil when none waits.
func (q *outboxQueue) pop() *outboxItem {
	item := q.first
	if item != nil {
		q.remove(item)
	}
	return item
}

func (q *outboxQueue) empty() bool { return q.first == nil }

// clear forgets everything and gives its bytes back.
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
