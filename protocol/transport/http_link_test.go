package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// httpLinkTestBoth runs a test over plain http, our own client, and over https, net/http.
func httpLinkTestBoth(t *testing.T, f func(t *testing.T, serve func(http.HandlerFunc) string)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) {
		f(t, func(h http.HandlerFunc) string {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL + "/mcp"
		})
	})
	t.Run("tls", func(t *testing.T) {
		old := httpLinkTLS
		httpLinkTLS = &tls.Config{InsecureSkipVerify: true}
		defer func() { httpLinkTLS = old }()
		f(t, func(h http.HandlerFunc) string {
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			return server.URL + "/mcp"
		})
	})
}

// httpLinkTestOpen opens a link that is closed when the test is over.
func httpLinkTestOpen(t *testing.T, o HTTPOptions) (Link, *linkRecorder) {
	t.Helper()
	r := newLinkRecorder(t)
	l := OpenHTTP(o, r.sink)
	t.Cleanup(func() {
		l.Close(time.Second)
		linkWait[Closed](r, 1)
		sent, ended := linkTickets(r.all())
		for ticket, n := range sent {
			if n != 1 || ended[ticket] > 1 {
				t.Errorf("ticket %d: sent told %d times, end %d times", ticket, n, ended[ticket])
			}
		}
	})
	return l, r
}

func httpLinkTestRequest(ticket uint64) Outgoing {
	return Outgoing{Ticket: ticket, Request: true, Method: "tools/call",
		Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, ticket)}
}

// httpLinkTestResult answers the request it got.
func httpLinkTestResult(body []byte, result string) []byte {
	var f protocol.Frame
	if err := f.Parse(body); err != nil {
		panic(fmt.Sprintf("server got %q: %v", body, err))
	}
	return protocol.AppendResult(nil, f.ID.Of(f.Raw), []byte(result))
}

func httpLinkTestEnd(r *linkRecorder, ticket uint64) Event {
	r.t.Helper()
	return r.wait(fmt.Sprintf("end of ticket %d", ticket), func(e Event) bool {
		switch e := e.(type) {
		case Ended:
			return e.Ticket == ticket
		case NotSent:
			return e.Ticket == ticket
		case Received:
			return e.Ticket == ticket && e.Last
		}
		return false
	})
}

func TestHTTPLinkJSON(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(httpLinkTestResult(body, `{"n":12345678901234567890,"s":"<&>"}`))
		})})
		const n = 100
		for i := uint64(1); i <= n; i++ {
			l.Send(httpLinkTestRequest(i))
		}
		for i := uint64(1); i <= n; i++ {
			got, ok := httpLinkTestEnd(r, i).(Received)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":12345678901234567890,"s":"<&>"}}`, i)
			if !ok || string(got.Frame.Raw) != want {
				t.Fatalf("ticket %d: %#v", i, got)
			}
		}
		if _, ok := r.all()[0].(Opened); !ok {
			t.Errorf("first event %#v, want Opened", r.all()[0])
		}
		if got := len(linkAll[Written](r)); got != n {
			t.Errorf("%d Written, want %d", got, n)
		}
	})
}

// Every notification before an answer arrives, before it, and on its own ticket.
func TestHTTPLinkStreams(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		const calls, notes = 4, 500
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, ": hello\n\nid: 1\ndata:\n\n")
			w.(http.Flusher).Flush()
			for i := range notes {
				fmt.Fprintf(w, "event: message\nid: %d\ndata: {\"jsonrpc\":\"2.0\",\ndata:  \"method\":\"notifications/progress\",\"params\":{\"n\":%d}}\n\n", i, i)
			}
			fmt.Fprintf(w, "data: %s\n\n", httpLinkTestResult(body, `{}`))
		})})
		for i := uint64(1); i <= calls; i++ {
			l.Send(httpLinkTestRequest(i))
		}
		for i := uint64(1); i <= calls; i++ {
			httpLinkTestEnd(r, i)
		}
		next := map[uint64]int{}
		for _, e := range linkAll[Received](r) {
			if e.Last {
				if next[e.Ticket] != notes || e.Frame.Kind != protocol.KindResult {
					t.Errorf("ticket %d: answer after %d notifications: %s", e.Ticket, next[e.Ticket], e.Frame.Raw)
				}
				continue
			}
			if want := fmt.Sprintf(`"n":%d}`, next[e.Ticket]); !strings.Contains(string(e.Frame.Raw), want) || !e.Frame.Newline {
				t.Fatalf("ticket %d: got %s, want %s", e.Ticket, e.Frame.Raw, want)
			}
			next[e.Ticket]++
		}
	})
}

