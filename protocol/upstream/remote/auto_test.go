package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// autoTest is a server whose /mcp answers POST with a status, and GET with HTTP+SSE if sse is set.
type autoTest struct {
	status int // status of the response to a POST to /mcp
	body   string
	sse    *sseTest // nil: GET gets 405

	mu   sync.Mutex
	seen []string // verb and path of the requests, in order
}

func (s *autoTest) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, q.Method+" "+q.URL.Path)
	status, sse := s.status, s.sse
	s.mu.Unlock()
	switch {
	case q.Method == "POST" && q.URL.Path == "/mcp":
		body, _ := io.ReadAll(q.Body)
		if status == 200 {
			_, _ = w.Write(testResult(body, `{}`))
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, s.body)
	case sse == nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		sse.ServeHTTP(w, q)
	}
}

func (s *autoTest) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func autoTestSSE() *sseTest {
	return &sseTest{post: func(w http.ResponseWriter, _ *http.Request, body []byte, say func(string)) {
		w.WriteHeader(http.StatusAccepted)
		if f := (protocol.Frame{}); f.Parse(body) == nil && f.Kind == protocol.KindRequest {
			say(string(testResult(body, `{}`)))
		}
	}}
}

func autoTestInitialize(ticket uint64) upstream.Outgoing {
	o := testRequest(ticket)
	o.Method = "initialize"
	return o
}

func autoTestOpen(t *testing.T, url string, known *Dialect) (upstream.Link, *linktest.Recorder) {
	t.Helper()
	r := linktest.New(t)
	l := OpenAuto(Options{URL: url}, known, r.Sink)
	t.Cleanup(func() {
		l.Close(time.Second)
		linktest.Wait[upstream.Closed](r, 1)
		sent, ended := linktest.Tickets(r.Events())
		for ticket, n := range sent {
			if n != 1 || ended[ticket] > 1 {
				t.Errorf("ticket %d: %d events for sending, %d for the end", ticket, n, ended[ticket])
			}
		}
		if n := len(linktest.All[upstream.Opened](r)); n > 1 {
			t.Errorf("opened %d times", n)
		}
	})
	return l, r
}

// An initialize that an HTTP+SSE server refuses over Streamable HTTP is sent again over HTTP+SSE, and the next link
// uses HTTP+SSE at once.
func TestAutoFallsBack(t *testing.T) {
	for _, status := range []int{400, 404, 405} {
		testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
			s := &autoTest{status: status, body: "<html>no</html>", sse: autoTestSSE()}
			url, known := serve(s.ServeHTTP), new(Dialect)
			l, r := autoTestOpen(t, url, known)
			probe := testRequest(1) // a request of a later era
			l.SetVersion("2026-07-28")
			l.Send(probe)
			testEnd(r, 1)
			l.Send(autoTestInitialize(2))
			got := linktest.Wait[upstream.Received](r, 1)
			if got.Ticket != 0 || got.Last || string(got.Frame.ID.Of(got.Frame.Raw)) != "2" {
				t.Errorf("%#v", got)
			}
			l.SetVersion("2025-06-18")
			l.Send(upstream.Outgoing{Ticket: 3, Frame: []byte(sseTestNote)})
			if end, is := testEnd(r, 3).(upstream.Ended); !is || end.Err != nil {
				t.Errorf("%#v", end)
			}
			l.Listen()
			l.Send(testRequest(4))
			linktest.Wait[upstream.Received](r, 2)
			want := []string{"POST /mcp", "POST /mcp", "GET /mcp", "POST /message", "POST /message", "POST /message"}
			if got := s.asked(); !slices.Equal(got, want) {
				t.Errorf("requests %q, want %q", got, want)
			}

			l, r = autoTestOpen(t, url, known)
			l.Send(autoTestInitialize(1))
			linktest.Wait[upstream.Received](r, 1)
			if got := s.asked()[len(want):]; !slices.Equal(got, []string{"GET /mcp", "POST /message"}) {
				t.Errorf("requests of the next link: %q", got)
			}
		})
	}
}

// After any other response, HTTP+SSE is not tried.
func TestAutoKeepsTransportAfterOtherRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"answered": {200, ""},
		"401":      {401, ""},
		"403":      {403, ""},
		"406":      {406, ""},
		"429":      {429, ""},
		"500":      {500, ""},
		"503":      {503, ""},
		"json-rpc": {404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &autoTest{status: test.status, body: test.body, sse: autoTestSSE()}
			known := new(Dialect)
			l, r := autoTestOpen(t, testPlain(t, s.ServeHTTP), known)
			l.Send(autoTestInitialize(1))
			testEnd(r, 1)
			if got := s.asked(); !slices.Equal(got, []string{"POST /mcp"}) || known.sse.Load() {
				t.Errorf("requests %q", got)
			}
		})
	}
}

// An unreachable URL does not determine the transport.
func TestAutoUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	known := new(Dialect)
	l, r := autoTestOpen(t, server.URL, known)
	l.Send(autoTestInitialize(1))
	if end, is := testEnd(r, 1).(upstream.NotSent); !is || known.sse.Load() {
		t.Errorf("%#v", end)
	}
}

