package remote

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// twiceWarm is the first call of a test that reuses a connection. The server recognizes it and answers it.
const twiceWarm = `{"jsonrpc":"2.0","id":1,"method":"warm"}`

// twiceListen accepts connections with the protocol: "" is plain HTTP/1.1; "http/1.1" and "h2" are over TLS.
func twiceListen(t *testing.T, protocol string, serve func(net.Conn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	url = "http://" + listener.Addr().String() + "/mcp"
	if protocol != "" {
		url = strings.Replace(url, "http", "https", 1)
		borrowed := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
		config := &tls.Config{Certificates: borrowed.TLS.Certificates, NextProtos: []string{protocol}}
		borrowed.Close()
		listener = tls.NewListener(listener, config)
		old := tlsConfig
		tlsConfig = &tls.Config{InsecureSkipVerify: true}
		t.Cleanup(func() { tlsConfig = old })
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return url
}

// twiceCall sends a call and expects it to be lost. To reuse a connection, it sends another call before.
func twiceCall(t *testing.T, o Options, reused bool, frame []byte) {
	t.Helper()
	l, r := testOpen(t, o)
	if reused {
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Frame: []byte(twiceWarm)})
		if _, ok := testEnd(r, 1).(upstream.Received); !ok {
			t.Fatalf("the first call was lost:\n%s", linktest.Dump(r.Events()))
		}
	}
	l.Send(upstream.Outgoing{Ticket: 2, Request: true, Frame: frame})
	if end, ok := testEnd(r, 2).(upstream.Ended); !ok || end.Err == nil {
		t.Errorf("events:\n%s", linktest.Dump(r.Events()))
	}
}

// If an exchange fails and the server may have read a byte of the request, the request is never repeated: over a new
// or a reused connection, plain or TLS, read to its end or not, and whatever the configured headers say.
func TestHTTPRoundTripNeverTwice(t *testing.T) {
	small := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	large := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"` + strings.Repeat("y", 8<<20) + `"}}`)
	answers := map[string]string{
		"nothing":       "",
		"half a head":   "HTTP/1.1 200 OK\r\nContent-",
		"garbage":       "SSH-2.0-OpenSSH\r\n\r\n",
		"half a body":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
		"half a chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{",
		"bad chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{",
		"compressed":    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"endless head":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100_000),
		"interim only":  strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 20),
		"huge length":   "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{",
		"half an event": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n",
	}
	for _, over := range []string{"", "http/1.1"} {
		for _, reused := range []bool{false, true} {
			for name, answer := range answers {
				t.Run(fmt.Sprintf("%s tls=%q reused=%v", name, over, reused), func(t *testing.T) {
					requests := twicePlain(t, over, reused, small, answer, -1)
					if got := requests.Load(); got != 1 {
						t.Errorf("%d requests", got)
					}
				})
			}
			for _, read := range []int{0, 1, 1000} { // bytes of the body that the server reads before it disconnects
				t.Run(fmt.Sprintf("%d bytes read tls=%q reused=%v", read, over, reused), func(t *testing.T) {
					requests := twicePlain(t, over, reused, large, "", read)
					if got := requests.Load(); got != 1 {
						t.Errorf("%d requests", got)
					}
				})
			}
		}
	}
}

// twicePlain calls an HTTP/1.1 server that reads the given number of bytes of the body (-1 = all), answers and disconnects.
func twicePlain(t *testing.T, over string, reused bool, frame []byte, answer string, read int) *atomic.Int32 {
	var requests atomic.Int32
	url := twiceListen(t, over, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			q, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if q.ContentLength == int64(len(twiceWarm)) {
				body, _ := io.ReadAll(q.Body)
				_, _ = io.WriteString(conn, rawAnswer(body))
				continue
			}
			requests.Add(1)
			if read >= 0 {
				_, _ = io.CopyN(io.Discard, q.Body, int64(read))
				return
			}
			_, _ = io.Copy(io.Discard, q.Body)
			_, _ = io.WriteString(conn, answer)
			return
		}
	})
	twiceCall(t, Options{URL: url, Headers: map[string]string{"Idempotency-Key": "k"}}, reused, frame)
	return &requests
}

// h2Conn is a connection of a minimal HTTP/2 server whose streams end as a test requires.
type h2Conn struct{ conn net.Conn }

const (
	h2Data, h2Headers, h2Reset, h2Settings, h2GoAway = 0, 1, 3, 4, 7
	h2EndStream, h2EndHeaders, h2Ack                 = 1, 4, 1
	h2NoError, h2Protocol, h2Internal                = 0, 1, 2
	h2Refused, h2Cancel                              = 7, 8
)

func (s h2Conn) frame(kind, flags byte, stream uint32, payload []byte) {
	head := make([]byte, 9)
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = s.conn.Write(append(head, payload...))
}

func (s h2Conn) answer(stream uint32, body string) {
	s.frame(h2Headers, h2EndHeaders, stream, []byte{0x88}) // :status 200
	s.frame(h2Data, h2EndStream, stream, []byte(body))
}

func (s h2Conn) Reset(stream, code uint32) {
	s.frame(h2Reset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

func (s h2Conn) goAway(last, code uint32) {
	s.frame(h2GoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code))
}

// serve reads frames and calls got for each piece of a body, and once for a request without a body. It answers
// twiceWarm itself.
func (s h2Conn) serve(got func(s h2Conn, stream uint32, piece []byte, whole bool)) {
	if _, err := io.ReadFull(s.conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	s.frame(h2Settings, 0, 0, nil)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(s.conn, head); err != nil {
			return
		}
		payload := make([]byte, int(binary.BigEndian.Uint32(head)>>8))
		if _, err := io.ReadFull(s.conn, payload); err != nil {
			return
		}
		stream, whole := binary.BigEndian.Uint32(head[5:]), head[4]&h2EndStream != 0
		switch {
		case head[3] == h2Settings && head[4]&h2Ack == 0:
			s.frame(h2Settings, h2Ack, 0, nil)
		case head[3] == h2Data && bytes.Contains(payload, []byte(`"warm"`)):
			s.answer(stream, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		case head[3] == h2Data && len(payload) > 0:
			got(s, stream, payload, whole)
		case head[3] == h2Headers && whole: // GET and DELETE
			got(s, stream, nil, true)
		}
	}
}

// Over HTTP/2, too, a request that the server may have processed is never repeated. Proxies send PROTOCOL_ERROR if
// their server has sent an invalid response. net/http would then repeat a request endlessly if it could read the body
// again.
func TestHTTPRoundTripNeverTwiceHTTP2(t *testing.T) {
	small := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	large := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"` + strings.Repeat("y", 8<<20) + `"}}`)
	ends := map[string]func(s h2Conn, stream uint32){
		"protocol error": func(s h2Conn, stream uint32) { s.Reset(stream, h2Protocol) },
		"internal error": func(s h2Conn, stream uint32) { s.Reset(stream, h2Internal) },
		"cancel":         func(s h2Conn, stream uint32) { s.Reset(stream, h2Cancel) },
		"no error":       func(s h2Conn, stream uint32) { s.Reset(stream, h2NoError) },
		"closed":         func(s h2Conn, _ uint32) { s.conn.Close() },
		"goaway and closed": func(s h2Conn, stream uint32) {
			s.goAway(stream, h2NoError)
			s.conn.Close()
		},
		"head, then protocol error": func(s h2Conn, stream uint32) {
			s.frame(h2Headers, h2EndHeaders, stream, []byte{0x88})
			s.frame(h2Data, 0, stream, []byte(`{"jsonrpc"`))
			s.Reset(stream, h2Protocol)
		},
	}
	for _, reused := range []bool{false, true} {
		for size, frame := range map[string][]byte{"whole": small, "in part": large} {
			for name, end := range ends {
				t.Run(fmt.Sprintf("%s, %s read, reused=%v", name, size, reused), func(t *testing.T) {
					var requests atomic.Int32
					url := twiceListen(t, "h2", func(conn net.Conn) {
						begun := uint32(0)
						h2Conn{conn}.serve(func(s h2Conn, stream uint32, _ []byte, _ bool) {
							if stream != begun { // the first piece of a body; more may follow
								begun = stream
								requests.Add(1)
								end(s, stream)
							}
						})
					})
					twiceCall(t, Options{URL: url}, reused, frame)
					if got := requests.Load(); got != 1 {
						t.Errorf("%d requests", got)
					}
				})
			}
		}
	}
}

