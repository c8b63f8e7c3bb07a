package transport

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// errLinkCut and errLinkReset are what people are told instead of "unexpected EOF" and addresses with ports of ours.
var (
	errLinkCut   = errors.New("the connection was closed before the answer was complete")
	errLinkReset = errors.New("the connection was reset before the answer was complete")
)

// linkBroken is a broken exchange in words for people; what it was stands behind it.
type linkBroken struct{ words, cause error }

func (e *linkBroken) Error() string   { return e.words.Error() }
func (e *linkBroken) Unwrap() []error { return []error{e.words, e.cause} }

// linkWords says in plain words how an exchange was broken off; any other error stays as it is.
func linkWords(err error) error {
	if op, is := errors.AsType[*net.OpError](err); err == nil || is && op.Op == "dial" {
		return err
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &linkBroken{errLinkReset, err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "http: server closed idle connection":
		return &linkBroken{errLinkCut, err}
	}
	// net/http speaks to programmers: "http2: Transport: cannot retry err [X] after Request.Body was written; define …"
	if _, why, is := strings.Cut(err.Error(), "cannot retry err ["); is {
		why, _, _ = strings.Cut(why, "] after Request.Body")
		return &linkBroken{errors.New("the server broke off the request: " + why), err}
	}
	return err
}
