package remote

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

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// testListen returns a handler with a session. get answers the GET requests.
func testListen(get http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		switch q.Method {
		case "GET":
			get(w, q)
		case "POST":
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Mcp-Session-Id", "s-1")
			_, _ = w.Write(testResult(body, `{}`))
		}
	}
}

func testStream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

const testNote = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// A broken stream is resumed where it ended, not earlier than the server allows.
func TestHTTPLinkListenResumes(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		seen := make(chan http.Header, 10)
		n := 0
		l, r := testOpen(t, Options{URL: serve(testListen(func(w http.ResponseWriter, q *http.Request) {
			seen <- q.Header
			n++
			switch n {
			case 1:
				testStream(w, "retry: 100\n\nid: 41\ndata: "+testNote+"\n\ndata: garbage\n\nid: 42\ndata:\n\n")
			case 2:
				w.WriteHeader(http.StatusBadGateway)
			default:
				testStream(w, "data: "+testNote+"\n\n")
				<-q.Context().Done()
			}
		}))})
		l.Send(testRequest(1))
		testEnd(r, 1)
		began := time.Now()
		l.Listen()
		l.Listen() // already open
		first, second, third := <-seen, <-seen, <-seen
		if d := time.Since(began); d < 200*time.Millisecond {
			t.Errorf("reconnected after %v in total, although retry is 100 ms", d)
		}
		if first.Get("Last-Event-Id") != "" || first.Get("Accept") != "text/event-stream" || first.Get("Mcp-Session-Id") != "s-1" {
			t.Errorf("first GET: %v", first)
		}
		if second.Get("Last-Event-Id") != "42" || third.Get("Last-Event-Id") != "42" {
			t.Errorf("Last-Event-Id %q, %q, want 42", second.Get("Last-Event-Id"), third.Get("Last-Event-Id"))
		}
		got := r.Until("the second stream's frame", func() func(upstream.Event) bool {
			left := 3 // a response and two notifications
			return func(e upstream.Event) bool {
				if _, is := e.(upstream.Received); is {
					left--
				}
				return left == 0
			}
		}()).(upstream.Received)
		if got.Ticket != 0 || got.Last {
			t.Errorf("%#v", got)
		}
		if opened := linktest.All[upstream.Listening](r); len(opened) != 2 {
			t.Errorf("the stream was opened %d times, want 2", len(opened))
		}
		failed := linktest.All[upstream.ListenFailed](r)
		if len(failed) != 2 || failed[0].Final || failed[1].Final {
			t.Errorf("failures %v", failed)
		}
		if len(linktest.All[upstream.Noise](r)) != 1 {
			t.Errorf("noise %v", linktest.All[upstream.Noise](r))
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
		final  bool // otherwise the session is lost
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
			testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				asked := make(chan struct{}, 10)
				var before atomic.Bool
				before.Store(test.before)
				l, r := testOpen(t, Options{URL: serve(testListen(func(w http.ResponseWriter, _ *http.Request) {
					if before.Swap(false) {
						testStream(w, "retry: 1\n\n")
						return
					}
					asked <- struct{}{}
					w.Header().Set("Content-Type", test.kind)
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				}))})
				l.Send(testRequest(1))
				testEnd(r, 1)
				l.Listen()
				if !test.final {
					if lost := linktest.Wait[upstream.SessionLost](r, 1); lost.Ticket != 0 {
						t.Errorf("%#v", lost)
					}
					return
				}
				n := 1
				if test.before { // the end of that stream was reported first
					n = 2
				}
				failed := linktest.Wait[upstream.ListenFailed](r, n)
				status, _ := errors.AsType[*upstream.StatusError](failed.Err)
				if !failed.Final || test.code != 0 && (status == nil || status.Code != test.code) {
					t.Errorf("%#v", failed)
				}
				<-asked
				select {
				case <-asked:
					t.Error("another GET was sent")
				case <-time.After(20 * time.Millisecond):
				}
			})
		})
	}
}

// An event that is too large is skipped, and the stream stays open.
func TestHTTPLinkListenTooLarge(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := testOpen(t, Options{MaxMessageBytes: 1000, URL: serve(testListen(func(w http.ResponseWriter, q *http.Request) {
			testStream(w, "data: "+strings.Repeat("x", 100_000)+"\n\ndata: "+testNote+"\n\n")
			<-q.Context().Done()
		}))})
		l.Listen()
		if n := linktest.Wait[upstream.Noise](r, 1); !errors.Is(n.Err, stream.ErrFrameTooLarge) {
			t.Errorf("%v", n.Err)
		}
		linktest.Wait[upstream.Received](r, 1)
		if failed := linktest.All[upstream.ListenFailed](r); len(failed) != 0 {
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
			if got := listenPause(test.failures, test.retry); got < test.min || got > test.max+time.Nanosecond {
				t.Fatalf("listenPause(%d, %v) = %v, want %v to %v", test.failures, test.retry, got, test.min, test.max)
			}
		}
	}
}