// The last notification before an answer is never lost (lessons: in up to 97 % of calls it was).
func TestHTTPLinkLastNotification(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: %s\n\n", httpLinkTestResult(body, `{}`))
	}))
	defer server.Close()
	l, r := httpLinkTestOpen(t, HTTPOptions{URL: server.URL})
	const n = 1000
	for i := uint64(1); i <= n; i++ {
		l.Send(httpLinkTestRequest(i))
		httpLinkTestEnd(r, i)
	}
	if got := len(linkAll[Received](r)); got != 2*n {
		t.Errorf("%d frames, want %d", got, 2*n)
	}
}

func TestHTTPLinkHeaders(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var mu sync.Mutex
		seen := map[string]http.Header{}
		var hosts []string
		l, r := httpLinkTestOpen(t, HTTPOptions{
			URL: serve(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				mu.Lock()
				seen[q.Method+" "+string(body)] = q.Header
				hosts = append(hosts, q.Host)
				mu.Unlock()
				w.Header().Set("Mcp-Session-Id", "s-1")
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			}),
			Headers: map[string]string{"authorization": "Bearer x", "X-Key": " y ", "Accept": "text/html", "content-length": "1", "User-Agent": "me", "Host": "other.test"},
		})
		send := func(ticket uint64, method, name string) http.Header {
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`, ticket, method)
			l.Send(Outgoing{Ticket: ticket, Request: true, Method: method, Name: name, Frame: []byte(frame)})
			httpLinkTestEnd(r, ticket)
			mu.Lock()
			defer mu.Unlock()
			return seen["POST "+frame]
		}
		check := func(when string, h http.Header, want map[string]string) {
			t.Helper()
			for name, value := range want {
				if got := strings.Join(h.Values(name), "|"); got != value {
					t.Errorf("%s: %s = %q, want %q", when, name, got, value)
				}
			}
		}
		check("initialize", send(1, "initialize", ""), map[string]string{"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
			"Mcp-Session-Id": "", "Mcp-Protocol-Version": "", "Authorization": "Bearer x", "X-Key": "y", "User-Agent": "me", "Mcp-Method": "", "Accept-Encoding": ""})
		check("before the version is known", send(2, "tools/list", ""), map[string]string{"Mcp-Session-Id": "s-1", "Mcp-Protocol-Version": ""})
		l.SetVersion("2025-03-26")
		check("2025-03-26", send(3, "tools/list", ""), map[string]string{"Mcp-Session-Id": "s-1", "Mcp-Protocol-Version": ""})
		l.SetVersion("2025-11-25")
		check("2025-11-25", send(4, "tools/call", "x"), map[string]string{"Mcp-Session-Id": "s-1", "Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "", "Mcp-Name": ""})
		check("initialize again", send(5, "initialize", ""), map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": ""})
		l.SetVersion("2026-07-28")
		check("2026-07-28", send(6, "tools/call", "grüße"), map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDvMOfZQ==?="})
		check("no name", send(7, "tools/list", ""), map[string]string{"Mcp-Method": "tools/list", "Mcp-Name": ""})
		for _, host := range hosts {
			if host != "other.test" {
				t.Errorf("Host = %q", host)
			}
		}
		l.SetVersion("2025-11-25")
	})
}

func TestHTTPLinkEncode(t *testing.T) {
	for in, want := range map[string]string{
		"us-west1": "us-west1", "a b": "a b", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?x": "=?base64?x",
	} {
		if got := httpLinkEncode(in); got != want {
			t.Errorf("httpLinkEncode(%q) = %q, want %q", in, got, want)
		}
	}
}

// What the server says beats the status, unless it says nothing or that it does not know us.
func TestHTTPLinkStatus(t *testing.T) {
	const rpc, null = `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no session tool"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`
	const html = "text/html"
	for _, test := range []struct {
		name      string
		noSession bool
		notice    bool // send a notification
		status    int
		kind      string // Content-Type; "" = application/json
		body      string
		retry     string
		received  bool
		lost      bool
		code      int // of a StatusError; 0 = none
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
		{name: "400 about the session", status: 400, body: null, lost: true},
		{name: "400 text about the session", status: 400, kind: html, body: "Invalid SESSION id", lost: true},
		{name: "404 text without session", noSession: true, status: 404, kind: html, body: "not found", code: 404},
		{name: "400 about the session we never had", noSession: true, status: 400, kind: html, body: "no session", code: 400},
		{name: "400 text", status: 400, kind: "text/plain", body: "JSON RPC not handled", code: 400},
		{name: "503 with json of its own", status: 503, body: `{"error":"busy"}`, retry: "7", code: 503, after: 7 * time.Second},
		{name: "429 with an error without id", status: 429, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"slow"}}`, retry: "1", code: 429, after: time.Second},
		{name: "401", status: 401, body: null, code: 401},
		{name: "500 without body", status: 500, code: 500},
		{name: "200 garbage", status: 200, body: "OK", err: errLinkNotJSON},
		{name: "200 html", status: 200, kind: html, body: "<html>", err: errLinkNotJSON},
		{name: "200 empty", status: 200, err: ErrNoAnswer},
		{name: "202 to a request", status: 202, err: ErrNoAnswer},
		{name: "notification", notice: true, status: 202},
		{name: "notification, 200", notice: true, status: 200, body: "{}"},
		{name: "notification, 204", notice: true, status: 204},
		{name: "notification refused", notice: true, status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}`, code: 400},
		{name: "notification, session lost", notice: true, status: 404, lost: true},
		{name: "json in disguise of a stream", status: 200, kind: "text/event-stream", body: rpc, received: true},
		{name: "stream in disguise of json", status: 200, body: "event: message\ndata: " + rpc + "\n\n", received: true},
		{name: "stream without the last empty line", status: 200, kind: "text/event-stream", body: "data: " + rpc, received: true},
		{name: "stream without an answer", status: 200, kind: "text/event-stream", body: ": nothing\n\n", err: ErrNoAnswer},
		{name: "batch", status: 200, body: `[{"jsonrpc":"2.0","method":"a"},` + rpc + `]`, received: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
					body, _ := io.ReadAll(q.Body)
					w.Header().Set("Content-Type", "application/json")
					if bytes.Contains(body, []byte("initialize")) {
						if !test.noSession {
							w.Header().Set("Mcp-Session-Id", "s")
						}
						_, _ = w.Write(httpLinkTestResult(body, `{}`))
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
				l.Send(Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
				httpLinkTestEnd(r, 1)
				l.Send(Outgoing{Ticket: 2, Request: !test.notice, Method: "x", Frame: []byte(`{"jsonrpc":"2.0","id":2,"method":"x"}`)})
				end := httpLinkTestEnd(r, 2)
				if got := len(linkAll[SessionLost](r)) == 1; got != test.lost {
					t.Fatalf("session lost %v, want %v; told:\n%s", got, test.lost, linkDump(r.all()))
				}
				if _, is := end.(Received); is != test.received {
					t.Fatalf("told:\n%s", linkDump(r.all()))
				}
				if test.received {
					return
				}
				err := end.(Ended).Err
				want := test.err
				if test.lost {
					want = ErrSessionLost
				}
				if test.code == 0 {
					if !errors.Is(err, want) || want == nil && err != nil {
						t.Errorf("Ended{%v}, want %v", err, want)
					}
					return
				}
				status, ok := errors.AsType[*StatusError](err)
				if !ok || status.Code != test.code || status.RetryAfter != test.after || string(status.Body) != test.body {
					t.Errorf("Ended{%v}, want status %d", err, test.code)
				}
			})
		})
	}
}

