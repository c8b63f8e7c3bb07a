package server

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strconv"
)

// forwarderBuffer is the size of a read from a connection.
const forwarderBuffer = 256 << 10

// ServeForwarder copies bytes between each client and a separate connection to target, through one buffer and without
// examining them. It is the upper bound for any proxy on this machine. It prints its URL on out and ends when in ends.
//
// With whole, it forwards a response only after it has received all of it, as a proxy that inspects responses must.
func ServeForwarder(in io.Reader, out io.Writer, target string, whole bool) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	return accept(in, out, func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", to.Host)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			move(server, client, nil)
			_ = server.Close()
		}()
		if whole {
			move(client, server, answerLength)
		} else {
			move(client, server, nil)
		}
	})
}

// move copies until src ends, through one buffer. length, if not nil, returns the length of a message from its first
// bytes; move then writes each message only once it is complete.
func move(dst io.Writer, src io.Reader, length func(begin []byte) int) {
	buffer := make([]byte, forwarderBuffer)
	for {
		n, err := src.Read(buffer)
		if err == nil && length != nil {
			want := length(buffer[:n])
			if len(buffer) < want {
				buffer = append(make([]byte, 0, want), buffer[:n]...)[:want]
			}
			var more int
			more, err = io.ReadAtLeast(src, buffer[n:], max(want-n, 0))
			n += more
		}
		if err != nil {
			return
		}
		if _, err := dst.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// answerLength returns the length of an HTTP response from its first bytes, which contain the whole header.
func answerLength(begin []byte) int {
	head, _, _ := bytes.Cut(begin, []byte("\r\n\r\n"))
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, _ := strconv.Atoi(string(bytes.TrimSpace(value)))
			return len(head) + len("\r\n\r\n") + min(max(n, 0), 64<<20)
		}
	}
	return 0
}
