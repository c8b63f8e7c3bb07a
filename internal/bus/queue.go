package bus

import (
	"strings"
	"sync"
	"sync/atomic"
)

// cutWord returns the first word of a subject and what follows its dot.
func cutWord(subject string) (word, rest string, more bool) { return strings.Cut(subject, ".") }

// queue holds messages until a goroutine takes them. Its size is bounded: a message that finds it full is dropped. Messages
// keep their order.
type queue[M any] struct {
	size    func(M) int    // bytes of a message
	dropped *atomic.Uint64 // counts dropped messages

	mu     sync.Mutex
	list   []M
	bytes  int
	closed bool
	filled chan struct{} // receives when a message was added or the queue was closed
}

func newQueue[M any](size func(M) int, dropped *atomic.Uint64) *queue[M] {
	return &queue[M]{size: size, dropped: dropped, filled: make(chan struct{}, 1)}
}

// put appends a message, unless the queue is full or closed.
func (q *queue[M]) put(m M) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.size(m)
	switch {
	case q.closed:
		return
	case len(q.list) >= maxWaiting || q.bytes+n > maxWaitingBytes:
		q.dropped.Add(1)
		return
	}
	q.list = append(q.list, m)
	q.bytes += n
	q.wake()
}

// wake ends a wait of take. The caller must hold mu.
func (q *queue[M]) wake() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// take removes and returns the oldest message. It blocks while the queue is empty. It returns false once the queue is
// closed, or finished and empty.
func (q *queue[M]) take() (m M, ok bool) {
	for {
		q.mu.Lock()
		if len(q.list) > 0 {
			m = q.list[0]
			var none M
			q.list[0] = none
			q.list = q.list[1:]
			q.bytes -= q.size(m)
			if len(q.list) == 0 {
				q.list = nil
			}
			q.mu.Unlock()
			return m, true
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return m, false
		}
		<-q.filled
	}
}

// finish makes put do nothing. take returns the messages that are left.
func (q *queue[M]) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

// close makes put do nothing, and drops the messages that are left.
func (q *queue[M]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.list = true, nil
	q.wake()
}
