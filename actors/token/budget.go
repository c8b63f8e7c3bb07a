package token

import "sync/atomic"

// Budget limits the pending logins of all servers together to 1000. It is safe for concurrent use. The zero Budget is
// ready to use. A nil Budget has no limit.
type Budget struct{ taken atomic.Int32 }

const maxLoginsOverall = 1000

// take counts one login and returns true, or returns false if the limit is reached.
func (b *Budget) take() bool {
	if b == nil {
		return true
	}
	if b.taken.Add(1) > maxLoginsOverall {
		b.taken.Add(-1)
		return false
	}
	return true
}

// give returns n logins to the budget.
func (b *Budget) give(n int) {
	if b != nil {
		b.taken.Add(-int32(n))
	}
}
