package upstream

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is told in NotSent and Ended when the link was closed before the frame was written or answered.
	ErrClosed = errors.New("connection closed")
	// ErrQueueFull is told in NotSent when the frames waiting for a process to read exceed Options.QueueBytes.
	ErrQueueFull = errors.New("write queue full")
	// ErrProgramNotFound is told in Closed when the program of a process does not exist.
	ErrProgramNotFound = errors.New("program not found")
	// ErrNotReading is told in Closed when the process took nothing from its stdin for Options.WriteTimeout.
	ErrNotReading = errors.New("process does not read its stdin")
	// ErrNoAnswer is told in Ended when the HTTP response to a request ended without a JSON-RPC response in it.
	ErrNoAnswer = errors.New("response ended without an answer")
	// ErrSessionLost is told in Ended right after SessionLost for the same ticket.
	ErrSessionLost = errors.New("session lost")
)

// ExitError says how a process ended that nobody had asked to end.
type ExitError struct {
	Code   int    // exit code; -1 when a signal ended it
	Signal string // "killed", "segmentation fault"; "" = none
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "process ended by signal: " + e.Signal
	}
	return fmt.Sprintf("process exited with code %d", e.Code)
}
