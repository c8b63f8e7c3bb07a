package bench

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strconv"
)

// forwarderBuffer is how much a forwarder takes from a connection at a time.
const forwarderBuffer = 256 << 10

// ServeForwarder is what any proxy on this machine is bounded by: it knows nothing of what it carries, has a connection
// of its own to target for each client, one buffer for it, and moves bytes. It prints its URL on out and ends when in does.
//
// whole: it passes an answer on when it has all of it, as one must who looks at it before anybody else does.
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

// move copies until src ends, with one buffer and nothing clever. With length it waits for so many bytes of a message.
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

// answerLength returns how long an HTTP answer is, from its first bytes, which hold the whole head.
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
