package wire

import (
	"bufio"
	"fmt"
	"net/http/httputil"
	"time"
)

// streamBuffer is the size of the read buffers of a stream.
const streamBuffer = 1024

// Stream is an open GET stream and its session.
type Stream struct {
	*Conn
	host, path, session string
}

// NewStream returns the stream of a session. w must be a separate connection for it.
func NewStream(w *Conn, host, path, session string) *Stream {
	return &Stream{w, host, path, session}
}

// DialStream connects to a host for one stream. The connection has a small buffer, because a measurement may have
// thousands of streams.
func DialStream(host string) (*Conn, error) {
	w, err := Dial("tcp", host)
	if err == nil {
		w.in = bufio.NewReaderSize(w.Net, streamBuffer)
	}
	return w, err
}

// Close ends the session, which closes the stream.
func (x *Stream) Close() {
	if x.session == "" {
		x.Conn.Close()
		return
	}
	if w, err := Dial("tcp", x.host); err == nil {
		_, _ = w.Exchange(DeleteRequest(x.host, x.path, x.session))
		w.Close()
	}
	x.Conn.Close()
}

// OpenStream opens the GET stream on w and reads the response header. It reports whether the response is chunked.
func (w *Conn) OpenStream(host, path, session string) (chunked bool, err error) {
	if err := w.Net.SetDeadline(time.Now().Add(ExchangeTimeout)); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(w.Net, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMCP-Protocol-Version: %s\r\n\r\n",
		path, host, session, LegacyVersion)
	if err != nil {
		return false, err
	}
	if chunked, err = w.ReadStreamHeader(); err != nil {
		return false, err
	}
	return chunked, w.Net.SetDeadline(time.Time{})
}

// ReadStreamHeader reads the header of a response that must be an event stream.
func (w *Conn) ReadStreamHeader() (chunked bool, err error) {
	if err := w.Net.SetReadDeadline(time.Now().Add(ExchangeTimeout)); err != nil {
		return false, err
	}
	if _, chunked, err = w.head(); err != nil {
		return false, fmt.Errorf("open stream: %w", err)
	}
	if w.Status != 200 || !w.EventStream {
		return false, fmt.Errorf("open stream: status %d, event stream %v", w.Status, w.EventStream)
	}
	return chunked, nil
}

// EventReader returns a reader of the events of a stream whose header has been read.
func (w *Conn) EventReader(chunked bool) *bufio.Reader {
	if chunked {
		return bufio.NewReaderSize(httputil.NewChunkedReader(w.in), streamBuffer)
	}
	return w.in
}
