package remote

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// A JSON-RPC message in the response to a request takes precedence over the status, unless it refuses the HTTP
// request: it is an error that means an unknown session, or an error without an id and with status 401, 429 or 503.
func TestHTTPLinkStatus(t *testing.T) {
	const rpc, null = `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no session tool"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`
	const html, bom = "text/html", "\ufeff"
	for _, test := range []struct {
		name      string
		noSession bool
		notice    bool   // send a notification
		method    string // "" = x
		status    int
		kind      string // Content-Type; "" = application/json
		body      string
		retry     string
		received  bool
		lost      bool
		code      int // code of a StatusError; 0 = none
		after     time.Duration
		err       error // other than nil and StatusError
	}{
		{name: "404 that is an answer", status: 404, body: rpc, received: true},
		{name: "400 that is an answer and mentions a session", status: 400, body: rpc, received: true},
		{name: "500 that is an answer", status: 500, body: rpc, received: true},
		{name: "wrong id", status: 200, body: `{"jsonrpc":"2.0","id":77,"result":{}}`, received: true},
		{name: "error without id", status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`, received: true},
		{name: "404 text", status: 404, kind: html, body: "not found", lost: true},
		{name: "404 empty", status: 404, lost: true},
		{name: "404 without id", status: 404, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, lost: true},
		{name: "404 with id about the session", status: 404, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Session not found"}}`, lost: true},
		{name: "404 with id about the session, explained", status: 404, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Session not found: it has ended or never existed; send initialize to begin a new one"}}`, lost: true},
		{name: "404 with id about a session of the tool", status: 404, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Session not foundable"}}`, received: true},
		{name: "400 about the session", status: 400, body: null, lost: true},
		{name: "400 text about the session", status: 400, kind: html, body: "Invalid SESSION id", lost: true},
		{name: "404 with id about some session", status: 404, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no session of that name"}}`, received: true},
		{name: "404 with id about a session that is a parameter", status: 404, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Session not found"}}`, received: true},
		{name: "400 with id about a session", status: 400, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Session not found"}}`, received: true},
		{name: "400 with an unknown id", status: 400, body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`, lost: true},
		{name: "400 of a server that has restarted", status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`, lost: true},
		{name: "400 with the session's id behind it", status: 400, kind: "text/plain", body: "Session not found: s\n", lost: true},
		{name: "401 about the session", status: 401, kind: "text/plain", body: "Unauthorized: Session not found", lost: true},
		{name: "400 that repeats the method", method: "sessions/list", status: 400, kind: "text/plain", body: `JSON RPC not handled: "sessions/list" unsupported`, code: 400},
		{name: "400 that repeats a method of these words", method: "Session not found", status: 400, kind: "text/plain", body: "Session not found", code: 400},
		{name: "400 about something with a session", status: 400, kind: "text/plain", body: "this session is read-only", code: 400},
		{name: "400 without id about something with a session", status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the session has no such cursor"}}`, received: true},
		{name: "404 text without session", noSession: true, status: 404, kind: html, body: "not found", code: 404},
		{name: "400 about the session we never had", noSession: true, status: 400, kind: html, body: "no session", code: 400},
		{name: "400 text", status: 400, kind: "text/plain", body: "JSON RPC not handled", code: 400},
		{name: "503 with json of its own", status: 503, body: `{"error":"busy"}`, retry: "7", code: 503, after: 7 * time.Second},
		{name: "429 with an error without id", status: 429, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"slow"}}`, retry: "1", code: 429, after: time.Second},
		{name: "401", status: 401, body: null, code: 401},
		{name: "500 without body", status: 500, code: 500},
		{name: "200 garbage", status: 200, body: "OK", err: upstream.ErrNotJSON},
		{name: "200 html", status: 200, kind: html, body: "<html>", err: upstream.ErrNotJSON},
		{name: "200 empty", status: 200, err: upstream.ErrNoAnswer},
		{name: "202 to a request", status: 202, err: upstream.ErrNoAnswer},
		{name: "notification", notice: true, status: 202},
		{name: "notification, 200", notice: true, status: 200, body: "{}"},
		{name: "notification, 204", notice: true, status: 204},
		{name: "notification refused", notice: true, status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}`, code: 400},
		{name: "notification, session lost", notice: true, status: 404, lost: true},
		{name: "json with the type of a stream", status: 200, kind: "text/event-stream", body: rpc, received: true},
		{name: "stream with the type of json", status: 200, body: "event: message\ndata: " + rpc + "\n\n", received: true},
		{name: "stream without the last empty line", status: 200, kind: "text/event-stream", body: "data: " + rpc + "\n", err: upstream.ErrNoAnswer},
		{name: "stream without an answer", status: 200, kind: "text/event-stream", body: ": nothing\n\n", err: upstream.ErrNoAnswer},
		{name: "byte order mark before json", status: 200, body: bom + rpc, received: true},
		{name: "byte order mark and space before json", status: 200, body: "\n" + bom + " " + rpc, received: true},
		{name: "byte order mark before a refusal", status: 404, body: bom + `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, lost: true},
		{name: "byte order mark before words", status: 400, kind: "text/plain", body: bom + "Invalid session id", lost: true},
		{name: "byte order mark before an event's data", status: 200, kind: "text/event-stream", body: ": hello\n\ndata: " + bom + rpc + "\n\n", received: true},
		{name: "byte order mark before a batch in an event", status: 200, kind: "text/event-stream", body: "data: " + bom + "[" + rpc + "]\n\n", received: true},
		{name: "byte order mark and nothing else", status: 200, body: bom, err: upstream.ErrNoAnswer},
		{name: "batch", status: 200, body: `[{"jsonrpc":"2.0","method":"a"},` + rpc + `]`, received: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
					body, _ := io.ReadAll(q.Body)
					w.Header().Set("Content-Type", "application/json")
					if bytes.Contains(body, []byte("initialize")) {
						if !test.noSession {
							w.Header().Set("Mcp-Session-Id", "s")
						}
						_, _ = w.Write(testResult(body, `{}`))
						return
					}
					if test.kind != "" {
						w.Header().Set("Content-Type", test.kind)
					}
					if test.retry != "" {
						w.Header().Set("Retry-After", test.retry)
					}
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				})})
				l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
				testEnd(r, 1)
				method := cmp.Or(test.method, "x")
				l.Send(upstream.Outgoing{Ticket: 2, Request: !test.notice, Method: method, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"method":%q}`, method)})
				end := testEnd(r, 2)
				if got := len(linktest.All[upstream.SessionLost](r)) == 1; got != test.lost {
					t.Fatalf("session lost %v, want %v; events:\n%s", got, test.lost, linktest.Dump(r.Events()))
				}
				if _, is := end.(upstream.Received); is != test.received {
					t.Fatalf("events:\n%s", linktest.Dump(r.Events()))
				}
				if test.received {
					return
				}
				err := end.(upstream.Ended).Err
				want := test.err
				if test.lost {
					want = upstream.ErrSessionLost
				}
				if test.code == 0 {
					if !errors.Is(err, want) || want == nil && err != nil {
						t.Errorf("Ended{%v}, want %v", err, want)
					}
					return
				}
				status, ok := errors.AsType[*upstream.StatusError](err)
				if !ok || status.Code != test.code || status.RetryAfter != test.after || string(status.Body) != test.body {
					t.Errorf("Ended{%v}, want status %d", err, test.code)
				}
			})
		})
	}
}

