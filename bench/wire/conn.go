package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// ExchangeTimeout limits the time of one request and its response. If a target hangs for longer, the run fails.
const ExchangeTimeout = 60 * time.Second

// maxAnswer limits the size of a response in bytes.
const maxAnswer = 256 << 20

// Conn is one keep-alive HTTP/1.1 connection, used by one goroutine. It supports only what the load generator needs,
// and therefore uses little CPU: about 4 µs per request (net/http's client uses about 20).
type Conn struct {
	Net  net.Conn
	in   *bufio.Reader
	body []byte // reused for the next response

	Headers string // additional headers of every request, each with its line end

	Status      int
	Session     string // Mcp-Session-Id of the last response that had one
	EventStream bool   // the last response was text/event-stream
	Ended       bool   // the peer closes the connection after the last response
}

// Dial connects to an address of the network "tcp" or "unix".
func Dial(network, addr string) (*Conn, error) {
	conn, err := net.DialTimeout(network, addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return NewConn(conn), nil
}

// NewConn returns a connection on conn.
func NewConn(conn net.Conn) *Conn {
	return &Conn{Net: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// Close closes the connection.
func (w *Conn) Close() { _ = w.Net.Close() }

// Exchange writes a request and reads the response. The body is valid until the next exchange.
func (w *Conn) Exchange(request []byte) ([]byte, error) {
	if err := w.Net.SetDeadline(time.Now().Add(ExchangeTimeout)); err != nil {
		return nil, err
	}
	if _, err := w.Net.Write(request); err != nil {
		return nil, err
	}
	length, chunked, err := w.head()
	if err != nil {
		return nil, err
	}
	w.body = w.body[:0]
	switch {
	case chunked:
		err = w.chunks()
	case length < 0:
		w.Ended = true
		w.body, err = io.ReadAll(io.LimitReader(w.in, maxAnswer))
	default:
		err = w.fill(length)
	}
	return w.body, err
}

// head reads the status line and the headers. length is negative if the response ends with the connection (a 200
// without Content-Length).
func (w *Conn) head() (length int, chunked bool, err error) {
	line, err := w.line()
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, false, fmt.Errorf("malformed HTTP status line: %q", line)
	}
	if w.Status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, false, fmt.Errorf("malformed HTTP status line: %q", line)
	}
	w.EventStream, w.Ended = false, false
	known := w.Status != 200
	for {
		line, err := w.line()
		if err != nil {
			return 0, false, err
		}
		if len(line) == 0 {
			if !known && !chunked {
				length = -1
			}
			return length, chunked, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, fmt.Errorf("malformed Content-Length: %q", value)
			}
			known = true
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("connection")):
			w.Ended = bytes.EqualFold(value, []byte("close"))
		case bytes.EqualFold(name, []byte("mcp-session-id")):
			w.Session = string(value)
		case bytes.EqualFold(name, []byte("content-type")):
			w.EventStream = bytes.HasPrefix(value, []byte("text/event-stream"))
		}
	}
}

// line returns the next line without its line end. It is valid until the next read.
func (w *Conn) line() ([]byte, error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// fill appends n more bytes to the body.
func (w *Conn) fill(n int) error {
	from := len(w.body)
	if n > maxAnswer-from {
		return fmt.Errorf("response larger than %d bytes", maxAnswer)
	}
	if cap(w.body) < from+n {
		w.body = append(make([]byte, 0, from+n), w.body...)
	}
	w.body = w.body[:from+n]
	_, err := io.ReadFull(w.in, w.body[from:])
	return err
}

func (w *Conn) chunks() error {
	for {
		line, err := w.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return fmt.Errorf("malformed chunk size: %q", line)
		}
		if err := w.fill(int(n)); err != nil {
			return err
		}
		if end, err := w.line(); err != nil || len(end) != 0 {
			return errors.Join(err, fmt.Errorf("malformed end of a chunk: %q", end))
		}
		if n == 0 {
			return nil
		}
	}
}

// Get requests path. The body is valid until the next exchange.
func (w *Conn) Get(host, path string) ([]byte, error) {
	return w.Exchange([]byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"))
}
