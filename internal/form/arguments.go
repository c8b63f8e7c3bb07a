package form

import "fmt"

// Pair is one argument as a person writes it.
type Pair struct{ Key, Value string }

// ArgumentError reports arguments that a schema rejects.
type ArgumentError struct {
	Err  error
	Hint string // what to write instead
}

// Error returns the text without the hint.
func (e *ArgumentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ArgumentError) Unwrap() error { return e.Err }

func argumentError(hint, text string, args ...any) error {
	return &ArgumentError{fmt.Errorf(text, args...), hint}
}
