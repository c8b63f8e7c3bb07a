package stream

import "sync/atomic"

// Budget counts the bytes that buffers hold at this moment, all connections together (limits.maxBufferedBytes).
// Whoever puts bytes into a buffer takes them first and gives them back when the bytes have left it:
//
//	if !b.Take(len(frame)) {
//		return ErrOverBudget
//	}
//	defer b.Give(len(frame))
//
// A nil Budget counts nothing and refuses nothing. Methods may be called from any goroutine and never block.
type Budget struct {
	limit    int64
	used     atomic.Int64
	accounts accounts
}

// NewBudget returns a budget of limit bytes; limit ≤ 0 means no limit, bytes are counted all the same.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Take counts n more bytes and reports true, or counts nothing and reports false when they would exceed the limit.
// n ≤ 0 is always granted and counts nothing.
func (b *Budget) Take(n int) bool {
	if b == nil || n <= 0 {
		return true
	}
	// Add first, take back on refusal: no loop under contention. Two takers at the edge may both be refused
	// where one would have fitted, which is the right side to err on.
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

// Used returns the bytes taken and not given back.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// TakeSpare takes n bytes for something that could be done without: it leaves half of the budget to others.
func (b *Budget) TakeSpare(n int) bool {
	if b != nil && b.limit > 0 && b.used.Load()+int64(n) > b.limit/2 {
		return false
	}
	return b.Take(n)
}
