package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// sseTest is an HTTP+SSE server. It sends messages to the stream opened last.
type sseTest struct {
	endpoint string                                                                      // data of the first event; "" = /message?session=1
	post     func(w http.ResponseWriter, q *http.Request, body []byte, say func(string)) // say sends a message on the stream
	open     chan *http.Request                                                          // receives each GET; may be nil
	end      chan struct{}                                                               // a value ends the stream

	mu     sync.Mutex
	stream chan string
}

func (s *sseTest) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method == "POST" {
		body, _ := io.ReadAll(q.Body)
		s.post(w, q, body, s.say)
		return
	}
	if s.open != nil {
		s.open <- q
	}
	said := make(chan string)
	s.mu.Lock()
	s.stream = said
	s.mu.Unlock()
	endpoint := s.endpoint
	if endpoint == "" {
		endpoint = "/message?session=1"
	}
	testStream(w, ": hello\n\nevent: endpoint\ndata: "+endpoint+"\r\n\r\n")
	for {
		select {
		case m := <-said:
			testStream(w, "event: message\ndata: "+m+"\n\n")
		case <-s.end:
			return
		case <-q.Context().Done():
			return
		}
	}
}

func (s *sseTest) say(message string) {
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	stream <- message
}

// sseTestOpen opens a link and closes it after the test.
func sseTestOpen(t *testing.T, o Options) (upstream.Link, *linktest.Recorder) {
	t.Helper()
	r := linktest.New(t)
	budget := stream.NewBudget(0)
	if o.Budget == nil {
		o.Budget = budget
	}
	l := OpenSSE(o, r.Sink)
	t.Cleanup(func() {
		l.Close(time.Second)
		linktest.Wait[upstream.Closed](r, 1)
		sent, ended := linktest.Tickets(r.Events())
		for ticket, n := range sent {
			if n != 1 || ended[ticket] > 1 {
				t.Errorf("ticket %d: %d events for sending, %d for the end", ticket, n, ended[ticket])
			}
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes left in the budget", used)
		}
	})
	return l, r
}

const sseTestNote = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// Requests are sent as POSTs, and all messages arrive on the stream. A server's request with the id of a client's
// request stays a request.
func TestSSELink(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		heads := make(chan http.Header, 1000)
		s := &sseTest{open: make(chan *http.Request, 1)}
		s.post = func(w http.ResponseWriter, q *http.Request, body []byte, say func(string)) {
			heads <- q.Header
			if q.URL.RequestURI() != "/message?session=1" {
				t.Errorf("POST to %s", q.URL)
			}
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "Accepted")
			w.(http.Flusher).Flush()
			if bytes.Contains(body, []byte(`"id"`)) {
				say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
				say(string(testResult(body, `{"n":12345678901234567890}`)))
			}
		}
		l, r := sseTestOpen(t, Options{URL: serve(s.ServeHTTP), Headers: map[string]string{"Authorization": "Bearer x"}})
		const n = 50
		l.Send(testRequest(1)) // before the endpoint is known
		l.SetVersion("2025-06-18")
		for i := uint64(2); i <= n; i++ {
			l.Send(testRequest(i))
		}
		l.Listen()
		answers, pings := map[string]int{}, 0
		for i := range 2 * n {
			e := linktest.Wait[upstream.Received](r, i+1)
			if e.Ticket != 0 || e.Last {
				t.Fatalf("%#v", e)
			}
			if e.Frame.Kind == protocol.KindRequest {
				pings++
			} else {
				answers[string(e.Frame.ID.Of(e.Frame.Raw))]++
			}
		}
		if len(answers) != n || pings != n {
			t.Errorf("%d answers, %d pings, want %d of each", len(answers), pings, n)
		}
		l.Send(upstream.Outgoing{Ticket: n + 1, Frame: []byte(sseTestNote)})
		if end, is := testEnd(r, n+1).(upstream.Ended); !is || end.Err != nil {
			t.Errorf("notification: %#v", end)
		}
		if _, is := r.Events()[0].(upstream.Opened); !is || len(linktest.All[upstream.Opened](r)) != 1 || len(linktest.All[upstream.Ended](r)) != 1 {
			t.Errorf("events:\n%s", linktest.Dump(r.Events()))
		}
		get := (<-s.open).Header
		if get.Get("Accept") != "text/event-stream" || get.Get("Authorization") != "Bearer x" {
			t.Errorf("GET: %v", get)
		}
		for range n + 1 {
			head := <-heads
			if head.Get("Authorization") != "Bearer x" || head.Get("Content-Type") != "application/json" {
				t.Errorf("POST: %v", head)
			}
		}
	})
}

