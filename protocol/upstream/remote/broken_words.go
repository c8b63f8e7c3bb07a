package remote

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// errCut and errReset replace messages such as "unexpected EOF" and texts with local addresses.
var (
	errCut   = errors.New("the connection was closed before the response was complete")
	errReset = errors.New("the connection was reset before the response was complete")
)

// brokenExchange is a network error with a readable message. It wraps the message and the cause.
type brokenExchange struct{ words, cause error }

func (e *brokenExchange) Error() string   { return e.words.Error() }
func (e *brokenExchange) Unwrap() []error { return []error{e.words, e.cause} }

// readable replaces the error of a broken connection with a readable one. Other errors are returned unchanged.
func readable(err error) error {
	if op, is := errors.AsType[*net.OpError](err); err == nil || is && op.Op == "dial" {
		return err
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &brokenExchange{errReset, err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "http: server closed idle connection":
		return &brokenExchange{errCut, err}
	}
	// Keep only the cause from net/http's message, which addresses programmers: "http2: Transport: cannot retry err
	// [X] after Request.Body was written; define …"
	if _, why, is := strings.Cut(err.Error(), "cannot retry err ["); is {
		why, _, _ = strings.Cut(why, "] after Request.Body")
		return &brokenExchange{errors.New("the server aborted the request: " + why), err}
	}
	return err
}
