package downstream

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// The stream of another node has exactly the bytes of that node, however they are cut, and whatever this node would write
// meanwhile. A connection can be reused after a stream that is complete.
func TestPassThroughOfAnExchange(t *testing.T) {
	events := ":\n\n" + event(string(note("a"))) + ":\n\n" + event(pong)
	for _, pieces := range [][]string{{events}, {events[:1], events[1:9], events[9:]}, strings.Split(events, "")} {
		synctest.Test(t, func(t *testing.T) {
			handler := handlerFunc{post: func(x *Exchange) {
				p := x.PassThrough()
				go func() {
					time.Sleep(time.Minute) // longer than SSEAfter
					p.Open()
					for i, piece := range pieces {
						if i < 5 {
							time.Sleep(time.Minute) // longer than KeepAlive
						}
						if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
							t.Errorf("Write: %d, %v", n, err)
						}
					}
					if !p.BetweenEvents() {
						t.Error("the stream does not end between events")
					}
					p.Close()
				}()
			}}
			c := servePipe(t, handler, Options{}, testLimits)()
			for range 2 {
				go c.send(postText(ping))
				r, body := c.body()
				if body != events || r.StatusCode != 200 || r.Header.Get("Content-Type") != typeEvents {
					t.Fatalf("%d %v %q", r.StatusCode, r.Header, body)
				}
			}
		})
	}
}

// Another node's whole response, a message of this node at the end of a stream, and a stream that breaks.
func TestPassThroughEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		accept string
		pass   func(x *Exchange, p *PassThrough)
		kind   string
		body   string
		err    error
	}{
		{"answer", "", func(x *Exchange, _ *PassThrough) { echo(x) }, typeJSON, pong, nil},
		{"events as a whole", typeEvents, func(x *Exchange, _ *PassThrough) { x.AnswerEvents([]byte(event(pong))) }, typeEvents, event(pong), nil},
		{"no room", "", func(x *Exchange, _ *PassThrough) { x.AnswerNoRoom() }, typeJSON, string(noRoomFor([]byte("1"))), nil},
		{"message of this node", "", func(x *Exchange, p *PassThrough) {
			p.Open()
			_, _ = p.Write([]byte(":\n\n"))
			echo(x)
		}, typeEvents, ":\n\n" + event(pong), nil},
		{"broken stream", "", func(_ *Exchange, p *PassThrough) {
			p.Open()
			_, _ = p.Write([]byte(":\n\nda"))
			if p.BetweenEvents() {
				t.Error("BetweenEvents within an event")
			}
			p.Break()
		}, typeEvents, ":\n\nda", broken},
		{"broken before its first byte", "", func(_ *Exchange, p *PassThrough) { p.Break() }, "", "", broken},
	} {
		handler := handlerFunc{post: func(x *Exchange) {
			p := x.PassThrough()
			go c.pass(x, p)
		}}
		_, address := serve(t, handler, Options{Budget: stream.NewBudget(1 << 20)}, testLimits)
		mount := httptest.NewServer(NewMount(handler, Options{}, nil))
		for _, url := range []string{"http://" + address, mount.URL} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/mcp", strings.NewReader(ping))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", typeJSON)
			if r.Header.Set("Accept", typeJSON+", "+typeEvents); c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			response, err := http.DefaultClient.Do(r)
			kind, body := "", []byte(nil)
			if err == nil {
				kind = response.Header.Get("Content-Type")
				body, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if (err != nil) != (c.err != nil) || kind != c.kind || c.err == nil && string(body) != c.body {
				t.Errorf("%s: %q %q, %v, want %q %q, %v", c.name, kind, body, err, c.kind, c.body, c.err)
			}
		}
		mount.Close()
	}
}

// A client that reads nothing delays the other node, and loses its stream after WriteTimeout.
func TestPassThroughOfASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan int, 2)
		pass := func(p *PassThrough) {
			p.Open()
			n := 0
			for {
				if _, err := p.Write(make([]byte, 32<<10)); err != nil {
					if !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
					p.Break()
					written <- n
					return
				}
				n += 32 << 10
			}
		}
		connect := servePipe(t, handlerFunc{
			post: func(x *Exchange) { go pass(x.PassThrough()) },
			open: func(s *EventStream) { go pass(s.PassThrough()) },
		}, Options{}, testLimits)
		for _, request := range []string{postText(ping), getText} {
			began := time.Now()
			connect().send(request)
			if n := <-written; n > 256<<10 || time.Since(began) != 30*time.Second {
				t.Errorf("%d bytes were taken within %v", n, time.Since(began))
			}
		}
	})
}

