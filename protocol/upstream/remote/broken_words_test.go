package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"goblin-actor/protocol/upstream"
)

// A broken exchange has a readable message, and its error chain contains the cause.
func TestLinkErrorText(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 54321}
	op := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Source: address, Addr: address, Err: err}
	}
	closed, reset := errCut.Error(), errReset.Error()
	for _, test := range []struct {
		err  error
		want string
		is   error
	}{
		{fmt.Errorf("read answer: %w", io.ErrUnexpectedEOF), closed, io.ErrUnexpectedEOF},
		{io.EOF, closed, io.EOF},
		{errors.New("http: server closed idle connection"), closed, errCut},
		{op("read", syscall.ECONNRESET), reset, syscall.ECONNRESET},
		{op("write", syscall.EPIPE), reset, syscall.EPIPE},
		{errors.New("http2: Transport: cannot retry err [stream error: stream ID 3; PROTOCOL_ERROR; received from peer] after Request.Body was written; define Request.GetBody to avoid this error"),
			"the server aborted the request: stream error: stream ID 3; PROTOCOL_ERROR; received from peer", nil},
		{upstream.ErrNoAnswer, upstream.ErrNoAnswer.Error(), upstream.ErrNoAnswer},
	} {
		got := readable(test.err)
		if got.Error() != test.want || test.is != nil && !errors.Is(got, test.is) {
			t.Errorf("%v: message %q, want %q; is %v: %v", test.err, got, test.want, test.is, errors.Is(got, test.is))
		}
	}
	if dial := op("dial", syscall.ECONNRESET); readable(dial) != dial || readable(nil) != nil {
		t.Errorf("message for a failed connection attempt: %v; for nil: %v", readable(dial), readable(nil))
	}
}

// If a server disconnects during an exchange, the error has a readable message without addresses over every kind of
// connection.
func TestLinkErrorTextOfLostCalls(t *testing.T) {
	for _, over := range []string{"", "http/1.1", "h2"} {
		url := twiceListen(t, over, func(conn net.Conn) {
			if over == "h2" {
				h2Conn{conn}.serve(func(s h2Conn, _ uint32, _ []byte, _ bool) { s.conn.Close() })
				return
			}
			_, _ = io.ReadFull(conn, make([]byte, 500)) // only part of the call
		})
		l, r := testOpen(t, Options{URL: url})
		frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":"` + strings.Repeat("x", 1000) + `"}`)
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Frame: frame})
		end, ok := testEnd(r, 1).(upstream.Ended)
		if !ok || !errors.Is(end.Err, errCut) && !errors.Is(end.Err, errReset) || strings.Contains(end.Err.Error(), "127.0.0.1") {
			t.Errorf("over %q: %v", over, end.Err)
		}
	}
}