// After a loss the next initialize begins another session.
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
		_, _ = w.Write(httpLinkTestResult(body, `{}`))
	}))
	defer server.Close()
	l, r := httpLinkTestOpen(t, HTTPOptions{URL: server.URL})
	initialize := func(ticket uint64) {
		l.Send(Outgoing{Ticket: ticket, Request: true, Method: "initialize", Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize"}`, ticket)})
		httpLinkTestEnd(r, ticket)
	}
	initialize(1)
	sessions.Add(1) // the server restarts
	for i := uint64(2); i < 10; i++ {
		l.Send(httpLinkTestRequest(i))
	}
	for i := uint64(2); i < 10; i++ {
		if _, ok := httpLinkTestEnd(r, i).(Ended); !ok {
			t.Fatalf("ticket %d was answered", i)
		}
	}
	if len(linkAll[SessionLost](r)) == 0 {
		t.Fatal("no SessionLost")
	}
	initialize(10)
	l.Send(httpLinkTestRequest(11))
	if _, ok := httpLinkTestEnd(r, 11).(Received); !ok {
		t.Errorf("told:\n%s", linkDump(r.all()))
	}
}

// An answer too large costs its own ticket and nobody else.
func TestHTTPLinkTooLarge(t *testing.T) {
	big := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("y", 300_000) + `"}}`
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		wait := make(chan struct{})
		budget := NewBudget(1 << 30)
		l, r := httpLinkTestOpen(t, HTTPOptions{MaxMessageBytes: 200_000, Budget: budget, URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case bytes.Contains(body, []byte(`"id":1,`)): // with a length
				w.Header().Set("Content-Length", fmt.Sprint(len(big)))
				_, _ = io.WriteString(w, big)
			case bytes.Contains(body, []byte(`"id":2,`)): // in chunks
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, big)
			case bytes.Contains(body, []byte(`"id":3,`)): // as an event
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\n", big)
			default:
				<-wait
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			}
		})})
		l.Send(httpLinkTestRequest(4))
		for i := uint64(1); i <= 3; i++ {
			l.Send(httpLinkTestRequest(i))
			if end, ok := httpLinkTestEnd(r, i).(Ended); !ok || !errors.Is(end.Err, ErrFrameTooLarge) {
				t.Errorf("ticket %d: %#v, want %v", i, end, ErrFrameTooLarge)
			}
		}
		close(wait)
		if _, ok := httpLinkTestEnd(r, 4).(Received); !ok {
			t.Error("another call suffered")
		}
		for range 100 {
			if budget.Used() == 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("budget: %d bytes not given back", budget.Used())
	})
}

