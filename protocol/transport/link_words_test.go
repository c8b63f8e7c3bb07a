package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
)

// A broken exchange is told in words for people, and stays what it was for whoever asks.
func TestLinkWords(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 54321}
	op := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Source: address, Addr: address, Err: err}
	}
	closed, reset := errLinkCut.Error(), errLinkReset.Error()
	for _, test := range []struct {
		err  error
		want string
		is   error
	}{
		{fmt.Errorf("read answer: %w", io.ErrUnexpectedEOF), closed, io.ErrUnexpectedEOF},
		{io.EOF, closed, io.EOF},
		{errors.New("http: server closed idle connection"), closed, errLinkCut},
		{op("read", syscall.ECONNRESET), reset, syscall.ECONNRESET},
		{op("write", syscall.EPIPE), reset, syscall.EPIPE},
		{errors.New("http2: Transport: cannot retry err [stream error: stream ID 3; PROTOCOL_ERROR; received from peer] after Request.Body was written; define Request.GetBody to avoid this error"),
			"the server broke off the request: stream error: stream ID 3; PROTOCOL_ERROR; received from peer", nil},
		{ErrNoAnswer, ErrNoAnswer.Error(), ErrNoAnswer},
	} {
		got := linkWords(test.err)
		if got.Error() != test.want || test.is != nil && !errors.Is(got, test.is) {
			t.Errorf("%v: said %q, want %q; is %v: %v", test.err, got, test.want, test.is, errors.Is(got, test.is))
		}
	}
	if dial := op("dial", syscall.ECONNRESET); linkWords(dial) != dial || linkWords(nil) != nil {
		t.Errorf("said %v of an attempt to connect, %v of nothing", linkWords(dial), linkWords(nil))
	}
}

// Over every kind of connection a server that goes away in the middle is told of in the same words.
func TestLinkWordsOfLostCalls(t *testing.T) {
	for _, over := range []string{"", "http/1.1", "h2"} {
		url := httpTwiceListen(t, over, func(conn net.Conn) {
			if over == "h2" {
				httpTwiceH2{conn}.serve(func(s httpTwiceH2, _ uint32, _ []byte, _ bool) { s.conn.Close() })
				return
			}
			_, _ = io.ReadFull(conn, make([]byte, 500)) // all of the call
		})
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: url})
		frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":"` + strings.Repeat("x", 1000) + `"}`)
		l.Send(Outgoing{Ticket: 1, Request: true, Frame: frame})
		end, ok := httpLinkTestEnd(r, 1).(Ended)
		if !ok || !errors.Is(end.Err, errLinkCut) && !errors.Is(end.Err, errLinkReset) || strings.Contains(end.Err.Error(), "127.0.0.1") {
			t.Errorf("over %q: %v", over, end.Err)
		}
	}
}