// Without HTTP+SSE, the initialize ends with the refusal of Streamable HTTP and both reasons, and the link keeps that
// transport.
func TestAutoWithoutAnyTransport(t *testing.T) {
	s := &autoTest{status: 404, body: "who?"}
	known := new(Dialect)
	l, r := autoTestOpen(t, testPlain(t, s.ServeHTTP), known)
	l.Send(autoTestInitialize(1))
	end, _ := testEnd(r, 1).(upstream.Ended)
	status, is := errors.AsType[*upstream.StatusError](end.Err)
	if !is || status.Code != 404 || !strings.Contains(end.Err.Error(), "HTTP 405 (Method Not Allowed)") {
		t.Errorf("%#v", end)
	}
	s.mu.Lock()
	s.status = 200
	s.mu.Unlock()
	l.Send(autoTestInitialize(2))
	if got, is := testEnd(r, 2).(upstream.Received); !is || got.Ticket != 2 || known.sse.Load() {
		t.Errorf("%#v", got)
	}
}

// If a server that was remembered for HTTP+SSE has no endpoint event anymore, the link uses Streamable HTTP and
// forgets HTTP+SSE.
func TestAutoForgets(t *testing.T) {
	s := &autoTest{status: 200}
	known := new(Dialect)
	known.sse.Store(true)
	l, r := autoTestOpen(t, testPlain(t, s.ServeHTTP), known)
	l.Send(autoTestInitialize(1))
	if got, is := testEnd(r, 1).(upstream.Received); !is || got.Ticket != 1 || known.sse.Load() {
		t.Errorf("%#v", got)
	}
	if got := s.asked(); !slices.Equal(got, []string{"GET /mcp", "POST /mcp"}) {
		t.Errorf("requests %q", got)
	}
}

// A request of a later era is sent over Streamable HTTP, whatever transport is remembered.
func TestAutoProbesLaterErasAgain(t *testing.T) {
	s := &autoTest{status: 405, sse: autoTestSSE()}
	known := new(Dialect)
	known.sse.Store(true)
	l, r := autoTestOpen(t, testPlain(t, s.ServeHTTP), known)
	l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "server/discover", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)})
	testEnd(r, 1)
	l.Send(autoTestInitialize(2))
	linktest.Wait[upstream.Received](r, 1)
	l.Listen()
	linktest.Wait[upstream.Listening](r, 1)
	if got := s.asked(); !slices.Equal(got, []string{"POST /mcp", "GET /mcp", "POST /message"}) {
		t.Errorf("requests %q", got)
	}
}

// A server that is remembered for HTTP+SSE stays remembered if it fails or requires a login, and its error is
// reported.
func TestAutoRemembers(t *testing.T) {
	for _, status := range []int{401, 503} {
		known := new(Dialect)
		known.sse.Store(true)
		l, r := autoTestOpen(t, testPlain(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }), known)
		l.Send(autoTestInitialize(1))
		end, _ := testEnd(r, 1).(upstream.Ended)
		if s, is := errors.AsType[*upstream.StatusError](end.Err); !is || s.Code != status || !known.sse.Load() {
			t.Errorf("%#v after %d, remembered: %v", end, status, known.sse.Load())
		}
	}
}

// While the endpoint event is awaited, Cancel and Close end the initialize. They do not change the remembered transport.
func TestAutoInterrupted(t *testing.T) {
	interrupts := map[string]func(upstream.Link){
		"cancel": func(l upstream.Link) { l.Cancel(1) },
		"close":  func(l upstream.Link) { l.Close(time.Second) },
	}
	for name, interrupt := range interrupts {
		for _, remembered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, remembered %v", name, remembered), func(t *testing.T) {
				looking := make(chan struct{}, 1)
				known := new(Dialect)
				known.sse.Store(remembered)
				l, r := autoTestOpen(t, testPlain(t, func(w http.ResponseWriter, q *http.Request) {
					if q.Method == "POST" {
						w.WriteHeader(http.StatusNotFound)
						return
					}
					testStream(w, ": wait\n\n")
					looking <- struct{}{}
					<-q.Context().Done()
				}), known)
				l.Send(autoTestInitialize(1))
				<-looking
				interrupt(l)
				switch end := testEnd(r, 1).(type) {
				case upstream.Ended:
					if remembered || end.Err == nil {
						t.Errorf("%#v", end)
					}
				case upstream.NotSent:
					if !remembered || end.Err == nil {
						t.Errorf("%#v", end)
					}
				}
				if known.sse.Load() != remembered {
					t.Error("a cancellation changed the remembered transport")
				}
			})
		}
	}
}

// After the switch to HTTP+SSE, the end of the event stream closes the link. Its part over Streamable HTTP is closed already.
func TestAutoStreamEnds(t *testing.T) {
	s := &autoTest{status: 405, sse: autoTestSSE()}
	s.sse.end = make(chan struct{})
	l, r := autoTestOpen(t, testPlain(t, s.ServeHTTP), new(Dialect))
	l.Send(autoTestInitialize(1))
	linktest.Wait[upstream.Received](r, 1)
	s.sse.end <- struct{}{}
	if c := linktest.Wait[upstream.Closed](r, 1); !errors.Is(c.Err, errStreamEnded) {
		t.Errorf("Closed{%v}", c.Err)
	}
}

func TestAutoBadOptions(t *testing.T) {
	_, r := autoTestOpen(t, "ftp://h", new(Dialect))
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil || !strings.Contains(c.Err.Error(), "scheme") {
		t.Errorf("Closed{%v}", c.Err)
	}
}
