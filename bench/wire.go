package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"
)

// exchangeTimeout bounds one request and its answer; a target that hangs ends the run with an error.
const exchangeTimeout = 60 * time.Second

// maxAnswer bounds what one answer may hold in memory.
const maxAnswer = 256 << 20

// wire is one keep-alive HTTP/1.1 connection, used by one goroutine. It does what the load generator needs and nothing
// else, so that little of the measured time is its own: about 4 µs of CPU a request (net/http's client takes about 20).
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte // reused by the next answer

	headers string // that every request has besides, each with its line end

	status      int
	session     string // Mcp-Session-Id of the last answer that had one
	eventStream bool   // the last answer was text/event-stream
	ended       bool   // the last answer was the last: the peer closes the connection
}

// dial connects to network ("tcp" or "unix") and addr.
func dial(network, addr string) (*wire, error) {
	conn, err := net.DialTimeout(network, addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return newWire(conn), nil
}

func newWire(conn net.Conn) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

func (w *wire) close() { _ = w.conn.Close() }

// exchange writes a whole request and reads the whole answer. The body is valid until the next exchange.
func (w *wire) exchange(request []byte) ([]byte, error) {
	if err := w.conn.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(request); err != nil {
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
		w.ended = true
		w.body, err = io.ReadAll(io.LimitReader(w.in, maxAnswer))
	default:
		err = w.fill(length)
	}
	return w.body, err
}

// head reads status line and headers. length is negative where the answer ends with the connection: a 200 without Content-Length.
func (w *wire) head() (length int, chunked bool, err error) {
	line, err := w.line()
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, false, fmt.Errorf("status line: got %q", line)
	}
	if w.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, false, fmt.Errorf("status line: got %q", line)
	}
	w.eventStream, w.ended = false, false
	known := w.status != 200
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
				return 0, false, fmt.Errorf("content-length: got %q", value)
			}
			known = true
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("connection")):
			w.ended = bytes.EqualFold(value, []byte("close"))
		case bytes.EqualFold(name, []byte("mcp-session-id")):
			w.session = string(value)
		case bytes.EqualFold(name, []byte("content-type")):
			w.eventStream = bytes.HasPrefix(value, []byte("text/event-stream"))
		}
	}
}

// line returns the next line without its end; valid until the next read.
func (w *wire) line() ([]byte, error) {
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
func (w *wire) fill(n int) error {
	from := len(w.body)
	if n > maxAnswer-from {
		return fmt.Errorf("answer of more than %d bytes", maxAnswer)
	}
	if cap(w.body) < from+n {
		w.body = append(make([]byte, 0, from+n), w.body...)
	}
	w.body = w.body[:from+n]
	_, err := io.ReadFull(w.in, w.body[from:])
	return err
}

func (w *wire) chunks() error {
	for {
		line, err := w.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return fmt.Errorf("chunk: got %q", line)
		}
		if err := w.fill(int(n)); err != nil {
			return err
		}
		if end, err := w.line(); err != nil || len(end) != 0 {
			return errors.Join(err, fmt.Errorf("chunk end: got %q", end))
		}
		if n == 0 {
			return nil
		}
	}
}

// idDigits is how many digits every id has, so that a request can be patched in place and has always the same length.
const idDigits = 9

// request is a POST whose id can be changed in place.
type request struct {
	text []byte
	at   int // where the id's digits begin
	id   uint64
}

const firstID = 100_000_000

// newRequest returns a POST of one JSON-RPC request to host and path. Session and version may be empty.
func newRequest(host, path, session, version, method, params string) *request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, firstID, method, params)
	return requestOf(postHead(host, path, session, version, len(body)), body)
}

func requestOf(head, body string) *request {
	text := head + body
	return &request{text: []byte(text), at: len(text) - len(body) + len(`{"jsonrpc":"2.0","id":`), id: firstID}
}

// postHead returns the header of a POST, the blank line included.
func postHead(host, path, session, version string, length int) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", path, host)
	if session != "" {
		head += "Mcp-Session-Id: " + session + "\r\n"
	}
	if version != "" {
		head += "MCP-Protocol-Version: " + version + "\r\n"
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
}

// with puts more headers into the request.
func (r *request) with(headers string) *request {
	r.text, r.at = withHeaders(r.text, headers), r.at+len(headers)
	return r
}

// withHeaders puts more headers behind the first line of a request.
func withHeaders(text []byte, headers string) []byte {
	if headers == "" {
		return text
	}
	at := bytes.IndexByte(text, '\n') + 1
	return slices.Insert(text, at, []byte(headers)...)
}

// next gives the request its next id and returns its bytes; valid until the next call.
func (r *request) next() []byte {
	r.id++
	for i, n := r.at+idDigits-1, r.id; i >= r.at; i, n = i-1, n/10 {
		r.text[i] = byte('0' + n%10)
	}
	return r.text
}

// answerHead is how every answer must begin: servers here put the id first, and nobody on the way may change that.
const answerHead = `{"jsonrpc":"2.0","id":`

// check reports an error unless body is the answer to r with tail, the same for every answer, behind the id.
func (r *request) check(w *wire, body, tail []byte) error {
	if w.status != 200 || w.eventStream {
		return fmt.Errorf("status %d, event stream %v: %.200q", w.status, w.eventStream, body)
	}
	from := len(answerHead) + idDigits
	if len(body) != from+len(tail) {
		return fmt.Errorf("answer of %d bytes, want %d: %.200q", len(body), from+len(tail), body)
	}
	if string(body[:len(answerHead)]) != answerHead || !bytes.Equal(body[len(answerHead):from], r.text[r.at:r.at+idDigits]) {
		return fmt.Errorf("answer to another request: %.100q, want id %d", body, r.id)
	}
	if !bytes.Equal(body[from:], tail) {
		return fmt.Errorf("answer changed on its way: %.200q", body)
	}
	return nil
}

// get fetches path; the body is valid until the next exchange.
func (w *wire) get(host, path string) ([]byte, error) {
	return w.exchange([]byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"))
}
