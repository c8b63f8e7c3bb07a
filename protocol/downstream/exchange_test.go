package downstream

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

const jsonOnlyHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n"

func event(frame string) string { return "event: message\ndata: " + frame + "\n\n" }

func note(n string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"notifications/` + n + `"}`)
}

// The response is JSON until SSEAfter. Then it is a stream that begins with a comment, followed by another one every
// KeepAlive.
func TestExchangeTurnsIntoStream(t *testing.T) {
	tests := []struct {
		name, head, method string
		after              time.Duration
		want               string // the response body
		stream             bool
	}{
		{"just in time", postHead, "m", 5*time.Second - 1, "R", false},
		{"too late", postHead, "m", 5*time.Second + 1, ":\n\nE", true},
		{"a comment every KeepAlive", postHead, "m", 36 * time.Second, ":\n\n:\n\n:\n\nE", true},
		{"JSON only", jsonOnlyHead, "m", time.Minute, "R", false},
		{"initialize keeps its header", postHead, "initialize", time.Minute, "R", false},
		{"HTTP/1.0 has no chunks", strings.Replace(postHead, "1.1\r\n", "1.0\r\nConnection: keep-alive\r\n", 1), "m", time.Minute, "R", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := handlerFunc{post: func(x *Exchange) {
					x.SetSession("s")
					time.AfterFunc(test.after, func() { echo(x) })
				}}
				c := servePipe(t, handler, Options{}, testLimits)()
				message := `{"jsonrpc":"2.0","id":1,"method":"` + test.method + `","params":{"x":1}}`
				want := strings.NewReplacer("R", pong, "E", event(pong)).Replace(test.want)
				for range 2 { // the connection can be reused after a stream
					go c.send(test.head + "Content-Length: " + itoa(len(message)) + "\r\n\r\n" + message)
					r, body := c.body()
					if r.StatusCode != 200 || body != want {
						t.Fatalf("%d %q, want %q", r.StatusCode, body, want)
					}
					kind := map[bool]string{false: "application/json", true: "text/event-stream"}[test.stream]
					header := map[string]string{"Content-Type": kind, "Mcp-Session-Id": "s"}
					if test.stream {
						header["X-Accel-Buffering"], header["Cache-Control"] = "no", "no-cache"
					}
					checkHeader(t, r, 200, header)
				}
			})
		})
	}
}

// A message before the answer opens the stream at once, and the answer is its last event: protocol.md H5, H6, L4.
func TestExchangeNotify(t *testing.T) {
	newline := []byte("{\"jsonrpc\":\"2.0\",\n\"method\":\"x\"}")
	tests := []struct {
		name, head string
		post       func(x *Exchange)
		want       string
	}{
		{"in order", postHead, func(x *Exchange) {
			x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			x.Notify(protocol.Message{Frame: newline, Newline: true}, WeightAnswer, "")
			echo(x)
			x.Notify(protocol.Message{Frame: note("late")}, WeightAnswer, "")
		}, ":\n\n" + event(string(note("message"))) + event(`{"jsonrpc":"2.0", "method":"x"}`) + event(pong)},
		{"newer state replaces", postHead, func(x *Exchange) {
			x.Notify(protocol.Message{Frame: note("progress1")}, WeightState, "p")
			x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			x.Notify(protocol.Message{Frame: note("progress2")}, WeightState, "p")
			echo(x)
		}, ":\n\n" + event(string(note("progress2"))) + event(string(note("message"))) + event(pong)},
		{"JSON only gets no messages", jsonOnlyHead, func(x *Exchange) {
			x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			echo(x)
		}, pong},
		{"refused after all", postHead, func(x *Exchange) {
			x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			x.Refuse(400, []byte(`{"error":1}`), 0)
		}, ":\n\n" + event(string(note("message"))) + event(`{"error":1}`)},
		{"accepted after all", postHead, func(x *Exchange) {
			x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			x.Accept()
		}, ":\n\n" + event(string(note("message")))},
		{"events only", strings.Replace(postHead, "application/json, ", "", 1), echo, event(pong)},
	}
	for _, test := range tests {
		for _, async := range []bool{false, true} {
			post := test.post
			if async {
				post = func(x *Exchange) { go test.post(x) }
			}
			_, address := serve(t, handlerFunc{post: post}, Options{}, testLimits)
			c := dial(t, address)
			for range 3 {
				if r, body := c.send(test.head + "Content-Length: " + itoa(len(ping)) + "\r\n\r\n" + ping).body(); r.StatusCode != 200 || async && strings.HasPrefix(test.name, "newer") && strings.HasSuffix(body, event(pong)) {
					continue // the writer has already taken the message, so it cannot be replaced
				} else if body != test.want {
					t.Errorf("%s, async %v: %d %q, want %q", test.name, async, r.StatusCode, body, test.want)
				}
			}
		}
	}
}

// A client that closes the connection, or half of it, is detected while its answer is awaited, as JSON or SSE. The connection
// of a client that stays can be reused.
func TestExchangeNoticesClientLeaving(t *testing.T) {
	for _, kind := range []string{"json", "stream"} {
		for _, how := range []string{"close", "half", "stay"} {
			t.Run(kind+" "+how, func(t *testing.T) {
				began, gone := make(chan *Exchange, 1), make(chan struct{})
				handler := handlerFunc{post: func(x *Exchange) {
					if x.Frame.MethodText() == "ping" {
						echo(x)
						return
					}
					x.OnGone(func() { close(gone) })
					if kind == "stream" {
						x.Notify(protocol.Message{Frame: note("x")}, WeightLog, "")
					}
					began <- x
				}}
				_, address := serve(t, handler, Options{}, testLimits)
				c := dial(t, address)
				c.send(postText(`{"jsonrpc":"2.0","id":1,"method":"slow"}`))
				x := <-began
				switch how {
				case "close":
					c.Close()
				case "half":
					c.Conn.(interface{ CloseWrite() error }).CloseWrite()
				case "stay":
					<-time.After(3 * defaultWatchAfter / 2) // the watcher is running
					x.Answer(protocol.Message{Frame: resultOf(x, nil)})
					if r, body := c.body(); r.StatusCode != 200 || !strings.Contains(body, `"result":{}`) {
						t.Fatalf("%d %s", r.StatusCode, body)
					}
					if r, body := c.send(postText(ping)).body(); r.StatusCode != 200 || body != pong {
						t.Fatalf("next: %d %s", r.StatusCode, body)
					}
				}
				select {
				case <-gone:
					if how == "stay" {
						t.Error("OnGone was called although the client did not leave")
					}
				case <-time.After(map[bool]time.Duration{true: 50 * time.Millisecond, false: 2 * time.Minute}[how == "stay"]):
					if how != "stay" {
						t.Error("OnGone was not called")
					}
				}
				x.Answer(protocol.Message{Frame: []byte("late")})
				if how == "half" {
					if rest, _ := io.ReadAll(c.r); strings.Contains(string(rest), "late") {
						t.Errorf("data was sent after the client left: %q", rest)
					}
				}
			})
		}
	}
}

// protocol.md L7: without OnGone the connection is not watched. The call continues and its answer is dropped.
func TestExchangeLegacyDisconnect(t *testing.T) {
	began := make(chan *Exchange, 1)
	s, address := serve(t, handlerFunc{post: func(x *Exchange) { began <- x }}, Options{}, testLimits)
	c := dial(t, address)
	c.send(postText(ping))
	x := <-began
	c.Close()
	<-time.After(2 * defaultWatchAfter)
	if open, _ := s.Connections(); open != 1 {
		t.Errorf("%d connections are open, want one with a waiting exchange", open)
	}
	x.Answer(protocol.Message{Frame: []byte("{}")})
	eventually(t, "the connection to be closed", func() bool { open, _ := s.Connections(); return open == 0 })
	told := make(chan struct{})
	x.OnGone(func() { close(told) })
	x.Notify(protocol.Message{Frame: note("x")}, WeightLog, "")
	x.SetSession("x")
}

// If a connection cannot be watched, like this one in memory, the response becomes a stream after 100 ms. A failing
// write then shows that the client has left.
func TestExchangeUnwatchable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, gone := time.Now(), time.Duration(0)
		handler := handlerFunc{post: func(x *Exchange) { x.OnGone(func() { gone = time.Since(began) }) }}
		c := servePipe(t, handler, Options{}, testLimits)()
		go c.send(postText(ping))
		r := c.response()
		if age := time.Since(began); r.Header.Get("Content-Type") != "text/event-stream" || age != 100*time.Millisecond {
			t.Errorf("%v after %v", r.Header, age)
		}
		c.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if gone == 0 || gone > 16*time.Second {
			t.Errorf("noticed after %v", gone)
		}
	})
}

// A client that reads nothing for WriteTimeout loses its stream, and OnGone is called. Other clients are not delayed.
func TestExchangeSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, began, gone := stream.NewBudget(0), time.Now(), time.Duration(0)
		handler := handlerFunc{post: func(x *Exchange) {
			if x.Frame.MethodText() == "ping" {
				echo(x)
				return
			}
			x.OnGone(func() { gone = time.Since(began) })
			for range 1000 {
				x.Notify(protocol.Message{Frame: note("message")}, WeightLog, "")
			}
		}}
		connect, s := servePipes(t, handler, Options{Budget: budget}, testLimits)
		c := connect()
		c.send(postText(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
		other := connect()
		go other.send(postText(ping))
		if r, body := other.body(); r.StatusCode != 200 || body != pong || time.Since(began) != 0 {
			t.Errorf("another client: %d %s after %v", r.StatusCode, body, time.Since(began))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if gone != 30*time.Second {
			t.Errorf("lost after %v", gone)
		}
		if n := s.Stats().DroppedLogs; n < 1000-2*outboxLogs {
			t.Errorf("%d log messages dropped", n)
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("the budget still counts %d bytes", used)
		}
	})
}

// A slow reader of a large answer keeps its connection while it makes progress, and otherwise loses it. Meanwhile the budget
// counts the answer.
func TestExchangeSlowReaderOfLargeAnswer(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct {
		take  int // bytes every 20 seconds
		whole bool
	}{{20 << 10, true}, {1 << 10, false}} {
		synctest.Test(t, func(t *testing.T) {
			budget := stream.NewBudget(0)
			answer := []byte(`"` + strings.Repeat("x", size) + `"`)
			c := servePipe(t, handlerFunc{post: func(x *Exchange) { x.Answer(protocol.Message{Frame: answer}) }}, Options{Budget: budget}, testLimits)()
			c.send(postText(ping))
			synctest.Wait()
			if used := budget.Used(); used < size {
				t.Errorf("budget: %d", used)
			}
			got, err := 0, error(nil)
			for part := make([]byte, test.take); err == nil && got < size; {
				time.Sleep(20 * time.Second)
				c.SetDeadline(time.Now().Add(time.Second))
				n := 0
				n, err = io.ReadFull(c.Conn, part)
				got += n
			}
			if whole := got >= size; whole != test.whole {
				t.Errorf("reading %d bytes every 20 s: got %d bytes, %v", test.take, got, err)
			}
			c.Close()
			synctest.Wait()
			if used := budget.Used(); used != 0 {
				t.Errorf("the budget still counts %d bytes", used)
			}
		})
	}
}

// A stream ends at once if the state messages that wait exceed the limit.
func TestExchangeOverfull(t *testing.T) {
	gone := make(chan struct{})
	handler := handlerFunc{post: func(x *Exchange) {
		x.OnGone(func() { close(gone) })
		big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		for i := range 400 {
			x.Notify(protocol.Message{Frame: big}, WeightState, itoa(i))
		}
	}}
	_, address := serve(t, handler, Options{MaxMessageBytes: 1 << 20}, testLimits)
	c := dial(t, address)
	c.send(postText(ping))
	<-gone
}

// Each legacy session has its own share of the budget. Clients without a session, and modern clients whatever their
// session header says, share by address.
func TestBudgetSharesAreThoseOfClients(t *testing.T) {
	for _, c := range []struct{ session, version, want string }{
		{"a", "2025-11-25", "a"},
		{"", "2025-11-25", "10.0.0.1"},
		{"", "2026-07-28", "10.0.0.1"},
		{"made up", "2026-07-28", "10.0.0.1"},
	} {
		x := Exchange{Origin: Origin{SessionID: c.session, Version: c.version, Remote: "10.0.0.1:5"}}
		if got := x.client(); got != c.want {
			t.Errorf("session %q of %s: %q, want %q", c.session, c.version, got, c.want)
		}
	}
}
