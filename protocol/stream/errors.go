package stream

import "errors"

var (
	// ErrOverBudget says that the bytes buffered by all connections together would exceed the Budget.
	ErrOverBudget = errors.New("too many bytes buffered")
	// ErrFrameTooLarge says that a line, event or body is longer than MaxMessageBytes.
	ErrFrameTooLarge = errors.New("message too large")
)
