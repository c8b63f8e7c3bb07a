package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// httpLinkTestListen serves a session whose GET is answered by get.
func httpLinkTestListen(get http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		switch q.Method {
		case "GET":
			get(w, q)
		case "POST":
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Mcp-Session-Id", "s-1")
			_, _ = w.Write(httpLinkTestResult(body, `{}`))
		}
	}
}

func httpLinkTestStream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

const httpLinkTestNote = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// The stream is taken up again where it broke, not before the server wants it.
func TestHTTPLinkListenResumes(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		seen := make(chan http.Header, 10)
		n := 0
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(httpLinkTestListen(func(w http.ResponseWriter, q *http.Request) {
			seen <- q.Header
			n++
			switch n {
			case 1:
				httpLinkTestStream(w, "retry: 100\n\nid: 41\ndata: "+httpLinkTestNote+"\n\ndata: garbage\n\nid: 42\ndata:\n\n")
			case 2:
				w.WriteHeader(http.StatusBadGateway)
			default:
				httpLinkTestStream(w, "data: "+httpLinkTestNote+"\n\n")
				<-q.Context().Done()
			}
		}))})
		l.Send(httpLinkTestRequest(1))
		httpLinkTestEnd(r, 1)
		began := time.Now()
		l.Listen()
		l.Listen() // it is open already
		first, second, third := <-seen, <-seen, <-seen
		if d := time.Since(began); d < 200*time.Millisecond {
			t.Errorf("tried again after %v in all, retry said 100 ms", d)
		}
		if first.Get("Last-Event-Id") != "" || first.Get("Accept") != "text/event-stream" || first.Get("Mcp-Session-Id") != "s-1" {
			t.Errorf("first GET: %v", first)
		}
		if second.Get("Last-Event-Id") != "42" || third.Get("Last-Event-Id") != "42" {
			t.Errorf("Last-Event-Id %q, %q, want 42", second.Get("Last-Event-Id"), third.Get("Last-Event-Id"))
		}
		got := r.wait("the second stream's frame", func() func(Event) bool {
			left := 3 // an answer and two notifications
			return func(e Event) bool {
				if _, is := e.(Received); is {
					left--
				}
				return left == 0
			}
		}()).(Received)
		if got.Ticket != 0 || got.Last {
			t.Errorf("%#v", got)
		}
		if opened := linkAll[Listening](r); len(opened) != 2 {
			t.Errorf("the stream was open %d times, want 2", len(opened))
		}
		failed := linkAll[ListenFailed](r)
		if len(failed) != 2 || failed[0].Final || failed[1].Final {
			t.Errorf("failures %v", failed)
		}
		if len(linkAll[Noise](r)) != 1 {
			t.Errorf("noise %v", linkAll[Noise](r))
		}
	})
}

func TestHTTPLinkListenRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		kind   string
		body   string
		before bool // a stream was open before
		final  bool // else the session is lost
		code   int
	}{
		{"405", 405, "", "", false, true, 405},
		{"401", 401, "", "", false, true, 401},
		{"400", 400, "", "no such thing", false, true, 400},
		{"404", 404, "", "who?", true, false, 0},
		{"404 of a server without GET", 404, "", "Cannot GET /mcp", false, true, 404},
		{"400 about the session", 400, "", "Invalid or missing session ID", true, false, 0},
		{"400 about something with a session", 400, "", "bad session", true, true, 400},
		{"400 of a server without GET", 400, "", "no session here", false, true, 400},
		{"html", 200, "text/html", "<html>", false, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				asked := make(chan struct{}, 10)
				var before atomic.Bool
				before.Store(test.before)
				l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(httpLinkTestListen(func(w http.ResponseWriter, q *http.Request) {
					if before.Swap(false) {
						httpLinkTestStream(w, "retry: 1\n\n")
						return
					}
					asked <- struct{}{}
					w.Header().Set("Content-Type", test.kind)
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				}))})
				l.Send(httpLinkTestRequest(1))
				httpLinkTestEnd(r, 1)
				l.Listen()
				if !test.final {
					if lost := linkWait[SessionLost](r, 1); lost.Ticket != 0 {
						t.Errorf("%#v", lost)
					}
					return
				}
				n := 1
				if test.before { // the end of that stream was told first
					n = 2
				}
				failed := linkWait[ListenFailed](r, n)
				status, _ := errors.AsType[*StatusError](failed.Err)
				if !failed.Final || test.code != 0 && (status == nil || status.Code != test.code) {
					t.Errorf("%#v", failed)
				}
				<-asked
				select {
				case <-asked:
					t.Error("asked again")
				case <-time.After(20 * time.Millisecond):
				}
			})
		})
	}
}

// An event too large is passed over; the stream lives.
func TestHTTPLinkListenTooLarge(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := httpLinkTestOpen(t, HTTPOptions{MaxMessageBytes: 1000, URL: serve(httpLinkTestListen(func(w http.ResponseWriter, q *http.Request) {
			httpLinkTestStream(w, "data: "+strings.Repeat("x", 100_000)+"\n\ndata: "+httpLinkTestNote+"\n\n")
			<-q.Context().Done()
		}))})
		l.Listen()
		if n := linkWait[Noise](r, 1); !errors.Is(n.Err, ErrFrameTooLarge) {
			t.Errorf("%v", n.Err)
		}
		linkWait[Received](r, 1)
		if failed := linkAll[ListenFailed](r); len(failed) != 0 {
			t.Errorf("%v", failed)
		}
	})
}

