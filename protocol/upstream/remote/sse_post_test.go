package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// The response to a POST ends a notification, with an error unless the status is a success. It ends a request only if
// the server refuses the request.
func TestSSELinkPost(t *testing.T) {
	const ended, nothing = "Ended", ""
	for _, test := range []struct {
		name            string
		status          int
		body            string
		request, notice string // events of the ticket: Ended <error>, Last <frame> or nothing
		received        string // events with ticket 0 if it is a request
	}{
		{"202", 202, "", nothing, ended + " <nil>", ""},
		{"202 with a word", 202, "Accepted", nothing, ended + " <nil>", ""},
		{"200 with a page", 200, strings.Repeat("<p>", 3000), nothing, ended + " <nil>", ""},
		{"200 with other json", 200, `{"ok":true}`, nothing, ended + " <nil>", ""},
		{"200 with the answer", 200, `{"jsonrpc":"2.0","id":1,"result":{}}`, nothing, ended + " <nil>", `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"200 with the answer behind a byte order mark", 200, "\ufeff" + `{"jsonrpc":"2.0","id":1,"result":{}}`, nothing, ended + " <nil>", `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"200 with half an answer", 200, `{"jsonrpc":"2.0","id":1,"resu`, nothing, ended + " <nil>", ""},
		{"200 with a refusal", 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`,
			`Last {"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`, ended + " <nil>", ""},
		{"204", 204, "", nothing, ended + " <nil>", ""},
		{"400 with the answer", 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`,
			`Last {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, ended + " HTTP 400 (Bad Request)", ""},
		{"400 with a refusal", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"Invalid session ID"}}`,
			ended + " HTTP 400 (Bad Request)", ended + " HTTP 400 (Bad Request)", ""},
		{"404 with a page", 404, strings.Repeat("<p>", 3000), ended + " HTTP 404 (Not Found)", ended + " HTTP 404 (Not Found)", ""},
		{"500", 500, "", ended + " HTTP 500 (Internal Server Error)", ended + " HTTP 500 (Internal Server Error)", ""},
		{"redirect without end", 307, "", ended + " HTTP 307 (Temporary Redirect)", ended + " HTTP 307 (Temporary Redirect)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				s := &sseTest{post: func(w http.ResponseWriter, _ *http.Request, _ []byte, _ func(string)) {
					if test.status == 307 {
						w.Header().Set("Location", "/message?session=1")
					}
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				}}
				l, r := sseTestOpen(t, Options{URL: serve(s.ServeHTTP)})
				check := func(ticket uint64, want string) {
					t.Helper()
					got := sseTestTold(r, ticket)
					if !strings.HasPrefix(got, want) || want == "" && got != "" {
						t.Errorf("ticket %d: events %q, want %q", ticket, got, want)
					}
				}
				l.Send(testRequest(1))
				l.Send(upstream.Outgoing{Ticket: 2, Frame: []byte(sseTestNote)})
				testEnd(r, 2)
				linktest.Wait[upstream.Written](r, 2)
				r.Until("the request's end, or what comes instead", func(e upstream.Event) bool {
					got, is := e.(upstream.Received)
					return sseTestTold(r, 1) != "" || test.request == "" && (test.received == "" || is && got.Ticket == 0)
				})
				check(1, test.request)
				check(2, test.notice)
				if got := linktest.All[upstream.Received](r); test.received != "" && (len(got) == 0 || string(got[0].Frame.Raw) != test.received) {
					t.Errorf("received %v, want %s", got, test.received)
				}
				l.Send(upstream.Outgoing{Ticket: 3, Frame: []byte(sseTestNote)}) // the link still works
				testEnd(r, 3)
			})
		})
	}
}

// sseTestTold describes the first event that ends a ticket; "" if there is none.
func sseTestTold(r *linktest.Recorder, ticket uint64) string {
	for _, e := range r.Events() {
		switch e := e.(type) {
		case upstream.Ended:
			if e.Ticket == ticket {
				return fmt.Sprint("Ended ", e.Err)
			}
		case upstream.Received:
			if e.Ticket == ticket {
				return fmt.Sprintf("Last %s", e.Frame.Raw)
			}
		}
	}
	return ""
}

// The end of the stream closes the link. Running requests end with its error, and later ones are dropped.
func TestSSELinkStreamEnds(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		began := make(chan struct{}, 1)
		s := &sseTest{end: make(chan struct{}), post: func(_ http.ResponseWriter, q *http.Request, _ []byte, _ func(string)) {
			began <- struct{}{}
			<-q.Context().Done()
		}}
		r := linktest.New(t)
		l := OpenSSE(Options{URL: serve(s.ServeHTTP)}, r.Sink)
		l.Send(testRequest(1))
		<-began
		linktest.Wait[upstream.Written](r, 1)
		s.end <- struct{}{}
		if c := linktest.Wait[upstream.Closed](r, 1); !errors.Is(c.Err, errStreamEnded) {
			t.Errorf("Closed{%v}", c.Err)
		}
		if end, is := testEnd(r, 1).(upstream.Ended); !is || !errors.Is(end.Err, errStreamEnded) {
			t.Errorf("%#v", end)
		}
		l.Send(testRequest(2)) // dropped
		l.Close(time.Second)
	})
}

// Cancel ends a POST that waits for the endpoint and one that runs, but not one that was accepted.
func TestSSELinkCancel(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		hold, arrived, gone := make(chan struct{}), make(chan struct{}, 1), make(chan struct{}, 1)
		s := &sseTest{post: func(w http.ResponseWriter, q *http.Request, body []byte, _ func(string)) {
			if bytes.Contains(body, []byte(`"id":2,`)) {
				arrived <- struct{}{}
				<-q.Context().Done()
				gone <- struct{}{}
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}}
		l, r := sseTestOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == "GET" {
				<-hold
			}
			s.ServeHTTP(w, q)
		})})
		for i := uint64(1); i <= 3; i++ {
			l.Send(testRequest(i))
		}
		l.Cancel(1)
		if end, is := testEnd(r, 1).(upstream.NotSent); !is || !errors.Is(end.Err, errSSECanceled) {
			t.Errorf("%#v", end)
		}
		close(hold)
		linktest.Wait[upstream.Written](r, 2)
		<-arrived // over HTTP/2, a cancellation can overtake the body
		l.Cancel(2)
		if end, is := testEnd(r, 2).(upstream.Ended); !is || !errors.Is(end.Err, context.Canceled) {
			t.Errorf("%#v", end)
		}
		<-gone
		l.Cancel(3)
		l.Cancel(99)
	})
}

// If a server answers on the stream and leaves the POST open, the POST is closed soon, without an error.
func TestSSELinkUnendedPost(t *testing.T) {
	gone := make(chan struct{})
	s := &sseTest{post: func(_ http.ResponseWriter, q *http.Request, body []byte, say func(string)) {
		say(string(testResult(body, `{}`)))
		<-q.Context().Done()
		close(gone)
	}}
	l, r := sseTestOpen(t, Options{URL: testPlain(t, s.ServeHTTP)})
	l.Send(testRequest(1))
	linktest.Wait[upstream.Received](r, 1)
	<-gone
	l.Close(time.Second)
	linktest.Wait[upstream.Closed](r, 1)
	if ends := linktest.All[upstream.Ended](r); len(ends) != 0 {
		t.Errorf("events %v", ends)
	}
}

// An event over the limit affects nothing else, an invalid one is noise, and a second endpoint changes nothing.
func TestSSELinkHostileStream(t *testing.T) {
	s := &sseTest{post: func(w http.ResponseWriter, _ *http.Request, body []byte, say func(string)) {
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		say(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 300_000) + `"}`)
		say("garbage")
		say("\n\nevent: endpoint\ndata: /elsewhere")
		say(`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`)
		say(string(testResult(body, `{}`)))
	}}
	l, r := sseTestOpen(t, Options{URL: testPlain(t, s.ServeHTTP), MaxMessageBytes: 200_000})
	for i := range 2 {
		l.Send(testRequest(uint64(i + 1)))
		linktest.Wait[upstream.Received](r, 3*i+3)
		noise := linktest.All[upstream.Noise](r)
		if len(noise) != 2*i+2 || !errors.Is(noise[2*i].Err, stream.ErrFrameTooLarge) || string(noise[2*i+1].Line) != "garbage" {
			t.Fatalf("noise %v", noise)
		}
	}
}

// A request of a later era is refused without being sent to the server. Listen finds the stream open.
func TestSSELinkLegacyOnly(t *testing.T) {
	s := &sseTest{post: func(_ http.ResponseWriter, _ *http.Request, body []byte, _ func(string)) {
		t.Errorf("the server received %s", body)
	}}
	l, r := sseTestOpen(t, Options{URL: testPlain(t, s.ServeHTTP)})
	l.Listen()
	linktest.Wait[upstream.Listening](r, 1)
	l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "server/discover", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)})
	end, _ := testEnd(r, 1).(upstream.Ended)
	if status, is := errors.AsType[*upstream.StatusError](end.Err); !is || status.Code != 405 {
		t.Errorf("%#v", end)
	}
	l.Listen()
	linktest.Wait[upstream.Listening](r, 2)
}