// After a session is lost, the next initialize starts another.
func TestHTTPLinkSessionAgain(t *testing.T) {
	var sessions atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		current := fmt.Sprintf("s-%d", sessions.Load())
		switch {
		case bytes.Contains(body, []byte("initialize")):
			w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s-%d", sessions.Add(1)))
		case q.Header.Get("Mcp-Session-Id") != current:
			http.Error(w, "who?", 404)
			return
		}
		_, _ = w.Write(testResult(body, `{}`))
	}))
	defer server.Close()
	l, r := testOpen(t, Options{URL: server.URL})
	initialize := func(ticket uint64) {
		l.Send(upstream.Outgoing{Ticket: ticket, Request: true, Method: "initialize", Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize"}`, ticket)})
		testEnd(r, ticket)
	}
	initialize(1)
	sessions.Add(1) // the server restarts
	for i := uint64(2); i < 10; i++ {
		l.Send(testRequest(i))
	}
	for i := uint64(2); i < 10; i++ {
		if _, ok := testEnd(r, i).(upstream.Ended); !ok {
			t.Fatalf("ticket %d was answered", i)
		}
	}
	if len(linktest.All[upstream.SessionLost](r)) == 0 {
		t.Fatal("no SessionLost")
	}
	initialize(10)
	l.Send(testRequest(11))
	if _, ok := testEnd(r, 11).(upstream.Received); !ok {
		t.Errorf("events:\n%s", linktest.Dump(r.Events()))
	}
}

func TestHTTPLinkUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	for _, scheme := range []string{"http", "https"} {
		l, r := testOpen(t, Options{URL: scheme + "://" + addr})
		l.Send(testRequest(1))
		if end, ok := testEnd(r, 1).(upstream.NotSent); !ok || !strings.Contains(end.Err.Error(), "refused") {
			t.Errorf("%s: %#v, want NotSent", scheme, end)
		}
	}
}

