package token

import "sync/atomic"

// Budget bounds the logins that are under way at all servers together. The zero value is ready.
type Budget struct{ taken atomic.Int32 }

const underWayAtMost = 1000 // logins, at all servers

func (b *Budget) take() bool {
	if b == nil {
		return true
	}
	if b.taken.Add(1) > underWayAtMost {
		b.taken.Add(-1)
		return false
	}
	return true
}

func (b *Budget) give(n int) {
	if b != nil {
		b.taken.Add(-int32(n))
	}
}