// Bodies of all sizes arrive byte for byte, both ways.
func TestHTTPLinkSizes(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := httpLinkTestOpen(t, HTTPOptions{MaxMessageBytes: 16 << 20, URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			var f protocol.Frame
			var p protocol.Params
			if f.Parse(body) != nil || p.Scan(&f) != nil {
				panic("bad request")
			}
			answer := httpLinkTestResult(body, string(f.Params.Of(f.Raw)))
			switch string(p.Name.Of(f.Raw)) {
			case `"chunked"`:
				w.(http.Flusher).Flush()
			case `"sse"`:
				w.Header().Set("Content-Type", "text/event-stream")
				answer = protocol.AppendSSE(nil, "message", "", answer, false)
			default:
				w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			}
			_, _ = w.Write(answer)
		})})
		ticket := uint64(0)
		for _, size := range []int{0, 1, 1000, 4000, 4096, 16_300, 65_400, 65_536, 70_000, 300_000, 2 << 20, 5 << 20} {
			for _, way := range []string{"length", "chunked", "sse"} {
				ticket++
				params := `{"name":"` + way + `","x":"` + strings.Repeat("ab", size/2) + `"}`
				l.Send(Outgoing{Ticket: ticket, Request: true, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m","params":%s}`, ticket, params)})
				got, ok := httpLinkTestEnd(r, ticket).(Received)
				if !ok || string(got.Frame.Result.Of(got.Frame.Raw)) != params {
					t.Fatalf("%d bytes, %s: not what was sent", size, way)
				}
				if spare := cap(got.Frame.Raw) - len(got.Frame.Raw); spare > len(got.Frame.Raw)/4+64 {
					t.Errorf("%d bytes, %s: the frame keeps %d bytes more", size, way, spare)
				}
			}
		}
	})
}

