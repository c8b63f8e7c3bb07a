package kernel

import "context"

// waiter is a goroutine blocked in TellWait.
type waiter struct {
	entry      entry
	lane       uint32
	done       chan struct{} // closed when the message was accepted or the actor stopped
	dismissed  bool          // the actor stopped; set before done is closed
	queued     bool          // guarded by the mailbox's mutex
	prev, next *waiter
}

// waiters is a FIFO queue. The mailbox's mutex guards it.
type waiters struct {
	head, tail *waiter
	len        int
}

func (q *waiters) first() *waiter { return q.head }

func (q *waiters) push(w *waiter) {
	w.queued = true
	q.len++
	w.prev = q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
}

func (q *waiters) remove(w *waiter) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.len--
}

// dismissWaiters removes all waiters, since the actor is stopping. The caller must hold mu.
func (m *mailbox) dismissWaiters() {
	for w := m.waiters.first(); w != nil; w = m.waiters.first() {
		m.waiters.remove(w)
		w.dismissed = true
		m.owner.system.afterStep(func() { close(w.done) })
	}
}

// tellWait implements Reference.TellWait.
func (m *mailbox) tellWait(ctx context.Context, msg any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := entry{msg: msg, class: classOf(msg)}
	var key any
	if e.class == State || e.class == Step {
		key = keyOf(msg)
	}
	lane, size := m.laneOf(msg), 0
	if e.class == Work || e.class == Outcome {
		size = sizeOf(msg)
		e.sized = size > 0
	}
	m.mu.Lock()
	if m.phase != open {
		m.mu.Unlock()
		return ErrGone
	}
	if e.class == Work || e.class == Outcome {
		if !m.hasRoom(size) || size > 0 && m.waiters.len > 0 {
			return m.queueUp(ctx, lane, e)
		}
		e.class = Outcome // there is room for it
		m.waitedBytes += size
	}
	if m.admit(lane, e, key) {
		m.runInline(0)
	}
	return nil
}

// hasRoom reports whether a message of that size from TellWait is accepted. A single message may exceed the size limit.
// The caller must hold mu.
func (m *mailbox) hasRoom(size int) bool {
	return m.waiting < m.waitLimit() && (size == 0 || m.waitedBytes == 0 || m.waitedBytes+size <= sizeTotal)
}

// waitLimit is the part of the limit that messages from TellWait may fill. The rest is for senders that cannot wait.
// Otherwise a reader faster than its actor would keep the mailbox full, and all Work would be refused.
func (m *mailbox) waitLimit() int { return m.limit - m.limit/4 }

// queueUp waits until the mailbox accepts e, and returns TellWait's result. The caller must hold mu; queueUp releases
// it.
func (m *mailbox) queueUp(ctx context.Context, lane uint32, e entry) error {
	w := &waiter{entry: e, lane: lane, done: make(chan struct{})}
	m.waiters.push(w)
	m.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		if m.leave(w) {
			return context.Cause(ctx)
		}
	}
	if w.dismissed {
		return ErrGone
	}
	return nil
}

// leave removes w from the queue. It returns false if w's message was already accepted or w was dismissed.
func (m *mailbox) leave(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !w.queued {
		return false
	}
	m.waiters.remove(w)
	return true
}
