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

// appendEvent appends a message as one event, which is one chunk.
func appendEvent(out []byte, kind string, message []byte) []byte {
	length := len("event: \ndata: \n\n") + len(kind) + len(message)
	out = strconv.AppendInt(out, int64(length), 16)
	out = append(append(append(out, "\r\nevent: "...), kind...), "\ndata: "...)
	return append(append(out, message...), "\n\n\r\n"...)
}

// newEar is a stream on conn, whose header has been written.
func newEar(conn net.Conn) *ear {
	var buffer []byte
	return &ear{say: func(message []byte) error {
		buffer = appendEvent(buffer[:0], "message", message)
		_ = conn.SetWriteDeadline(time.Now().Add(earTimeout))
		_, err := conn.Write(buffer)
		return err
	}}
}

// stream answers a GET with a stream of events until the peer closes it. With posts it is one of HTTP+SSE: the first event
// says where to post, and answers come on it.
func (l *live) stream(conn net.Conn, r *bufio.Reader, posts *sseStreams, session string) {
	e := newEar(conn)
	e.session = session
	begin := []byte(eventStreamHead)
	if posts != nil {
		e.session = posts.add(e)
		defer posts.remove(e.session)
		begin = appendEvent(begin, "endpoint", []byte(e.session))
	}
	l.hold(conn, r, e, begin)
}

// hold writes the beginning of a stream and keeps it until the peer closes it.
func (l *live) hold(conn net.Conn, r *bufio.Reader, e *ear, head []byte) {
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

// isListen reports whether a request opens a stream of the modern era.
func isListen(body []byte) bool { return bytes.Contains(body, []byte(`"subscriptions/listen"`)) }

// listenAnswer returns the stream's first message, which promises all that was asked for, and gives e the raw id of the request
// and what it asked for.
func listenAnswer(body []byte, e *ear) (ack []byte, err error) {
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

// listen answers subscriptions/listen over HTTP until the peer closes the stream.
func (l *live) listen(conn net.Conn, r *bufio.Reader, body []byte) {
	e := newEar(conn)
	ack, err := listenAnswer(body, e)
	if err == nil {
		l.hold(conn, r, e, appendEvent([]byte(eventStreamHead), "message", ack))
	}
}

// sseStreams are the open streams of HTTP+SSE by the path that is posted to.
type sseStreams struct {
	live *live
	next int
	open map[string]*ear
}

func (s *sseStreams) add(e *ear) string {
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
	delete(s.live.asked, path)
}

// say writes a message on the stream of path, if it is still there.
func (s *sseStreams) say(path []byte, message []byte) {
	s.live.mu.Lock()
	e := s.open[string(path)]
	s.live.mu.Unlock()
	if e != nil {
		e.mu.Lock()
		_ = e.say(message)
		e.mu.Unlock()
	}
}