// If the server closes the stream before the response, the response arrives on the resumed stream with the same ticket.
func TestHTTPLinkAnswerResumes(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var resumed []string
		answer := ""
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				resumed = append(resumed, q.Header.Get("Last-Event-Id"))
				if len(resumed) == 1 {
					w.WriteHeader(503)
					return
				}
				testStream(w, "id: c\ndata: "+answer+"\n\n")
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(testResult(body, `{}`))
			default:
				answer = string(testResult(body, `{"late":true}`))
				testStream(w, "retry: 1\nid: a\ndata:\n\nid: b\ndata: "+testNote+"\n\n")
			}
		})})
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		l.Send(testRequest(2))
		got, ok := testEnd(r, 2).(upstream.Received)
		if !ok || !strings.Contains(string(got.Frame.Raw), "late") || fmt.Sprint(resumed) != "[b b]" {
			t.Errorf("resumed at %v, events:\n%s", resumed, linktest.Dump(r.Events()))
		}
		if len(linktest.All[upstream.Received](r)) != 3 || len(linktest.All[upstream.Written](r)) != 2 {
			t.Errorf("events:\n%s", linktest.Dump(r.Events()))
		}
	})
}

// Wherever the stream is cut, the response is reported once. It arrives on the stream or, if that was cut before its
// end, on the resumed stream, which starts after the last complete event. An incomplete event and its id are ignored.
func TestHTTPLinkAnswerCut(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		const first = "retry: 1\nid: e1\ndata:\n\n"
		cut, asked, torn := 0, "", false
		second := func(body []byte) string { return "id: e2\ndata: " + string(testResult(body, `{}`)) + "\n\n" }
		var last []byte
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				if asked = q.Header.Get("Last-Event-Id"); asked == "e1" {
					testStream(w, second(last))
				}
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(testResult(body, `{}`))
			default:
				tear := torn // read now: the test changes it once the client has received the whole answer
				last = body
				testStream(w, (first + second(body))[:cut])
				if tear {
					panic(http.ErrAbortHandler)
				}
			}
		})})
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		whole := len(first + second([]byte(`{"jsonrpc":"2.0","id":100,"method":"x"}`)))
		for n := range 2 * (whole - len(first) + 1) {
			cut, torn, asked = len(first)+n/2, n%2 == 1, "" // torn: the connection is aborted; otherwise the stream ends normally, but may be incomplete
			ticket := uint64(100 + n)
			l.Send(testRequest(ticket))
			if _, ok := testEnd(r, ticket).(upstream.Received); !ok || asked != "e1" && cut < whole || asked != "" && cut == whole {
				t.Errorf("cut after %d of %d bytes: resumed after %q, events:\n%s", cut, whole, asked, linktest.Dump(r.Events()[len(r.Events())-3:]))
			}
		}
		if noise := linktest.All[upstream.Noise](r); len(noise) > 0 {
			t.Errorf("%d incomplete events were reported, the first %q", len(noise), noise[0].Line)
		}
	})
}

// A request whose response cannot be resumed ends with an error. So does a request that is canceled during the pause.
func TestHTTPLinkAnswerNotResumed(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		tries := 0
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "DELETE":
			case q.Method == "GET":
				tries++
				w.WriteHeader(503)
			case bytes.Contains(body, []byte("initialize")):
				w.Header().Set("Mcp-Session-Id", "s-1")
				_, _ = w.Write(testResult(body, `{}`))
			case bytes.Contains(body, []byte(`"id":3,`)):
				testStream(w, "retry: 60000\nid: a\ndata: "+testNote+"\n\n")
			default:
				testStream(w, "retry: 1\nid: a\ndata:\n\n")
			}
		})})
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		l.Send(testRequest(2))
		if end, ok := testEnd(r, 2).(upstream.Ended); !ok || !errors.Is(end.Err, upstream.ErrNoAnswer) || tries != resumeTries {
			t.Errorf("%#v after %d tries", end, tries)
		}
		l.Send(testRequest(3))
		linktest.Wait[upstream.Received](r, 2)
		l.Cancel(3)
		if end, ok := testEnd(r, 3).(upstream.Ended); !ok || !errors.Is(end.Err, context.Canceled) {
			t.Errorf("%#v, want canceled", end)
		}
	})
}
