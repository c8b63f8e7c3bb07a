package stream

import (
	"sync"
)

// keptAnswer is how large an answer may be to be kept when the budget has no room: an error instead of it would not be
// much smaller.
const keptAnswer = 16 << 10

// Slack is how many bytes of small messages may wait for a client besides a largest one.
const Slack = 8 << 20

// share is how much of the budget the answers that one client has not taken may hold: a slow reader costs itself.
func (b *Budget) share() int64 { return b.limit / 4 }

// bounded reports whether the budget has a limit at all.
func (b *Budget) bounded() bool { return b != nil && b.limit > 0 }

// Crowded reports whether a client for whom waiting bytes wait should ask nothing more before it has read some.
func (b *Budget) Crowded(waiting int) bool { return b.bounded() && int64(waiting) > b.share()/2 }

// Admits reports whether an answer of size bytes may wait behind others of waiting bytes.
func (b *Budget) Admits(waiting, size int) bool {
	switch {
	case !b.bounded():
		return true
	case waiting > 0 && int64(waiting+size) > b.share():
		return false
	}
	return size <= keptAnswer || b.used.Load()+int64(size) <= b.limit
}

// Spares reports whether there is room for what could be done without.
func (b *Budget) Spares(waiting, size int) bool {
	return b.Admits(waiting, size) && (!b.bounded() || b.used.Load()+int64(size) <= b.limit)
}

// Overdrawn reports whether more waits than even errors instead of answers explain: the reader is lost.
func (b *Budget) Overdrawn(waiting int) bool {
	return b.bounded() && int64(waiting) > 2*b.share()+Slack
}

// accounts hold what the answers on their way hold, by client, where each has a connection of its own.
type accounts struct {
	mu   sync.Mutex
	used map[string]int
}

// TakeAnswer takes the bytes of an answer for a client; false when its share, or the budget, is used up. The bytes taken,
// which may be none, are to be given back with GiveAnswer.
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

// GiveAnswer gives back what TakeAnswer took for who.
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