// The end of a client, and the end of the server, end Write.
func TestPassThroughOfALeavingClient(t *testing.T) {
	for _, leave := range []string{"client", "server"} {
		failed, gone := make(chan error, 2), make(chan struct{}, 2)
		pass := func(p *PassThrough) {
			p.Open()
			_, err := p.Write([]byte(":\n\n"))
			for err == nil {
				time.Sleep(time.Millisecond)
				_, err = p.Write([]byte(":\n\n"))
			}
			failed <- err
			p.Close()
			p.Break()
		}
		s, address := serve(t, handlerFunc{
			post: func(x *Exchange) {
				x.OnGone(func() { gone <- struct{}{} })
				go pass(x.PassThrough())
			},
			open: func(s *EventStream) {
				s.OnGone(func() { gone <- struct{}{} })
				go pass(s.PassThrough())
			},
		}, Options{}, testLimits)
		for _, request := range []string{postText(ping), getText} {
			c := dial(t, address)
			c.send(request)
			c.response()
			if leave == "client" {
				c.Close()
			} else {
				s.HangUp()
			}
			if err := <-failed; !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s leaves: %v", leave, err)
			}
			<-gone
		}
	}
}

// endedConn records that the peer has closed the connection.
type endedConn struct {
	net.Conn
	ended bool
}

func (c *endedConn) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.ended = c.ended || err != nil
	return n, err
}

// A stream of another node has its bytes only. Over TLS an alert says that it is complete. It may also be refused.
func TestPassThroughOfAStream(t *testing.T) {
	events := "id: x-g1-0\nretry: 1000\ndata: \n\n" + event(string(note("a")))
	for name, end := range map[string]func(*PassThrough){"complete": (*PassThrough).Close, "incomplete": (*PassThrough).Break} {
		handler := handlerFunc{open: func(s *EventStream) {
			p := s.PassThrough()
			go func() {
				p.Open()
				for _, b := range []byte(events) {
					if _, err := p.Write([]byte{b}); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(50 * time.Millisecond) // the writer takes the bytes before it writes them
				end(p)
			}()
		}}
		pair, pool := certificate(t)
		_, address := serve(t, handler, Options{KeepAlive: time.Millisecond, TLS: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}}, testLimits)
		socket := &endedConn{Conn: dial(t, address)}
		conn := tls.Client(socket, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		client := &rawClient{Conn: conn, r: bufio.NewReader(conn), t: t}
		r := client.send(getText).response()
		if body, err := io.ReadAll(r.Body); string(body) != events || err != nil || socket.ended != (name == "incomplete") {
			t.Errorf("%s: %q, %v, ended without an alert: %v", name, body, err, socket.ended)
		}
	}
	handler := handlerFunc{open: func(s *EventStream) {
		s.PassThrough()
		s.Refuse(404, nil, 0)
	}}
	_, address := serve(t, handler, Options{}, testLimits)
	if r, body := dial(t, address).send(getText).body(); r.StatusCode != 404 || body != "" {
		t.Errorf("refused: %d %q", r.StatusCode, body)
	}
}

// The stream of another node, read without a server.
func TestPassThroughOfAResponse(t *testing.T) {
	conn := &mountConn{wake: make(chan struct{}, 1)}
	x := NewResponse(Origin{}, conn, nil, 0)
	if refused := x.Receive([]byte(ping)); refused != nil {
		t.Fatal(refused)
	}
	p := x.PassThrough()
	if _, ok := x.Head(); ok {
		t.Error("the response has a header before the other node's")
	}
	p.Open()
	go func() {
		_, _ = p.Write([]byte(":\n"))
		_, _ = p.Write([]byte("\n"))
		p.Close()
	}()
	if h, ok := x.Head(); !ok || !h.Stream {
		t.Errorf("%+v", h)
	}
	got := ""
	for last := false; !last; {
		var part []byte
		part, last = x.Read(nil)
		if got += string(part); len(part) == 0 && !last {
			<-conn.wake
		}
	}
	if got != ":\n\n" {
		t.Errorf("%q", got)
	}
	x.Answer(protocol.Message{Frame: []byte(pong)}) // too late
}