func TestSSELinkOverBudget(t *testing.T) {
	s := &sseTest{post: func(http.ResponseWriter, *http.Request, []byte, func(string)) {}}
	l, r := sseTestOpen(t, Options{URL: testPlain(t, s.ServeHTTP), Budget: stream.NewBudget(10)})
	l.Send(testRequest(1))
	if end, is := testEnd(r, 1).(upstream.NotSent); !is || !errors.Is(end.Err, stream.ErrOverBudget) {
		t.Errorf("%#v", end)
	}
}

// While the receiver does not accept events, the stream blocks, and Close ends it.
func TestSSELinkBackPressure(t *testing.T) {
	s := &sseTest{}
	closed := make(chan upstream.Event, 1)
	opened, full := make(chan struct{}), make(chan struct{})
	l := OpenSSE(Options{URL: testPlain(t, s.ServeHTTP)}, func(ctx context.Context, e upstream.Event) error {
		switch e.(type) {
		case upstream.Opened:
			close(opened)
		case upstream.Closed:
			closed <- e
		case upstream.Received:
			close(full)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	<-opened
	s.say(testNote)
	<-full
	l.Close(0)
	if e := (<-closed).(upstream.Closed); e.Err != nil {
		t.Errorf("Closed{%v}", e.Err)
	}
}

// Idle connections are swept until none is left.
func TestSSELinkSweep(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc((&sseTest{post: func(http.ResponseWriter, *http.Request, []byte, func(string)) {}}).ServeHTTP))
	defer server.Close()
	r := linktest.New(t)
	l := openSSE(Options{URL: server.URL}, endpointWait, r.Sink)
	l.Send(upstream.Outgoing{Ticket: 1, Frame: []byte(sseTestNote)})
	testEnd(r, 1)
	pool := &l.transport.(*plainTransport).pool
	idle := func() int {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return len(pool.idle)
	}
	for limit := time.Now().Add(2 * time.Minute); idle() == 0 && time.Now().Before(limit); {
		runtime.Gosched()
	}
	l.sweepIdle()
	if idle() != 1 || l.sweep == nil {
		t.Errorf("%d idle connections, sweep again: %v", idle(), l.sweep != nil)
	}
	pool.mu.Lock()
	pool.idle[0].since = time.Now().Add(-trustedFor)
	pool.mu.Unlock()
	l.sweepIdle()
	if idle() != 0 || l.sweep != nil {
		t.Errorf("%d idle connections, sweep again: %v", idle(), l.sweep != nil)
	}
	l.Close(time.Second)
	linktest.Wait[upstream.Closed](r, 1)
	l.sweepIdle()
}

// Links that are opened and closed at any time leak no goroutine.
func TestSSELinkLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("links", func(t *testing.T) {
		s := &sseTest{post: func(w http.ResponseWriter, _ *http.Request, _ []byte, _ func(string)) { w.WriteHeader(202) }}
		url := testPlain(t, s.ServeHTTP)
		for i := range 20 {
			r := linktest.New(t)
			l := OpenSSE(Options{URL: url}, r.Sink)
			for n := range uint64(20) {
				l.Send(upstream.Outgoing{Ticket: n + 1, Frame: []byte(sseTestNote)})
			}
			if i%2 == 0 {
				linktest.Wait[upstream.Ended](r, 20)
			}
			l.Close(time.Second)
			if c := linktest.Wait[upstream.Closed](r, 1); c.Err != nil {
				t.Errorf("Closed{%v}", c.Err)
			}
			if sent, _ := linktest.Tickets(r.Events()); len(sent) != 20 {
				t.Errorf("events of %d tickets, want 20", len(sent))
			}
		}
	})
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines leaked", runtime.NumGoroutine()-before)
}
