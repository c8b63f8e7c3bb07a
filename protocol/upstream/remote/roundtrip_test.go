package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// serveRaw starts a server that answers with raw bytes. It calls serve for every request on a connection. serve
// returns false to close the connection.
func serveRaw(t *testing.T, serve func(conn net.Conn, body []byte, n int) bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := 1; ; n++ {
					q, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(q.Body)
					if !serve(conn, body, n) {
						return
					}
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

func rawAnswer(body []byte) string {
	answer := testResult(body, `{}`)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
}

// A call sent at least hotFor after the previous one is not lost if the server closes idle connections without notice.
// A call sent sooner may be lost, because checking every connection would cost all calls a twentieth of their time.
func TestHTTPRoundTripStale(t *testing.T) {
	var requests atomic.Int32
	var closing sync.WaitGroup // counted before the last response of a connection
	url := serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		requests.Add(1)
		last := n == 2 // despite keep-alive
		if last {
			closing.Add(1)
			defer closing.Done()
		}
		_, _ = io.WriteString(conn, rawAnswer(body))
		if last {
			_ = conn.Close()
		}
		return !last
	})
	l, r := testOpen(t, Options{URL: url})
	pool := &l.(*httpLink).transport.(*plainTransport).pool
	const calls = 100
	for i := uint64(1); i <= calls; i++ {
		l.Send(testRequest(i))
		if _, ok := testEnd(r, i).(upstream.Received); !ok {
			t.Fatalf("call %d was lost:\n%s", i, linktest.Dump(r.Events()[len(r.Events())-3:]))
		}
		closing.Wait() // on loopback, the other end sees it when Close returns
		for cooled := false; !cooled; time.Sleep(hotFor) {
			pool.mu.Lock() // a connection that is idle for less is not checked
			cooled = len(pool.idle) == 1 && time.Since(pool.idle[0].since) >= hotFor
			pool.mu.Unlock()
		}
	}
	if got := requests.Load(); got != calls {
		t.Errorf("%d requests for %d calls", got, calls)
	}
}

// A connection that the server may be about to close is not reused, although it is open.
func TestHTTPRoundTripIdle(t *testing.T) {
	url := serveRaw(t, func(conn net.Conn, body []byte, _ int) bool {
		_, _ = io.WriteString(conn, rawAnswer(body))
		return true
	})
	l, _ := testOpen(t, Options{URL: url})
	pool := &l.(*httpLink).transport.(*plainTransport).pool
	for idle, want := range map[time.Duration]bool{trustedFor - time.Second: true, trustedFor: false} {
		conn, _, err := pool.get(&exchange{}, false)
		if err != nil {
			t.Fatal(err)
		}
		conn.since = time.Now().Add(-idle)
		if got := conn.fresh(trustedFor); got != want {
			t.Errorf("idle for %s: fresh = %v, want %v", idle, got, want)
		}
		conn.Close()
	}
}

func TestHTTPRoundTripAnswers(t *testing.T) {
	const json = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, answer := range map[string]string{
		"until close":     "HTTP/1.1 200 OK\r\n\r\n" + json,
		"http/1.0":        "HTTP/1.0 200 OK\r\nContent-Length: 36\r\n\r\n" + json,
		"interim first":   "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n" + json,
		"chunk by chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + testChunks(json, 1) + "0\r\nTrailer: x\r\n\r\n",
		"chunk extension": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n24;a=b\r\n" + json + "\r\n0\r\n\r\n",
		"more than asked": "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n" + json + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"close":           "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 36\r\n\r\n" + json,
		"identity":        "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 36\r\n\r\n" + json,
	} {
		t.Run(name, func(t *testing.T) {
			url := serveRaw(t, func(conn net.Conn, body []byte, _ int) bool {
				if bytes.Contains(body, []byte(`"id":2,`)) {
					_, _ = io.WriteString(conn, rawAnswer(body))
					return true
				}
				_, _ = io.WriteString(conn, answer)
				return !strings.Contains(answer, "200 OK\r\n\r\n") && !strings.Contains(answer, "close") && !strings.Contains(answer, "1.0")
			})
			l, r := testOpen(t, Options{URL: url})
			l.Send(testRequest(1))
			if got, ok := testEnd(r, 1).(upstream.Received); !ok || string(got.Frame.Raw) != json {
				t.Fatalf("events:\n%s", linktest.Dump(r.Events()))
			}
			l.Send(testRequest(2)) // must not get bytes of the first response
			if got, ok := testEnd(r, 2).(upstream.Received); !ok || !strings.Contains(string(got.Frame.Raw), `"id":2`) {
				t.Fatalf("events:\n%s", linktest.Dump(r.Events()))
			}
		})
	}
}

func testChunks(s string, size int) (out string) {
	for len(s) > 0 {
		n := min(size, len(s))
		out += fmt.Sprintf("%x\r\n%s\r\n", n, s[:n])
		s = s[n:]
	}
	return out
}

