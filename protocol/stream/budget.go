package stream

import "sync/atomic"

// Budget limits the bytes in the buffers of all connections together (limits.maxBufferedBytes). Take bytes before buffering
// them, and give them back when they leave the buffer:
//
//	if !b.Take(len(frame)) {
//		return ErrOverBudget
//	}
//	defer b.Give(len(frame))
//
// A nil Budget has no limit and counts nothing. Methods are safe for concurrent use and never block.
type Budget struct {
	limit    int64
	used     atomic.Int64
	accounts accounts
}

// NewBudget returns a budget of limit bytes. If limit ≤ 0 it counts bytes without limiting them.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Take takes n bytes and reports true, or takes nothing and reports false if that would exceed the limit. If n ≤ 0 it takes
// nothing and reports true.
func (b *Budget) Take(n int) bool {
	if b == nil || n <= 0 {
		return true
	}
	// Adding first avoids a loop under contention. Near the limit, two concurrent callers may both be refused although one
	// of them would fit. That errs on the safe side.
	if used := b.used.Add(int64(n)); b.limit > 0 && used > b.limit {
		b.used.Add(int64(-n))
		return false
	}
	return true
}

// Give returns n bytes that Take granted.
func (b *Budget) Give(n int) {
	if b == nil || n <= 0 {
		return
	}
	b.used.Add(int64(-n))
}

// Used returns the number of bytes taken and not given back.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// TakeSpare is like Take, but for optional buffers: it refuses if more than half of the budget would be used.
func (b *Budget) TakeSpare(n int) bool {
	if b != nil && b.limit > 0 && b.used.Load()+int64(n) > b.limit/2 {
		return false
	}
	return b.Take(n)
}