// A request that an HTTP/2 server has not processed is repeated a limited number of times, so that no call is lost on an old
// connection.
func TestHTTPRoundTripUnseenHTTP2(t *testing.T) {
	for name, refuse := range map[string]func(s h2Conn, stream uint32){
		"refused stream":   func(s h2Conn, stream uint32) { s.Reset(stream, h2Refused) },
		"beyond the limit": func(s h2Conn, stream uint32) { s.goAway(stream-min(stream, 2), h2NoError) },
	} {
		for _, times := range []int32{1, 100} {
			t.Run(fmt.Sprintf("%s %d times", name, times), func(t *testing.T) {
				var requests atomic.Int32
				url := twiceListen(t, "h2", func(conn net.Conn) {
					h2Conn{conn}.serve(func(s h2Conn, stream uint32, _ []byte, _ bool) {
						if requests.Add(1) <= times {
							refuse(s, stream)
							return
						}
						s.answer(stream, `{"jsonrpc":"2.0","id":2,"result":{}}`)
					})
				})
				l, r := testOpen(t, Options{URL: url})
				l.Send(upstream.Outgoing{Ticket: 1, Request: true, Frame: []byte(twiceWarm)})
				testEnd(r, 1)
				l.Send(testRequest(2))
				_, answered := testEnd(r, 2).(upstream.Received)
				if want := times == 1; answered != want {
					t.Errorf("answered: %v, want %v; events:\n%s", answered, want, linktest.Dump(r.Events()))
				}
				if got := requests.Load(); got > 1+netRepeats {
					t.Errorf("%d requests", got)
				}
			})
		}
	}
}

// If the server resets a GET stream, the link reopens it with pauses. net/http does not repeat the request.
func TestHTTPRoundTripListenHTTP2(t *testing.T) {
	var requests atomic.Int32
	url := twiceListen(t, "h2", func(conn net.Conn) {
		h2Conn{conn}.serve(func(s h2Conn, stream uint32, _ []byte, _ bool) {
			requests.Add(1)
			s.Reset(stream, h2Protocol)
		})
	})
	l, r := testOpen(t, Options{URL: url})
	l.Listen()
	began := time.Now()
	linktest.Wait[upstream.ListenFailed](r, 2)
	if got := requests.Load(); got > 2*maxNetConns+2 {
		t.Errorf("%d requests in %v", got, time.Since(began))
	}
}
