package downstream

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

const getText = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: s1\r\n\r\n"

// keepStreams accepts every stream and returns it to the test.
func keepStreams() (Handler, <-chan *EventStream) {
	streams := make(chan *EventStream, 10000)
	return handlerFunc{post: echo, open: func(s *EventStream) {
		s.Accept()
		streams <- s
	}}, streams
}

func (c *rawClient) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.r, got)
	if err != nil || string(got) != want {
		c.t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}

func openStream(t testing.TB, c *rawClient) {
	t.Helper()
	go c.send(getText)
	r := c.response()
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", r.StatusCode, r.Header)
	}
	c.expect(":\n\n")
}

// MCP 2025-11-25, listening for messages from the server; protocol.md L5: pushed messages arrive until the stream is closed.
func TestStreamPushes(t *testing.T) {
	handler, streams := keepStreams()
	s, address := serve(t, handler, Options{}, testLimits)
	c := dial(t, address)
	openStream(t, c)
	stream := <-streams
	if o := stream.Origin; o.SessionID != "s1" || o.Path != "/mcp" || o.Remote != c.LocalAddr().String() {
		t.Errorf("origin: %+v", o)
	}
	// fasthttp releases the connection after it has written the header. Until then it counts as a connection and as a stream.
	eventually(t, "the only open connection to be a stream", func() bool { open, n := s.Connections(); return open == 1 && n == 1 })
	for _, n := range []string{"a", "b", "c"} {
		if stream.Push(protocol.Message{Frame: note(n)}, WeightAnswer, "").Over {
			t.Fatal("Push returned false")
		}
	}
	c.expect(event(string(note("a"))) + event(string(note("b"))) + event(string(note("c"))))
	stream.Push(protocol.Message{Frame: []byte("{\n\"a\":1}"), Newline: true}, WeightAnswer, "")
	c.expect(event(`{ "a":1}`))
	large := `"` + strings.Repeat("x", 3<<20) + `"`
	stream.Push(protocol.Message{Frame: []byte(large)}, WeightAnswer, "")
	stream.Push(protocol.Message{Frame: note("last")}, WeightLog, "")
	stream.Close()
	if !stream.Push(protocol.Message{Frame: note("late")}, WeightAnswer, "").Over {
		t.Error("Push succeeded after Close")
	}
	c.expect(event(large) + event(string(note("last"))))
	c.closed()
	told := make(chan struct{})
	eventually(t, "the stream to end", func() bool { _, n := s.Connections(); return n == 0 })
	stream.OnGone(func() { close(told) })
	<-told
}

// A comment is written after KeepAlive without messages.
func TestStreamKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, streams := keepStreams()
		c := servePipe(t, handler, Options{}, testLimits)()
		openStream(t, c)
		stream, began := <-streams, time.Now()
		c.expect(":\n\n")
		if age := time.Since(began); age != 15*time.Second {
			t.Errorf("first comment after %v", age)
		}
		time.Sleep(10 * time.Second)
		stream.Push(protocol.Message{Frame: note("a")}, WeightAnswer, "")
		c.expect(event(string(note("a"))))
		c.expect(":\n\n")
		if age := time.Since(began); age != 40*time.Second {
			t.Errorf("comment after %v, want 15 s after the event", age)
		}
		for range 100 {
			c.expect(":\n\n")
		}
		if age := time.Since(began); age != 1540*time.Second {
			t.Errorf("100 comments later: %v", age)
		}
	})
}

// A client that reads nothing loses its stream after WriteTimeout, in the middle of a write. Push never blocks.
func TestStreamSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := stream.NewBudget(0)
		handler, streams := keepStreams()
		connect, s := servePipes(t, handler, Options{Budget: budget}, testLimits)
		openStream(t, connect())
		stream, began, gone := <-streams, time.Now(), make(chan time.Time, 1)
		stream.OnGone(func() { gone <- time.Now() })
		for i := range 5000 {
			stream.Push(protocol.Message{Frame: note("message")}, WeightLog, "")
			stream.Push(protocol.Message{Frame: note("updated")}, WeightState, itoa(i%10))
		}
		if age := time.Since(began); age != 0 {
			t.Errorf("pushing took %v", age)
		}
		if age := (<-gone).Sub(began); age != 30*time.Second {
			t.Errorf("lost after %v", age)
		}
		if !stream.Push(protocol.Message{Frame: note("x")}, WeightAnswer, "").Over {
			t.Error("Push succeeded after the end")
		}
		if stats := s.Stats(); stats.LostStreams != 1 || stats.DroppedLogs < 4000 {
			t.Errorf("%+v", stats)
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("the budget still counts %d bytes", used)
		}
	})
}