func TestHTTPLinkRedirect(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var elsewhere atomic.Int32
		other := serve(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
		var asked atomic.Int32
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case bytes.Contains(body, []byte(`"id":9,`)):
				w.Header().Set("Location", other)
				w.WriteHeader(307)
			case bytes.Contains(body, []byte(`"id":8,`)):
				w.Header().Set("Location", q.URL.Path)
				w.WriteHeader(308)
			case q.URL.Path == "/mcp":
				asked.Add(1)
				w.Header().Set("Location", "/mcp/?a=1")
				w.WriteHeader(307)
			default:
				if q.URL.RawQuery != "a=1" || q.Method != "POST" {
					t.Errorf("%s %s", q.Method, q.URL)
				}
				_, _ = w.Write(testResult(body, `{}`))
			}
		}), Headers: map[string]string{"Authorization": "secret"}})
		for i := uint64(1); i <= 3; i++ {
			l.Send(testRequest(i))
			if _, ok := testEnd(r, i).(upstream.Received); !ok {
				t.Fatalf("events:\n%s", linktest.Dump(r.Events()))
			}
		}
		if asked.Load() != 1 {
			t.Errorf("%d requests to the old path, want 1", asked.Load())
		}
		for _, i := range []uint64{8, 9} {
			l.Send(testRequest(i))
			end, _ := testEnd(r, i).(upstream.Ended)
			if status, ok := errors.AsType[*upstream.StatusError](end.Err); !ok || status.Code/100 != 3 {
				t.Errorf("%#v, want a status 3xx", end)
			}
		}
		if elsewhere.Load() != 0 {
			t.Error("a request was sent to another origin")
		}
	})
}

// A frame that exceeds the budget is refused.
func TestHTTPLinkOverBudget(t *testing.T) {
	budget := stream.NewBudget(100)
	l, r := testOpen(t, Options{URL: "http://127.0.0.1:1", Budget: budget})
	l.Send(upstream.Outgoing{Ticket: 1, Request: true, Frame: make([]byte, 101)})
	if end, ok := testEnd(r, 1).(upstream.NotSent); !ok || !errors.Is(end.Err, stream.ErrOverBudget) {
		t.Errorf("%#v, want %v", end, stream.ErrOverBudget)
	}
}

func TestHTTPLinkBadOptions(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{URL: "ftp://host/"}, "scheme"},
		{Options{URL: "http:///x"}, "no host"},
		{Options{URL: "http://u:hunter2@ho st/"}, "cannot be parsed"},
		{Options{URL: "http://host/", Headers: map[string]string{"X-Key": "hunter2\r\nEvil: 1"}}, `"X-Key"`},
		{Options{URL: "http://host/", Headers: map[string]string{"X Key": "hunter2"}}, `"X Key"`},
	} {
		r := linktest.New(t)
		l := OpenHTTP(test.o, r.Sink)
		c := linktest.Wait[upstream.Closed](r, 1)
		if c.Err == nil || !strings.Contains(c.Err.Error(), test.want) || strings.Contains(c.Err.Error(), "hunter2") {
			t.Errorf("%v, want %q and no secret", c.Err, test.want)
		}
		l.Send(testRequest(1))
		l.Cancel(1)
		l.Listen()
		l.SetVersion("2025-11-25")
		l.Close(0)
	}
}

// Credentials in the URL are sent as Basic authentication.
func TestHTTPLinkUserinfo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, password, _ := q.BasicAuth(); user != "u" || password != "hunter2" {
			t.Errorf("login %q %q", user, password)
		}
		w.WriteHeader(202)
	}))
	defer server.Close()
	l, r := testOpen(t, Options{URL: strings.Replace(server.URL, "//", "//u:hunter2@", 1)})
	l.Send(upstream.Outgoing{Ticket: 1, Frame: []byte(`{}`)})
	testEnd(r, 1)
}

func TestHTTPLinkRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "x": 0, "99999999": 24 * time.Hour, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}
