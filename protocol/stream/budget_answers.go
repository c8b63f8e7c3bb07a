package stream

import (
	"sync"
)

// smallAnswer is the size in bytes up to which a response is admitted even if the budget is used up, since an error in its
// place would not be much smaller.
const smallAnswer = 16 << 10

// Slack is the number of bytes that may be queued for a client beyond twice its share before its connection is closed.
const Slack = 8 << 20

// share returns the part of the budget that one client's unread responses may use, so that a slow reader affects only itself.
// A single response may be larger than the share.
func (b *Budget) share() int64 { return b.limit / 4 }

// bounded reports whether the budget has a limit.
func (b *Budget) bounded() bool { return b != nil && b.limit > 0 }

// Crowded reports whether a client's further requests should be refused until it reads some of its unread bytes. waiting is
// the number of these bytes, as in the methods below.
func (b *Budget) Crowded(waiting int) bool { return b.bounded() && int64(waiting) > b.share()/2 }

// Admits reports whether a response of size bytes may be queued for a client.
func (b *Budget) Admits(waiting, size int) bool {
	switch {
	case !b.bounded():
		return true
	case waiting > 0 && int64(waiting+size) > b.share():
		return false
	}
	return size <= smallAnswer || b.used.Load()+int64(size) <= b.limit
}

// Spares is like Admits, but for optional messages: even small ones are refused once the budget is used up.
func (b *Budget) Spares(waiting, size int) bool {
	return b.Admits(waiting, size) && (!b.bounded() || b.used.Load()+int64(size) <= b.limit)
}

// Overdrawn reports whether a client has so many unread bytes that its connection should be closed.
func (b *Budget) Overdrawn(waiting int) bool {
	return b.bounded() && int64(waiting) > 2*b.share()+Slack
}

// accounts counts, for each client, the bytes of its large responses in transit. It is needed because one client may use
// many connections.
type accounts struct {
	mu   sync.Mutex
	used map[string]int
}

// TakeAnswer takes the bytes of a response for a client. It reports false if the response does not fit in the client's
// share or in the budget. It always admits a small response, with taken 0 if the budget is used up. Pass taken to GiveAnswer.
func (b *Budget) TakeAnswer(client string, size int) (taken int, ok bool) {
	if size <= smallAnswer || !b.bounded() {
		if b.Take(size) {
			taken = size
		}
		return taken, true
	}
	a := &b.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	if !b.Admits(a.used[client], size) || !b.Take(size) {
		return 0, false
	}
	if a.used == nil {
		a.used = map[string]int{}
	}
	a.used[client] += size
	return size, true
}

// GiveAnswer returns the bytes that TakeAnswer took for the client.
func (b *Budget) GiveAnswer(client string, taken int) {
	b.Give(taken)
	if taken <= smallAnswer || !b.bounded() {
		return
	}
	a := &b.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[client] -= taken; a.used[client] <= 0 {
		delete(a.used, client)
	}
}
