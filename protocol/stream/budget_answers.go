package stream

import (
	"sync"
)

// keptAnswer is the size in bytes up to which a response is kept even if the budget is used up, since an error in its place
// would not be much smaller.
const keptAnswer = 16 << 10

// Slack is the number of bytes of small messages that may wait for a client in addition to its share.
const Slack = 8 << 20

// share returns the part of the budget that one client's unread responses may use, so that a slow reader affects only itself.
func (b *Budget) share() int64 { return b.limit / 4 }

// bounded reports whether the budget has a limit.
func (b *Budget) bounded() bool { return b != nil && b.limit > 0 }

// Crowded reports whether a client with waiting unread bytes should send no more requests until it has read some.
func (b *Budget) Crowded(waiting int) bool { return b.bounded() && int64(waiting) > b.share()/2 }

// Admits reports whether a response of size bytes may be queued for a client with waiting unread bytes.
func (b *Budget) Admits(waiting, size int) bool {
	switch {
	case !b.bounded():
		return true
	case waiting > 0 && int64(waiting+size) > b.share():
		return false
	}
	return size <= keptAnswer || b.used.Load()+int64(size) <= b.limit
}

// Spares is Admits for optional messages, which get no space beyond the budget.
func (b *Budget) Spares(waiting, size int) bool {
	return b.Admits(waiting, size) && (!b.bounded() || b.used.Load()+int64(size) <= b.limit)
}

// Overdrawn reports whether a client has so many unread bytes that its connection should be closed.
func (b *Budget) Overdrawn(waiting int) bool {
	return b.bounded() && int64(waiting) > 2*b.share()+Slack
}

// accounts counts the bytes of large responses in transit by client, for clients with a connection per request.
type accounts struct {
	mu   sync.Mutex
	used map[string]int
}

// TakeAnswer takes the bytes of a response for the client who. It reports false if the client's share or the budget is used
// up. Pass taken, which may be 0, to GiveAnswer.
func (b *Budget) TakeAnswer(who string, size int) (taken int, ok bool) {
	if size <= keptAnswer || !b.bounded() {
		if b.Take(size) {
			taken = size
		}
		return taken, true
	}
	a := &b.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	if !b.Admits(a.used[who], size) || !b.Take(size) {
		return 0, false
	}
	if a.used == nil {
		a.used = map[string]int{}
	}
	a.used[who] += size
	return size, true
}

// GiveAnswer returns the bytes that TakeAnswer took for the client who.
func (b *Budget) GiveAnswer(who string, taken int) {
	b.Give(taken)
	if taken <= keptAnswer || !b.bounded() {
		return
	}
	a := &b.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[who] -= taken; a.used[who] <= 0 {
		delete(a.used, who)
	}
}