func TestHTTPLinkCancel(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		gone := make(chan string, 3)
		began := make(chan struct{}, 3)
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case bytes.Contains(body, []byte(`"id":2,`)): // in the middle of a stream
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
				w.(http.Flusher).Flush()
			case bytes.Contains(body, []byte(`"id":3,`)): // in the middle of a body
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, `{"jsonrpc"`)
				w.(http.Flusher).Flush()
			}
			began <- struct{}{}
			<-q.Context().Done()
			gone <- string(body)
		})})
		for i := uint64(1); i <= 3; i++ {
			l.Send(httpLinkTestRequest(i))
			<-began
		}
		linkWait[Received](r, 1)
		for i := uint64(1); i <= 3; i++ {
			l.Cancel(i)
			if end, ok := httpLinkTestEnd(r, i).(Ended); !ok || !errors.Is(end.Err, context.Canceled) {
				t.Errorf("ticket %d: %#v, want canceled", i, end)
			}
			select {
			case <-gone:
			case <-time.After(5 * time.Second):
				t.Errorf("ticket %d: the server did not notice", i)
			}
		}
		l.Cancel(2)  // again
		l.Cancel(99) // never was
	})
}

func TestHTTPLinkUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	for _, scheme := range []string{"http", "https"} {
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: scheme + "://" + addr})
		l.Send(httpLinkTestRequest(1))
		if end, ok := httpLinkTestEnd(r, 1).(NotSent); !ok || !strings.Contains(end.Err.Error(), "refused") {
			t.Errorf("%s: %#v, want NotSent", scheme, end)
		}
	}
}

func TestHTTPLinkRedirect(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var elsewhere atomic.Int32
		other := serve(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
		var asked atomic.Int32
		l, r := httpLinkTestOpen(t, HTTPOptions{URL: serve(func(w http.ResponseWriter, q *http.Request) {
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
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			}
		}), Headers: map[string]string{"Authorization": "secret"}})
		for i := uint64(1); i <= 3; i++ {
			l.Send(httpLinkTestRequest(i))
			if _, ok := httpLinkTestEnd(r, i).(Received); !ok {
				t.Fatalf("told:\n%s", linkDump(r.all()))
			}
		}
		if asked.Load() != 1 {
			t.Errorf("the old path was asked %d times, want once", asked.Load())
		}
		for _, i := range []uint64{8, 9} {
			l.Send(httpLinkTestRequest(i))
			end, _ := httpLinkTestEnd(r, i).(Ended)
			if status, ok := errors.AsType[*StatusError](end.Err); !ok || status.Code/100 != 3 {
				t.Errorf("%#v, want a status 3xx", end)
			}
		}
		if elsewhere.Load() != 0 {
			t.Error("went to another origin")
		}
	})
}

// A frame handed over is not in the link's hands any more once its ticket has ended.
func TestHTTPLinkOverBudget(t *testing.T) {
	budget := NewBudget(100)
	l, r := httpLinkTestOpen(t, HTTPOptions{URL: "http://127.0.0.1:1", Budget: budget})
	l.Send(Outgoing{Ticket: 1, Request: true, Frame: make([]byte, 101)})
	if end, ok := httpLinkTestEnd(r, 1).(NotSent); !ok || !errors.Is(end.Err, ErrOverBudget) {
		t.Errorf("%#v, want %v", end, ErrOverBudget)
	}
}

func TestHTTPLinkBadOptions(t *testing.T) {
	for _, test := range []struct {
		o    HTTPOptions
		want string
	}{
		{HTTPOptions{URL: "ftp://host/"}, "scheme"},
		{HTTPOptions{URL: "http:///x"}, "no host"},
		{HTTPOptions{URL: "http://u:hunter2@ho st/"}, "cannot be parsed"},
		{HTTPOptions{URL: "http://host/", Headers: map[string]string{"X-Key": "hunter2\r\nEvil: 1"}}, `"X-Key"`},
		{HTTPOptions{URL: "http://host/", Headers: map[string]string{"X Key": "hunter2"}}, `"X Key"`},
	} {
		r := newLinkRecorder(t)
		l := OpenHTTP(test.o, r.sink)
		c := linkWait[Closed](r, 1)
		if c.Err == nil || !strings.Contains(c.Err.Error(), test.want) || strings.Contains(c.Err.Error(), "hunter2") {
			t.Errorf("%v, want %q and no secret", c.Err, test.want)
		}
		l.Send(httpLinkTestRequest(1))
		l.Cancel(1)
		l.Listen()
		l.SetVersion("2025-11-25")
		l.Close(0)
	}
}

