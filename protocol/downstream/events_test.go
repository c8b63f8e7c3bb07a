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

const eventsGet = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: x\r\nLast-Event-ID: 7\r\n\r\n"

// eventsHandler handles a session of HTTP+SSE: it answers all messages on the session's stream.
func eventsHandler() (Handler, <-chan *EventStream, <-chan *Exchange) {
	streams, calls := make(chan *EventStream, 10), make(chan *Exchange, 100)
	var stream *EventStream
	return handlerFunc{
		open: func(s *EventStream) {
			stream = s
			s.AcceptEndpoint("/messages?sessionId=s1")
			streams <- s
		},
		post: func(x *Exchange) {
			if x.Origin.SessionID != "s1" {
				x.Refuse(404, []byte("{}"), 0)
				return
			}
			x.Redirect(stream)
			calls <- x
		},
	}, streams, calls
}

func messagePost(query, body string, headers ...string) string {
	return strings.Replace(postText(body, headers...), "POST /mcp ", "POST /messages"+query+" ", 1)
}

// MCP 2024-11-05, basic/transports, HTTP with SSE; protocol.md L11: answers of a redirected exchange go to the stream.
func TestRedirect(t *testing.T) {
	handler, streams, calls := eventsHandler()
	budget := stream.NewBudget(1 << 20)
	_, address := serve(t, handler, Options{Budget: budget}, testLimits)
	c := dial(t, address)
	c.send(eventsGet)
	if r := c.response(); r.StatusCode != 200 {
		t.Fatal(r.StatusCode)
	}
	c.expect("event: endpoint\ndata: /messages?sessionId=s1\n\n")
	if o := (<-streams).Origin; o.SessionID != "" || o.LastEvent != "" || o.Path != "/sse" {
		t.Errorf("origin: %+v", o)
	}
	p := dial(t, address)
	post := func(body string) *Exchange {
		t.Helper()
		r, said := p.send(messagePost("?a=b&sessionId=s1", body)).body()
		if r.StatusCode != 202 || said != "" {
			t.Fatalf("%d %s", r.StatusCode, said)
		}
		return <-calls
	}
	one, two := post(ping), post(strings.Replace(ping, `"id":1`, `"id":2`, 1))
	if budget.Used() < int64(2*len(ping)) {
		t.Errorf("the budget counts %d bytes of two requests", budget.Used())
	}
	one.Notify(protocol.Message{Frame: note("a")}, WeightState, "p")
	two.Notify(protocol.Message{Frame: note("b")}, WeightState, "p")
	two.Answer(protocol.Message{Frame: []byte(`{"two":2}`)})
	two.Answer(protocol.Message{Frame: []byte(`{"two":3}`)})
	two.Notify(protocol.Message{Frame: note("late")}, WeightState, "p")
	c.expect(event(string(note("a"))) + event(string(note("b"))) + event(`{"two":2}`))
	one.Refuse(404, []byte(`{"one":1}`), 0)
	one.Accept()
	c.expect(event(`{"one":1}`))
	post(`{"jsonrpc":"2.0","method":"n"}`).Refuse(400, []byte(`{"no":1}`), 0) // a refused notification is not answered
	post(ping).Accept()
	whole := post(twoAsked)
	members, err := whole.Split()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.Refuse(400, []byte(`{"m":1}`), 0)
	}
	c.expect(event(`{"m":1}`) + event(`{"m":1}`))
	if used := budget.Used(); used != 0 {
		t.Errorf("budget: %d", used)
	}
	x := post(ping)
	gone := make(chan struct{})
	x.OnGone(func() { close(gone) })
	x.Resumable(nil)
	x.SetSession("no")
	c.Close()
	<-gone
	x.Answer(protocol.Message{Frame: []byte("late")})
}