func TestHTTPLinkListenPause(t *testing.T) {
	for _, test := range []struct {
		failures int
		retry    time.Duration
		min, max time.Duration
	}{
		{0, 0, 250 * time.Millisecond, 500 * time.Millisecond},
		{1, 0, 500 * time.Millisecond, time.Second},
		{3, 0, 2 * time.Second, 4 * time.Second},
		{100, 0, 15 * time.Second, 30 * time.Second},
		{0, 2 * time.Second, 2 * time.Second, 2500 * time.Millisecond},
		{0, time.Nanosecond, 100 * time.Millisecond, 125 * time.Millisecond},
		{4, 2 * time.Second, 15 * time.Second, 30 * time.Second},
		{9, time.Minute, 30 * time.Second, time.Minute},
	} {
		for range 100 {
			if got := httpLinkListenPause(test.failures, test.retry); got < test.min || got > test.max+time.Nanosecond {
				t.Fatalf("httpLinkListenPause(%d, %v) = %v, want %v to %v", test.failures, test.retry, got, test.min, test.max)
			}
		}
	}
}

// An answer whose stream the server closed early comes on the resumed stream, on the same ticket: a human took two minutes.
func TestHTTPLinkAnswerResumes(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var resumed []string
		answer := ""
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				resumed = append(resumed, q.Header.Get("Last-Event-Id"))
				if len(resumed) == 1 {
					w.WriteHeader(503)
					return
				}
				httpLinkTestStream(w, "id: c\ndata: "+answer+"\n\n")
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			default:
				answer = string(httpLinkTestResult(body, `{"late":true}`))
				httpLinkTestStream(w, "retry: 1\nid: a\ndata:\n\nid: b\ndata: "+httpLinkTestNote+"\n\n")
			}
		})})
		l.Send(Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		httpLinkTestEnd(r, 1)
		l.Send(httpLinkTestRequest(2))
		got, ok := httpLinkTestEnd(r, 2).(Received)
		if !ok || !strings.Contains(string(got.Frame.Raw), "late") || fmt.Sprint(resumed) != "[b b]" {
			t.Errorf("resumed at %v, told:\n%s", resumed, linkDump(r.all()))
		}
		if len(linkAll[Received](r)) != 3 || len(linkAll[Written](r)) != 2 {
			t.Errorf("told:\n%s", linkDump(r.all()))
		}
	})
}

// Wherever the stream is cut, the answer comes once: with the stream, or with the rest of it, which begins behind the last event
// that was whole. Half an event is none, and its id does not count.
func TestHTTPLinkAnswerCut(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		const first = "retry: 1\nid: e1\ndata:\n\n"
		cut, asked, torn := 0, "", false
		second := func(body []byte) string { return "id: e2\ndata: " + string(httpLinkTestResult(body, `{}`)) + "\n\n" }
		var last []byte
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				if asked = q.Header.Get("Last-Event-Id"); asked == "e1" {
					httpLinkTestStream(w, second(last))
				}
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			default:
				last = body
				httpLinkTestStream(w, (first + second(body))[:cut])
				if torn {
					panic(http.ErrAbortHandler)
				}
			}
		})})
		l.Send(Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		httpLinkTestEnd(r, 1)
		whole := len(first + second([]byte(`{"jsonrpc":"2.0","id":100,"method":"x"}`)))
		for n := range 2 * (whole - len(first) + 1) {
			cut, torn, asked = len(first)+n/2, n%2 == 1, "" // or the stream ends as it should, but for what is missing
			ticket := uint64(100 + n)
			l.Send(httpLinkTestRequest(ticket))
			if _, ok := httpLinkTestEnd(r, ticket).(Received); !ok || asked != "e1" && cut < whole || asked != "" && cut == whole {
				t.Errorf("cut after %d of %d bytes: resumed after %q, told:\n%s", cut, whole, asked, linkDump(r.all()[len(r.all())-3:]))
			}
		}
		if noise := linkAll[Noise](r); len(noise) > 0 {
			t.Errorf("%d halves taken for events, the first %q", len(noise), noise[0].Line)
		}
	})
}

// What cannot be resumed ends, and so does what is canceled while it waits.
func TestHTTPLinkAnswerResumesNot(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		tries := 0
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				tries++
				w.WriteHeader(503)
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			case bytes.Contains(body, []byte(`"id":3,`)):
				httpLinkTestStream(w, "retry: 60000\nid: a\ndata: "+httpLinkTestNote+"\n\n")
			default:
				httpLinkTestStream(w, "retry: 1\nid: a\ndata:\n\n")
			}
		})})
		l.Send(Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		httpLinkTestEnd(r, 1)
		l.Send(httpLinkTestRequest(2))
		if end, ok := httpLinkTestEnd(r, 2).(Ended); !ok || !errors.Is(end.Err, ErrNoAnswer) || tries != httpLinkResumes {
			t.Errorf("%#v after %d tries", end, tries)
		}
		l.Send(httpLinkTestRequest(3))
		linkWait[Received](r, 2)
		l.Cancel(3)
		if end, ok := httpLinkTestEnd(r, 3).(Ended); !ok || !errors.Is(end.Err, context.Canceled) {
			t.Errorf("%#v, want canceled", end)
		}
	})
}
