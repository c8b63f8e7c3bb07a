package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

const eventStreamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// appendEvent appends a message as one event in one chunk.
func appendEvent(out []byte, kind string, message []byte) []byte {
	length := len("event: \ndata: \n\n") + len(kind) + len(message)
	out = strconv.AppendInt(out, int64(length), 16)
	out = append(append(append(out, "\r\nevent: "...), kind...), "\ndata: "...)
	return append(append(out, message...), "\n\n\r\n"...)
}

// newOutStream returns a stream on conn. The response header must be written before the first message.
func newOutStream(conn net.Conn) *outStream {
	var buffer []byte
	return &outStream{write: func(message []byte) error {
		buffer = appendEvent(buffer[:0], "message", message)
		_ = conn.SetWriteDeadline(time.Now().Add(streamTimeout))
		_, err := conn.Write(buffer)
		return err
	}}
}

// stream answers a GET with a stream of events, until the peer closes it. If posts is not nil, it is an HTTP+SSE
// stream: its first event contains the path for POST requests, and responses are sent on it.
func (l *live) stream(conn net.Conn, r *bufio.Reader, posts *sseStreams, session string) {
	e := newOutStream(conn)
	e.session = session
	begin := []byte(eventStreamHead)
	if posts != nil {
		e.session = posts.add(e)
		defer posts.remove(e.session)
		begin = appendEvent(begin, "endpoint", []byte(e.session))
	}
	l.hold(conn, r, e, begin)
}

// hold writes the start of a stream and keeps the stream open until the peer closes it.
func (l *live) hold(conn net.Conn, r *bufio.Reader, e *outStream, head []byte) {
	e.mu.Lock()
	l.open(e)
	_, err := conn.Write(head)
	e.mu.Unlock()
	defer l.close(e)
	if err == nil {
		_, _ = io.Copy(io.Discard, r)
	}
}

// isInitialize reports whether a request opens a session.
func isInitialize(body []byte) bool { return bytes.Contains(body, []byte(`"method":"initialize"`)) }

// isListen reports whether a request is subscriptions/listen.
func isListen(body []byte) bool { return bytes.Contains(body, []byte(`"subscriptions/listen"`)) }

// listenAnswer returns the first message of a subscription stream, which acknowledges all requested notifications. It
// stores the raw id of the request and the notifications in e.
func listenAnswer(body []byte, e *outStream) (ack []byte, err error) {
	var request struct {
		ID     json.RawMessage
		Params struct{ Notifications json.RawMessage }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var filter struct {
		ToolsListChanged      bool
		ResourceSubscriptions []string
	}
	if err := json.Unmarshal(request.Params.Notifications, &filter); err != nil {
		return nil, err
	}
	e.id, e.lists, e.updates = request.ID, filter.ToolsListChanged, len(filter.ResourceSubscriptions) > 0
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`,
		request.ID, request.Params.Notifications), nil
}

// listen serves subscriptions/listen over HTTP, until the peer closes the stream.
func (l *live) listen(conn net.Conn, r *bufio.Reader, body []byte) {
	e := newOutStream(conn)
	ack, err := listenAnswer(body, e)
	if err == nil {
		l.hold(conn, r, e, appendEvent([]byte(eventStreamHead), "message", ack))
	}
}

// sseStreams holds the open HTTP+SSE streams by the path for POST requests.
type sseStreams struct {
	live *live
	next int
	open map[string]*outStream
}

func (s *sseStreams) add(e *outStream) string {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	s.next++
	path := "/messages/" + strconv.Itoa(s.next)
	s.open[path] = e
	return path
}

func (s *sseStreams) remove(path string) {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	delete(s.open, path)
	delete(s.live.subscribed, path)
}

// write writes a message on the stream of path, if it is still open.
func (s *sseStreams) write(path []byte, message []byte) {
	s.live.mu.Lock()
	e := s.open[string(path)]
	s.live.mu.Unlock()
	if e != nil {
		e.mu.Lock()
		_ = e.write(message)
		e.mu.Unlock()
	}
}
