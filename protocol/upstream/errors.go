package upstream

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is the error in NotSent and Ended if the link was closed before the frame was written or answered.
	ErrClosed = errors.New("connection closed")
	// ErrQueueFull is the error in NotSent if the frames queued for a process or function exceed Options.QueueBytes.
	ErrQueueFull = errors.New("write queue full")
	// ErrProgramNotFound is the error in Closed if the program of a process does not exist or is not executable.
	ErrProgramNotFound = errors.New("program not found")
	// ErrNotReading is the error in Closed if the process read nothing from its stdin for Options.WriteTimeout.
	ErrNotReading = errors.New("process does not read its stdin")
	// ErrNoAnswer is the error in Ended if the HTTP response to a request contained no JSON-RPC response.
	ErrNoAnswer = errors.New("the response ended without an answer")
	// ErrSessionLost is the error in Ended if the server no longer knows the session. SessionLost for the same ticket
	// precedes it, unless the link already has another session.
	ErrSessionLost = errors.New("session lost")
)

// ExitError describes how a process ended, unless the link ended it.
type ExitError struct {
	Code   int    // exit code; -1 if a signal ended it
	Signal string // "killed", "segmentation fault"; "" = none
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "process ended by signal: " + e.Signal
	}
	return fmt.Sprintf("process exited with code %d", e.Code)
}