// The two endpoints of HTTP+SSE: methods, the session in the query, and the checks of all requests.
func TestEventsRoutes(t *testing.T) {
	handler, _, _ := eventsHandler()
	_, address := serve(t, handler, Options{AllowedOrigins: []string{"https://ok.invalid"}}, testLimits)
	dial(t, address).send(eventsGet).response()
	host := " HTTP/1.1\r\nHost: localhost\r\n"
	tests := []struct {
		name, text string
		status     int
		allow      string
	}{
		{"POST to the stream", strings.Replace(postText(ping), "/mcp", "/sse", 1), 405, eventsVerbs},
		{"DELETE of the stream", "DELETE /sse" + host + "\r\n", 405, eventsVerbs},
		{"GET of messages", "GET /messages?sessionId=s1" + host + "Accept: text/event-stream\r\n\r\n", 405, messagesVerbs},
		{"OPTIONS", "OPTIONS /sse" + host + "Origin: https://ok.invalid\r\nAccess-Control-Request-Method: GET\r\n\r\n", 204, eventsVerbs},
		{"OPTIONS of messages", "OPTIONS /messages" + host + "Origin: https://ok.invalid\r\nAccess-Control-Request-Method: POST\r\n\r\n", 204, messagesVerbs},
		{"no Accept", "GET /sse" + host + "\r\n", 406, ""},
		{"evil origin", strings.Replace(eventsGet, "\r\n\r\n", "\r\nOrigin: https://evil.invalid\r\n\r\n", 1), 403, ""},
		{"evil host", strings.Replace(eventsGet, "localhost", "evil.invalid", 1), 403, ""},
		{"no session", messagePost("", ping), 404, ""},
		{"session in the header", messagePost("", ping, "Mcp-Session-Id: s1"), 404, ""},
		{"empty session", messagePost("?sessionId=", ping), 404, ""},
		{"another", messagePost("?sessionId=s2", ping), 404, ""},
		{"bad escape", messagePost("?sessionId=%zz", ping), 404, ""},
		{"escaped", messagePost("?sessionId=%731", ping), 202, ""},
		{"the first counts", messagePost("?sessionId=s1&sessionId=s2", ping), 202, ""},
		{"malformed", messagePost("?sessionId=s1", "{"), 400, ""},
		{"no JSON", strings.Replace(messagePost("?sessionId=s1", ping), "application/json\r\n", "text/plain\r\n", 1), 415, ""},
	}
	for _, test := range tests {
		r := dial(t, address).send(test.text).response()
		if r.StatusCode != test.status || r.Header.Get("Allow") != test.allow {
			t.Errorf("%s: %d, Allow %q; want %d, %q", test.name, r.StatusCode, r.Header.Get("Allow"), test.status, test.allow)
		}
	}
}

// On stdio, a batch and its answer are one line each. Redirect and Resumable have no effect there.
func TestStdioBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := stream.NewBudget(0)
		run := startStdio(t, handlerFunc{
			open: func(s *EventStream) {
				s.Resumable(nil)
				if s.Resume(nil, "x") != ResumedNothing {
					t.Error("Resume succeeded on stdio")
				}
				s.AcceptEndpoint("/x")
			},
			post: func(x *Exchange) {
				x.Resumable(nil)
				members, err := x.Split()
				if err != nil {
					x.Refuse(400, []byte(`{"no":1}`), 0)
					return
				}
				members[2].Notify(protocol.Message{Frame: note("x")}, WeightState, "p")
				for _, m := range members {
					if m.Frame.ID.Present() {
						m.Answer(protocol.Message{Frame: resultOf(m, nil)})
					}
					m.Accept()
				}
			},
		}, Options{Budget: budget})
		go io.WriteString(run.in, twoAsked+"\n[7]\n")
		for _, want := range []string{string(note("x")), `[` + answerTo("1") + `,` + answerTo("2") + `]`, `{"no":1}`} {
			if got := run.line(t); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		synctest.Wait()
		if used := budget.Used(); used != 0 {
			t.Errorf("budget: %d", used)
		}
	})
}

// An exchange that becomes resumable after its stream was opened is primed at that point.
func TestResumableLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replay := NewReplay(ReplayOptions{Prime: true})
		calls := make(chan *Exchange, 1)
		connect := servePipe(t, handlerFunc{post: func(x *Exchange) { calls <- x }}, Options{}, testLimits)
		c := connect()
		go c.send(postText(ping))
		x := <-calls
		time.Sleep(6 * time.Second) // SSEAfter has passed
		x.Resumable(replay)
		x.Resumable(replay)
		x.Answer(protocol.Message{Frame: []byte(pong)})
		list := c.events(c.response().Body, 9)
		if len(list) != 2 || list[0].data != "" || list[0].id == "" || list[1].data != pong || list[1].id == "" {
			t.Errorf("%+v", list)
		}
		replay.Close()
	})
}
