package stream

import "errors"

var (
	// ErrOverBudget means that the buffers of all connections together would exceed the Budget.
	ErrOverBudget = errors.New("too many bytes buffered")
	// ErrFrameTooLarge means that a line, event or body exceeds the maximum message size.
	ErrFrameTooLarge = errors.New("message too large")
)
