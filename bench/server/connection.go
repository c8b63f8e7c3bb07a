package server

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"

	"goblin-actor/bench/wire"
)

// serve serves one HTTP/1.1 connection. It supports only what the gateway and the load generator send. It answers
// other methods with 405 and invalid bodies with 400, and closes the connection if it cannot read the request.
func (s *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 16<<10)
	var body, out []byte
	var h head
	for {
		if err := h.read(r); err != nil {
			return
		}
		if string(h.method) == "GET" && s.live != nil {
			s.live.stream(conn, r, s.sse, string(h.session))
			return
		}
		if cap(body) < h.length {
			body = make([]byte, h.length)
		}
		body = body[:h.length]
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		switch {
		case s.live != nil && s.discover != nil && isListen(body):
			s.live.wait()
			s.live.listen(conn, r, body)
			return
		case s.sse != nil:
			out = s.respondOn(out[:0], h.path, body)
		default:
			out = s.respond(out[:0], &h, body)
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// respond appends the HTTP response.
func (s *rawServer) respond(out []byte, h *head, body []byte) []byte {
	switch {
	case string(h.method) == "DELETE" && s.live != nil:
		s.live.forget(h.session)
		return append(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"...)
	case string(h.method) != "POST":
		return append(out, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"...)
	}
	id, tail, err := s.answer(body, h.session)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		return append(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"...)
	}
	if tail == nil {
		return append(out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"...)
	}
	begins := s.live != nil && isInitialize(body) // never an event stream, because the session is in this header
	if s.events && !begins {
		return appendEventAnswer(out, id, tail)
	}
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"...)
	if begins {
		out = append(append(append(out, "Mcp-Session-Id: "...), rand.Text()...), "\r\n"...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(wire.ResponseHead)+len(id)+len(tail)), 10)
	out = append(out, "\r\n\r\n"+wire.ResponseHead...)
	out = append(out, id...)
	return append(out, tail...)
}

// appendEventAnswer appends a response that is a stream of one event.
func appendEventAnswer(out, id, tail []byte) []byte {
	const begin, end = "event: message\ndata: ", "\n\n"
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(begin)+len(wire.ResponseHead)+len(id)+len(tail)+len(end)), 10)
	out = append(out, "\r\n\r\n"+begin+wire.ResponseHead...)
	out = append(append(out, id...), tail...)
	return append(out, end...)
}

// respondOn handles a message posted to path. It sends the response on the stream of that path and appends the HTTP
// response.
func (s *rawServer) respondOn(out, path, body []byte) []byte {
	id, tail, err := s.answer(body, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		return append(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"...)
	}
	if tail != nil {
		s.sse.write(path, slices.Concat([]byte(wire.ResponseHead), id, tail))
	}
	return append(out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"...)
}

// head is the request line and the supported headers of a request. Its bytes are valid until the next read.
type head struct {
	method, path, session []byte
	length                int // of the body
}

func (h *head) read(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	method, line, _ := bytes.Cut(line, []byte(" "))
	path, _, _ := bytes.Cut(line, []byte(" "))
	h.method, h.path, h.session, h.length = append(h.method[:0], method...), append(h.path[:0], path...), h.session[:0], 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			h.length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || h.length < 0 || h.length > 64<<20 {
				return fmt.Errorf("content-length: got %q", value)
			}
		case bytes.EqualFold(name, []byte("mcp-session-id")):
			h.session = append(h.session, bytes.TrimSpace(value)...)
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			return errors.New("chunked requests are not supported")
		}
	}
}

// accept listens on a free loopback port, prints its URL on out and calls serve in a new goroutine for every
// connection, until in ends.
func accept(in io.Reader, out io.Writer, serve func(net.Conn)) error {
	return acceptAt("", in, out, serve)
}

// acceptAt is like accept, but listens on an address; "" = a free loopback port.
func acceptAt(address string, in io.Reader, out io.Writer, serve func(net.Conn)) error {
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/mcp\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go serve(conn)
	}
}