// If a server refuses a large request without reading it, the refusal is received. A server that responds before it
// reads causes no deadlock.
func TestHTTPRoundTripEarlyAnswer(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"` + strings.Repeat("y", 20<<20) + `"}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("z", 20<<20) + `"}}`)
	mode := "refuse"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if mode == "refuse" {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = w.Write(answer) // the whole response before the request is read
		_, _ = io.Copy(io.Discard, q.Body)
	}))
	defer server.Close()
	l, r := testOpen(t, Options{URL: server.URL})
	l.Send(upstream.Outgoing{Ticket: 1, Request: true, Frame: frame})
	end, _ := testEnd(r, 1).(upstream.Ended)
	if status, ok := errors.AsType[*upstream.StatusError](end.Err); !ok || status.Code != 413 {
		t.Errorf("%v, want 413", end.Err)
	}
	mode = "answer"
	l.Send(upstream.Outgoing{Ticket: 2, Request: true, Frame: frame})
	if got, ok := testEnd(r, 2).(upstream.Received); !ok || !bytes.Equal(got.Frame.Raw, answer) {
		t.Error("the early response did not arrive")
	}
}

// A call canceled while it connects was not sent.
func TestHTTPRoundTripCanceledEarly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, transport := range []roundTripper{
		&plainTransport{pool: connPool{addr: listener.Addr().String(), timeout: time.Second}},
		newNetTransport(Options{ConnectTimeout: time.Second}),
	} {
		site, err := parseSite(Options{URL: "http://" + listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		c := &exchange{}
		c.cancel(context.Canceled)
		var a httpAnswer
		if err := transport.send(c, &httpRequest{verb: "POST", head: newHead(site, "", ""), body: []byte("{}")}, &a); err == nil || c.written {
			t.Errorf("%T: sent: %v %v", transport, err, c.written)
		}
		transport.close()
	}
}

// A proxy from the environment is used.
func TestHTTPRoundTripProxy(t *testing.T) {
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Store(q.URL.String())
		body, _ := io.ReadAll(q.Body)
		_, _ = w.Write(testResult(body, `{}`))
	}))
	defer proxy.Close()
	old := proxyOf
	defer func() { proxyOf = old }()
	proxyOf = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	l, r := testOpen(t, Options{URL: "http://mcp.test/a/b?c=%2F"})
	l.Send(testRequest(1))
	if _, ok := testEnd(r, 1).(upstream.Received); !ok || asked.Load() != "http://mcp.test/a/b?c=%2F" {
		t.Errorf("proxy requests %v; events:\n%s", asked.Load(), linktest.Dump(r.Events()))
	}
}

// Idle connections and goroutines end after some time.
func TestHTTPRoundTripSweep(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 100)
	url := serveRaw(t, func(conn net.Conn, body []byte, _ int) bool {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(conn, rawAnswer(body))
		return true
	})
	link, r := testOpen(t, Options{URL: url})
	l := link.(*httpLink)
	const calls = 10
	for i := uint64(1); i <= calls; i++ {
		l.Send(testRequest(i))
	}
	for range calls {
		<-arrived
	}
	close(release)
	for i := uint64(1); i <= calls; i++ {
		testEnd(r, i)
	}
	idle := func() (workers int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.idle)
	}
	for range 500 {
		if idle() == calls {
			break
		}
		time.Sleep(time.Millisecond)
	}
	pool := &l.transport.(*plainTransport).pool
	pool.mu.Lock()
	connections := len(pool.idle)
	pool.mu.Unlock()
	if idle() != calls || connections != calls {
		t.Fatalf("%d goroutines and %d connections idle after %d concurrent calls", idle(), connections, calls)
	}
	l.sweepIdle() // marks those that were used recently
	l.sweepIdle()
	if idle() != 0 {
		t.Errorf("%d goroutines idle after two sweeps", idle())
	}
	pool.mu.Lock()
	for _, conn := range pool.idle {
		conn.since = time.Now()
	}
	pool.mu.Unlock()
	if !pool.sweep() {
		t.Error("young connections were closed")
	}
	pool.mu.Lock()
	for _, conn := range pool.idle {
		conn.since = time.Now().Add(-trustedFor)
	}
	pool.mu.Unlock()
	if pool.sweep() {
		t.Error("old connections were kept")
	}
	l.Send(testRequest(calls + 1))
	if _, ok := testEnd(r, calls+1).(upstream.Received); !ok {
		t.Error("no call after the sweeps")
	}
}

// FuzzHTTPBody compares the reader of chunked bodies with the standard library's. Bodies that both accept must be read
// identically.
func FuzzHTTPBody(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), 3)
	f.Add([]byte("5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\nrest"), 100)
	f.Add([]byte("0\r\n\r\n"), 1)
	f.Add([]byte("fffffffffffffff\r\nx"), 1)
	f.Add([]byte("5\r\nhelloX\r\n0\r\n\r\n"), 5)
	f.Fuzz(func(t *testing.T, raw []byte, step int) {
		ours := answerBody{src: bufio.NewReaderSize(bytes.NewReader(raw), 16<<10), left: -1, chunked: true}
		var got []byte
		var err error
		for err == nil {
			buf := make([]byte, step&1023+1)
			var n int
			n, err = ours.Read(buf)
			got = append(got, buf[:n]...)
		}
		if (err == io.EOF) != ours.ended() {
			t.Errorf("%q: ended %v with %v", raw, ours.ended(), err)
		}
		if err != io.EOF {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%q: read %q, want %q", raw, got, want)
		}
	})
}

// After a thousand concurrent exchanges, all connections are kept. With only 128 kept, a call made 14 more allocations and
// took 50 % more processor time, for opening and closing connections.
func TestPoolKeepsAllUsedConnections(t *testing.T) {
	pool := &connPool{}
	for range 1000 {
		client, server := net.Pipe()
		defer client.Close()
		defer server.Close()
		if !pool.put(newPoolConn(client)) {
			t.Fatalf("only %d connections are kept", len(pool.idle))
		}
	}
}