// The Handler may refuse a stream, close it before deciding, or never decide.
func TestStreamDecisions(t *testing.T) {
	tests := []struct {
		name   string
		open   func(*EventStream)
		status int
		header map[string]string
	}{
		{"refused", func(s *EventStream) { s.Refuse(405, nil, 0); s.Accept() }, 405, map[string]string{"Allow": "POST, DELETE, OPTIONS"}},
		{"refused later", func(s *EventStream) { go s.Refuse(503, []byte("{}"), time.Second) }, 503, map[string]string{"Retry-After": "1"}},
		{"closed", func(s *EventStream) { s.Close() }, 503, nil},
		{"never", func(_ *EventStream) {}, 503, nil},
		{"lost before it began", func(s *EventStream) {
			s.Accept()
			for i := range 100 {
				s.Push(protocol.Message{Frame: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}, WeightState, itoa(i))
			}
		}, 503, nil},
		{"accepted and closed", func(s *EventStream) {
			s.Accept()
			s.Push(protocol.Message{Frame: note("a")}, WeightAnswer, "")
			s.Close()
		}, 200, nil},
	}
	for _, test := range tests {
		gone, limits := make(chan struct{}), testLimits
		if test.name == "never" {
			limits.decide = 50 * time.Millisecond
		}
		_, address := serve(t, handlerFunc{post: echo, open: func(s *EventStream) {
			s.OnGone(func() { close(gone) })
			test.open(s)
		}}, Options{}, limits)
		c := dial(t, address)
		r, body := c.send(getText).body()
		checkHeader(t, r, test.status, test.header)
		<-gone
		if test.status != 200 {
			if r, body := c.send(postText(ping)).body(); r.StatusCode != 200 {
				t.Errorf("%s: next request: %d %s", test.name, r.StatusCode, body)
			}
		} else if body != ":\n\n"+event(string(note("a"))) {
			t.Errorf("%s: %q", test.name, body)
		}
	}
}

// A stream ends when its client closes the connection, and when the client sends too many bytes.
func TestStreamClientLeaves(t *testing.T) {
	handler, streams := keepStreams()
	s, address := serve(t, handler, Options{}, testLimits)
	for name, leave := range map[string]func(c *rawClient){
		"close":   func(c *rawClient) { c.Close() },
		"half":    func(c *rawClient) { c.Conn.(interface{ CloseWrite() error }).CloseWrite() },
		"chatter": func(c *rawClient) { io.WriteString(c.Conn, strings.Repeat("x", streamStray+1)) },
	} {
		c := dial(t, address)
		openStream(t, c)
		stream, gone := <-streams, make(chan struct{})
		stream.OnGone(func() { close(gone) })
		leave(c)
		select {
		case <-gone:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: OnGone was not called", name)
		}
		if !stream.Push(protocol.Message{Frame: note("x")}, WeightAnswer, "").Over {
			t.Errorf("%s: Push succeeded after the end", name)
		}
	}
	if stats := s.Stats(); stats.LostStreams != 0 {
		t.Errorf("counted as lost: %+v", stats)
	}
}

// Shutdown ends streams once their messages are written, waits for running exchanges, refuses new ones, and closes new
// and idle connections at once.
func TestShutdown(t *testing.T) {
	began := make(chan *Exchange, 1)
	handler, streams := keepStreams()
	post := func(x *Exchange) {
		if x.Frame.MethodText() == "ping" {
			echo(x)
			return
		}
		began <- x
	}
	s, address := serve(t, handlerFunc{post: post, open: handler.Open}, Options{}, testLimits)
	fresh, idle, running, listening := dial(t, address), dial(t, address), dial(t, address), dial(t, address)
	idle.send(postText(ping)).body()
	openStream(t, listening)
	(<-streams).Push(protocol.Message{Frame: note("last")}, WeightAnswer, "")
	running.send(postText(`{"jsonrpc":"2.0","id":1,"method":"slow"}`))
	x := <-began
	eventually(t, "all connections to be open", func() bool { open, _ := s.Connections(); return open == 4 })
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	fresh.closed()
	idle.closed()
	listening.expect(event(string(note("last"))))
	listening.closed()
	select {
	case err := <-done:
		t.Fatalf("Shutdown did not wait for the exchange: %v", err)
	case <-time.After(150 * time.Millisecond):
	}
	x.Answer(protocol.Message{Frame: resultOf(x, nil)})
	r, body := running.body()
	checkHeader(t, r, 200, nil)
	if !r.Close || !strings.Contains(body, "result") {
		t.Errorf("close %v, %s", r.Close, body)
	}
	running.closed()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if c, err := (&http.Client{Timeout: time.Second}).Get("http://" + address + "/mcp"); err == nil {
		t.Errorf("still listening: %v", c.Status)
	}
}

// If the context ends, Shutdown closes all connections, and their OnGone callbacks are called.
func TestShutdownCutsOff(t *testing.T) {
	began, gone := make(chan *Exchange, 2), make(chan struct{}, 2)
	handler := handlerFunc{post: func(x *Exchange) {
		x.OnGone(func() { gone <- struct{}{} })
		if x.Frame.MethodText() == "stream" {
			x.Notify(protocol.Message{Frame: note("x")}, WeightAnswer, "")
		}
		began <- x
	}}
	s, address := serve(t, handler, Options{}, testLimits)
	for _, method := range []string{"stream", "plain"} {
		dial(t, address).send(postText(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`))
		<-began
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned no error")
	}
	<-gone
	<-gone
	eventually(t, "the connections to be closed", func() bool { open, _ := s.Connections(); return open == 0 })
}
