package downstream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// handlerFunc is a Handler made of functions. A nil function accepts.
type handlerFunc struct {
	post   func(*Exchange)
	open   func(*EventStream)
	delete func(*Exchange)
}

func (f handlerFunc) Post(x *Exchange) {
	if f.post == nil {
		x.Accept()
		return
	}
	f.post(x)
}

func (f handlerFunc) Open(s *EventStream) {
	if f.open == nil {
		s.Accept()
		return
	}
	f.open(s)
}

func (f handlerFunc) Delete(x *Exchange) {
	if f.delete == nil {
		x.Accept()
		return
	}
	f.delete(x)
}

// echo answers each request with its params.
func echo(x *Exchange) {
	if !x.Frame.ID.Present() {
		x.Accept()
		return
	}
	x.Answer(protocol.Message{Frame: resultOf(x, x.Frame.ParamsBytes())})
}

func resultOf(x *Exchange, result []byte) []byte {
	if result == nil {
		result = []byte("{}")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, x.Frame.IDBytes(), result)
}

// testWriter writes log lines to the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

var testLimits = limits{header: 5 * time.Second, bodyRate: 1 << 20, idle: time.Minute, decide: 5 * time.Second}

// serve starts a server on loopback and stops it at the end of the test.
func serve(t testing.TB, handler Handler, o Options, limits limits) (*Server, string) {
	t.Helper()
	s := newServer(handler, o, testLog(t), limits)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if open, streams := s.Connections(); open != 0 || streams != 0 {
			t.Errorf("after shutdown %d connections, %d streams are open", open, streams)
		}
	})
	return s, l.Addr().String()
}

// rawClient is an HTTP client that sends raw bytes.
type rawClient struct {
	net.Conn
	r *bufio.Reader
	t testing.TB
}

func dial(t testing.TB, address string) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	return &rawClient{Conn: c, r: bufio.NewReader(c), t: t}
}

func (c *rawClient) send(text string) *rawClient {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatalf("send: %v", err)
	}
	return c
}

func (c *rawClient) response() *http.Response {
	c.t.Helper()
	r, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatalf("read response: %v", err)
	}
	return r
}

// body reads a response with its body.
func (c *rawClient) body() (*http.Response, string) {
	c.t.Helper()
	r := c.response()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("read body: %v", err)
	}
	return r, string(b)
}

// closed waits for the server to close the connection.
func (c *rawClient) closed() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); err == nil {
		rest, _ := io.ReadAll(io.LimitReader(c.r, 300))
		c.t.Fatalf("the connection is still open and sent %q", append([]byte{b}, rest...))
	}
}

const postHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"

func postText(body string, headers ...string) string {
	var b bytes.Buffer
	b.WriteString(postHead)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1}}`
const pong = `{"jsonrpc":"2.0","id":1,"result":{"x":1}}`

// MCP 2025-11-25, sending messages to the server; protocol.md L1, L3, L4, L13: the response to a POST has the right
// status and headers.
func TestServerPostAnswers(t *testing.T) {
	handler := handlerFunc{post: func(x *Exchange) {
		switch x.Frame.MethodText() {
		case "initialize":
			x.SetSession("session-1")
			x.Answer(protocol.Message{Frame: resultOf(x, nil)})
		case "refuse":
			x.Refuse(404, []byte(`{"no":1}`), 1500*time.Millisecond)
		case "later":
			go func() {
				x.Answer(protocol.Message{Frame: resultOf(x, nil)})
				x.Refuse(500, nil, 0)
				x.Accept()
				x.Answer(protocol.Message{Frame: []byte("{}")})
			}()
		default:
			echo(x)
		}
	}}
	_, address := serve(t, handler, Options{}, testLimits)
	c := dial(t, address)
	tests := []struct {
		name, body string
		status     int
		want       string
		header     map[string]string
	}{
		{"request", ping, 200, pong, map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": "", "Server": "", "Date": ""}},
		{"initialize", `{"jsonrpc":"2.0","id":"a","method":"initialize"}`, 200, `{"jsonrpc":"2.0","id":"a","result":{}}`, map[string]string{"Mcp-Session-Id": "session-1"}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "", nil},
		{"refused", `{"jsonrpc":"2.0","id":2,"method":"refuse"}`, 404, `{"no":1}`, map[string]string{"Retry-After": "2", "Content-Type": "application/json"}},
		{"first verdict counts", `{"jsonrpc":"2.0","id":3,"method":"later"}`, 200, `{"jsonrpc":"2.0","id":3,"result":{}}`, nil},
	}
	for _, test := range tests {
		r, body := c.send(postText(test.body)).body()
		if r.StatusCode != test.status || body != test.want {
			t.Errorf("%s: got %d %s, want %d %s", test.name, r.StatusCode, body, test.status, test.want)
		}
		for name, want := range test.header {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s: got %q, want %q", test.name, name, got, want)
			}
		}
	}
}

// collect collects values from several goroutines.
type collect[T any] struct {
	mu   sync.Mutex
	list []T
}

func (c *collect[T]) Add(v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, v)
}

func (c *collect[T]) All() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]T(nil), c.list...)
}

func itoa(n int) string { return fmt.Sprint(n) }