// A login in the URL is sent as such and shown nowhere.
func TestHTTPLinkUserinfo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, password, _ := q.BasicAuth(); user != "u" || password != "hunter2" {
			t.Errorf("login %q %q", user, password)
		}
		w.WriteHeader(202)
	}))
	defer server.Close()
	l, r := httpLinkTestOpen(t, HTTPOptions{URL: strings.Replace(server.URL, "//", "//u:hunter2@", 1)})
	l.Send(Outgoing{Ticket: 1, Frame: []byte(`{}`)})
	httpLinkTestEnd(r, 1)
}

// The session is deleted at the end, once, and a server that does not answer that costs no more than the grace.
func TestHTTPLinkClose(t *testing.T) {
	httpLinkTestBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		for _, hangs := range []bool{false, true} {
			var deleted []string
			var mu sync.Mutex
			url := serve(func(w http.ResponseWriter, q *http.Request) {
				if q.Method == "DELETE" {
					mu.Lock()
					deleted = append(deleted, q.Header.Get("Mcp-Session-Id"))
					mu.Unlock()
					if hangs {
						<-q.Context().Done()
					}
					return
				}
				body, _ := io.ReadAll(q.Body)
				if bytes.Contains(body, []byte(`"id":2,`)) {
					<-q.Context().Done()
					return
				}
				w.Header().Set("Mcp-Session-Id", "s-9")
				_, _ = w.Write(httpLinkTestResult(body, `{}`))
			})
			r := newLinkRecorder(t)
			l := OpenHTTP(HTTPOptions{URL: url}, r.sink)
			l.Send(httpLinkTestRequest(1))
			httpLinkTestEnd(r, 1)
			l.Send(httpLinkTestRequest(2))
			linkWait[Written](r, 2)
			began := time.Now()
			l.Close(300 * time.Millisecond)
			l.Send(httpLinkTestRequest(3))
			if c := linkWait[Closed](r, 1); c.Err != nil {
				t.Errorf("Closed{%v}", c.Err)
			}
			if d := time.Since(began); d > 2*time.Second {
				t.Errorf("closed after %v", d)
			}
			if end, ok := httpLinkTestEnd(r, 2).(Ended); !ok || !errors.Is(end.Err, ErrLinkClosed) {
				t.Errorf("%#v, want %v", end, ErrLinkClosed)
			}
			mu.Lock()
			if !slices.Equal(deleted, []string{"s-9"}) {
				t.Errorf("deleted %q", deleted)
			}
			mu.Unlock()
		}
	})
}

// Many links with many calls leave no goroutine behind.
func TestHTTPLinkLeaks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if q.Method == "GET" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-q.Context().Done()
			return
		}
		_, _ = w.Write(httpLinkTestResult(body, `{}`))
	}))
	before := runtime.NumGoroutine()
	for range 20 {
		r := newLinkRecorder(t)
		l := OpenHTTP(HTTPOptions{URL: server.URL}, r.sink)
		l.Listen()
		for i := uint64(1); i <= 50; i++ {
			l.Send(httpLinkTestRequest(i))
		}
		for i := uint64(1); i <= 50; i++ {
			httpLinkTestEnd(r, i)
		}
		l.Close(time.Second)
		linkWait[Closed](r, 1)
	}
	server.Close()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines more than before", runtime.NumGoroutine()-before)
}

// While the receiver has no room an exchange waits, and Close ends it all the same.
func TestHTTPLinkBackPressure(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		_, _ = w.Write(httpLinkTestResult(body, `{}`))
	}))
	defer server.Close()
	r := newLinkRecorder(t)
	l := OpenHTTP(HTTPOptions{URL: server.URL}, func(ctx context.Context, e Event) error {
		if _, is := e.(Received); is {
			<-ctx.Done()
			return ctx.Err()
		}
		return r.sink(ctx, e)
	})
	l.Send(httpLinkTestRequest(1))
	linkWait[Written](r, 1)
	l.Close(0)
	linkWait[Closed](r, 1)
}

func TestHTTPLinkRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "x": 0, "99999999": 24 * time.Hour, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := httpLinkRetryAfter(value, now); got != want {
			t.Errorf("httpLinkRetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}