func TestSSELinkVersion(t *testing.T) {
	seen := make(chan string, 10)
	s := &sseTest{post: func(w http.ResponseWriter, q *http.Request, _ []byte, _ func(string)) {
		seen <- q.Header.Get("Mcp-Protocol-Version") + q.Header.Get("Mcp-Method")
		w.WriteHeader(http.StatusAccepted)
	}}
	l, r := sseTestOpen(t, Options{URL: testPlain(t, s.ServeHTTP)})
	for i, test := range []struct{ version, want string }{
		{"", ""}, {"2024-11-05", ""}, {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"},
	} {
		l.SetVersion(test.version)
		l.Send(upstream.Outgoing{Ticket: uint64(i + 1), Frame: []byte(sseTestNote), Method: "notifications/initialized"})
		testEnd(r, uint64(i+1))
		if got := <-seen; got != test.want && test.version != "" {
			t.Errorf("after %q: header %q, want %q", test.version, got, test.want)
		}
	}
}

func TestSSELinkEndpoint(t *testing.T) {
	for _, test := range []struct{ url, reference, want string }{ // want "" = invalid
		{"http://h/sse", "/message?sessionId=1", "/message?sessionId=1"},
		{"http://h/a/sse?k=v", "message?s=1", "/a/message?s=1"},
		{"http://h/a/sse?k=v", "?s=1", "/a/sse?s=1"},
		{"http://h/sse", "  http://h/m  ", "/m"},
		{"http://H:80/sse", "http://h/m#part", "/m"},
		{"https://h/sse", "https://h:443/m", "/m"},
		{"http://user:secret@h/sse", "http://h/m", "/m"},
		{"http://h//sse", "m", "//m"},
		{"http://[::1]:90/sse", "http://[::1]:90/m", "/m"},
		{"http://h/sse", "/grüße", "/gr%C3%BC%C3%9Fe"},
		{"http://h/sse", "", "/sse"},
		{"http://h/sse", "http://evil/m", ""},
		{"http://h/sse", "//evil/m", ""},
		{"http://h/sse", "https://h/m", ""},
		{"https://h/sse", "http://h/m", ""},
		{"http://h/sse", "http://h:81/m", ""},
		{"http://h/sse", "http:m", ""},
		{"http://h/sse", "javascript:alert(1)", ""},
		{"http://h/sse", "/m?x HTTP/1.0", ""},
		{"http://h/sse", "/m\r\nX: y", ""},
		{"http://h/sse", "http://[", ""},
		{"http://h/sse", "/" + strings.Repeat("x", sseLinkURL), ""},
	} {
		site, err := parseSite(Options{URL: test.url})
		if err != nil {
			t.Fatal(err)
		}
		got, err := site.endpoint(test.reference)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("at %s endpoint %.80q = %q, %v, want %q", test.url, test.reference, got, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// For any endpoint, a POST goes to the server's origin, and its request line has three parts.
func FuzzSSELinkEndpoint(f *testing.F) {
	for _, seed := range []string{"/message?sessionId=1", "http://h:1/m", "//evil/x", "m?a b", "http:\\\\evil", "/%2f/..//x"} {
		f.Add("/a/sse?k=v", seed)
	}
	f.Fuzz(func(t *testing.T, path, reference string) {
		site, err := parseSite(Options{URL: "http://h:1/"})
		if err != nil {
			t.Fatal(err)
		}
		site.path = path
		got, err := site.endpoint(reference)
		if err != nil {
			return
		}
		if !strings.HasPrefix(got, "/") || strings.ContainsAny(got, " \r\n\t") {
			t.Errorf("endpoint %q at %q: %q", reference, path, got)
		}
	})
}

// If the server refuses the event stream or sends no valid endpoint, the link closes before it opens, with an error
// that shows whether the server supports HTTP+SSE.
func TestSSELinkNotOffered(t *testing.T) {
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { testStream(w, text) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "no", code)
		}
	}
	for name, test := range map[string]struct {
		get  http.HandlerFunc
		text string // part of the error
		no   bool   // the error shows that the server does not support HTTP+SSE
	}{
		"404":  {status(404), "HTTP 404 (Not Found)", true},
		"405":  {status(405), "HTTP 405 (Method Not Allowed)", true},
		"401":  {status(401), "HTTP 401 (Unauthorized)", false},
		"503":  {status(503), "HTTP 503 (Service Unavailable)", false},
		"page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "not an event stream", true},
		"encoded": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			testStream(w, "event: endpoint\ndata: /m\n\n")
		}, `Content-Encoding "br"`, true},
		"ends":          {stream(": hello\n\n"), "the stream ended", true},
		"half an event": {stream("event: endpoint\ndata"), "the stream ended", true},
		"other origin":  {stream("event: endpoint\ndata: http://evil/m\n\n"), `"http://evil"`, false},
		"only messages": {stream(strings.Repeat("data: {}\n\n", sseLinkStrange)), "first 100 events", true},
		"never":         {func(w http.ResponseWriter, q *http.Request) { testStream(w, ": hi\n\n"); <-q.Context().Done() }, "within 300ms", true},
		"redirect away": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "http://evil/", http.StatusTemporaryRedirect)
		}, "moved to http://evil/; set url to that if you trust it", false},
		"redirect round": {func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "/mcp", http.StatusTemporaryRedirect)
		}, "too many redirects", false},
	} {
		t.Run(name, func(t *testing.T) {
			testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				r := linktest.New(t)
				sent, patience := make(chan struct{}), time.Minute
				if name == "never" {
					patience = 300 * time.Millisecond
				}
				l := openSSE(Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
					<-sent
					test.get(w, q)
				})}, patience, r.Sink)
				l.Send(testRequest(1))
				close(sent)
				c := linktest.Wait[upstream.Closed](r, 1)
				if c.Err == nil || !strings.Contains(c.Err.Error(), test.text) || isUnsupported(c.Err) != test.no {
					t.Errorf("Closed{%v}, isUnsupported: %v", c.Err, isUnsupported(c.Err))
				}
				if s, is := errors.AsType[*upstream.StatusError](c.Err); is && strings.HasPrefix(name, "4") && s.RetryAfter != 7*time.Second {
					t.Errorf("%#v", s)
				}
				if len(linktest.All[upstream.Opened](r)) > 0 || len(linktest.All[upstream.NotSent](r)) != 1 {
					t.Errorf("events:\n%s", linktest.Dump(r.Events()))
				}
			})
		})
	}
}

// Redirects are followed, and the endpoint is relative to the final URL.
func TestSSELinkRedirect(t *testing.T) {
	s := &sseTest{endpoint: "message", post: func(w http.ResponseWriter, q *http.Request, body []byte, say func(string)) {
		if q.URL.Path == "/a/message" {
			http.Redirect(w, q, "/b/message", http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		say(string(testResult(body, `{}`)))
	}}
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := sseTestOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/mcp" {
				http.Redirect(w, q, "/a/stream", http.StatusMovedPermanently)
				return
			}
			s.ServeHTTP(w, q)
		})})
		l.Send(testRequest(1))
		linktest.Wait[upstream.Received](r, 1)
		l.Send(testRequest(2))
		linktest.Wait[upstream.Received](r, 2)
	})
}

func TestSSELinkBadOptions(t *testing.T) {
	r := linktest.New(t)
	l := OpenSSE(Options{URL: "ftp://h"}, r.Sink)
	l.Send(testRequest(1))
	l.SetVersion("2025-11-25")
	l.Cancel(1)
	l.Close(0)
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil || !strings.Contains(c.Err.Error(), "scheme") {
		t.Errorf("Closed{%v}", c.Err)
	}
}

// testPlain serves over plain HTTP.
func testPlain(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}
