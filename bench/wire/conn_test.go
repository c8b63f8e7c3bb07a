package wire

import (
	"fmt"
	"io"
	"net"
	"testing"
)

func TestWireReadsLengthsAndChunks(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		buffer := make([]byte, 4096)
		for _, answer := range []string{
			"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nMcp-Session-Id: s1\r\n\r\nabc",
			"HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
			"HTTP/1.1 202 Accepted\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
		} {
			if _, err := server.Read(buffer); err != nil {
				return
			}
			if _, err := io.WriteString(server, answer); err != nil {
				return
			}
		}
	}()
	w := NewConn(client)
	for _, want := range []string{"200 abc s1 false", "201 def s1 true", "202  s1 false"} {
		body, err := w.Exchange([]byte("x"))
		if got := fmt.Sprintf("%d %s %s %v", w.Status, body, w.Session, w.EventStream); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := w.Exchange([]byte("x")); err == nil {
		t.Error("a truncated response was accepted")
	}
}
