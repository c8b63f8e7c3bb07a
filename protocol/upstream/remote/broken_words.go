package remote

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// errCut and errReset are what people are told instead of "unexpected EOF" and addresses with ports of ours.
var (
	errCut   = errors.New("the connection was closed before the answer was complete")
	errReset = errors.New("the connection was reset before the answer was complete")
)

// brokenExchange is a broken exchange in words for people; what it was stands behind it.
type brokenExchange struct{ words, cause error }

func (e *brokenExchange) Error() string   { return e.words.Error() }
func (e *brokenExchange) Unwrap() []error { return []error{e.words, e.cause} }

// inWords says in plain words how an exchange was broken off; any other error stays as it is.
func inWords(err error) error {
	if op, is := errors.AsType[*net.OpError](err); err == nil || is && op.Op == "dial" {
		return err
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &brokenExchange{errReset, err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "http: server closed idle connection":
		return &brokenExchange{errCut, err}
	}
	// net/http speaks to programmers: "http2: Transport: cannot retry err [X] after Request.Body was written; define …"
	if _, why, is := strings.Cut(err.Error(), "cannot retry err ["); is {
		why, _, _ = strings.Cut(why, "] after Request.Body")
		return &brokenExchange{errors.New("the server broke off the request: " + why), err}
	}
	return err
}
