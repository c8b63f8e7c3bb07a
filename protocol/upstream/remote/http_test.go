package remote

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// testBoth runs a test over plain HTTP (the package's client) and over HTTPS (net/http).
func testBoth(t *testing.T, f func(t *testing.T, serve func(http.HandlerFunc) string)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) {
		f(t, func(h http.HandlerFunc) string {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL + "/mcp"
		})
	})
	t.Run("tls", func(t *testing.T) {
		old := tlsConfig
		tlsConfig = &tls.Config{InsecureSkipVerify: true}
		defer func() { tlsConfig = old }()
		f(t, func(h http.HandlerFunc) string {
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			return server.URL + "/mcp"
		})
	})
}

// testOpen opens a link and closes it after the test.
func testOpen(t *testing.T, o Options) (upstream.Link, *linktest.Recorder) {
	t.Helper()
	r := linktest.New(t)
	l := OpenHTTP(o, r.Sink)
	t.Cleanup(func() {
		l.Close(time.Second)
		linktest.Wait[upstream.Closed](r, 1)
		sent, ended := linktest.Tickets(r.Events())
		for ticket, n := range sent {
			if n != 1 || ended[ticket] > 1 {
				t.Errorf("ticket %d: %d events for sending, %d for the end", ticket, n, ended[ticket])
			}
		}
	})
	return l, r
}

func testRequest(ticket uint64) upstream.Outgoing {
	return upstream.Outgoing{Ticket: ticket, Request: true, Method: "tools/call", RunInline: runAnywhere,
		Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, ticket)}
}

// testResult answers a request.
func testResult(body []byte, result string) []byte {
	var f protocol.Frame
	if err := f.Parse(body); err != nil {
		panic(fmt.Sprintf("server got %q: %v", body, err))
	}
	return protocol.AppendResult(nil, f.ID.Of(f.Raw), []byte(result))
}

func testEnd(r *linktest.Recorder, ticket uint64) upstream.Event {
	r.T.Helper()
	return r.Until(fmt.Sprintf("end of ticket %d", ticket), func(e upstream.Event) bool {
		switch e := e.(type) {
		case upstream.Ended:
			return e.Ticket == ticket
		case upstream.NotSent:
			return e.Ticket == ticket
		case upstream.Received:
			return e.Ticket == ticket && e.Last
		}
		return false
	})
}

func TestHTTPLinkJSON(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(testResult(body, `{"n":12345678901234567890,"s":"<&>"}`))
		})})
		const n = 100
		for i := uint64(1); i <= n; i++ {
			l.Send(testRequest(i))
		}
		for i := uint64(1); i <= n; i++ {
			got, ok := testEnd(r, i).(upstream.Received)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":12345678901234567890,"s":"<&>"}}`, i)
			if !ok || string(got.Frame.Raw) != want {
				t.Fatalf("ticket %d: %#v", i, got)
			}
		}
		if _, ok := r.Events()[0].(upstream.Opened); !ok {
			t.Errorf("first event %#v, want Opened", r.Events()[0])
		}
		if got := len(linktest.All[upstream.Written](r)); got != n {
			t.Errorf("%d Written, want %d", got, n)
		}
	})
}

// Every notification before a response arrives before it, with the same ticket.
func TestHTTPLinkStreams(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		const calls, notes = 4, 500
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, ": hello\n\nid: 1\ndata:\n\n")
			w.(http.Flusher).Flush()
			for i := range notes {
				fmt.Fprintf(w, "event: message\nid: %d\ndata: {\"jsonrpc\":\"2.0\",\ndata:  \"method\":\"notifications/progress\",\"params\":{\"n\":%d}}\n\n", i, i)
			}
			fmt.Fprintf(w, "data: %s\n\n", testResult(body, `{}`))
		})})
		for i := uint64(1); i <= calls; i++ {
			l.Send(testRequest(i))
		}
		for i := uint64(1); i <= calls; i++ {
			testEnd(r, i)
		}
		next := map[uint64]int{}
		for _, e := range linktest.All[upstream.Received](r) {
			if e.Last {
				if next[e.Ticket] != notes || e.Frame.Kind != protocol.KindResult {
					t.Errorf("ticket %d: response after %d notifications: %s", e.Ticket, next[e.Ticket], e.Frame.Raw)
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

// The last notification before a response is not lost, even if both arrive in one packet.
func TestHTTPLinkLastNotification(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: %s\n\n", testResult(body, `{}`))
	}))
	defer server.Close()
	l, r := testOpen(t, Options{URL: server.URL})
	const n = 1000
	for i := uint64(1); i <= n; i++ {
		l.Send(testRequest(i))
		testEnd(r, i)
	}
	if got := len(linktest.All[upstream.Received](r)); got != 2*n {
		t.Errorf("%d frames, want %d", got, 2*n)
	}
}

func TestHTTPLinkHeaders(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var mu sync.Mutex
		seen := map[string]http.Header{}
		var hosts []string
		l, r := testOpen(t, Options{
			URL: serve(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				mu.Lock()
				seen[q.Method+" "+string(body)] = q.Header
				hosts = append(hosts, q.Host)
				mu.Unlock()
				w.Header().Set("Mcp-Session-Id", "s-1")
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(testResult(body, `{}`))
			}),
			Headers: map[string]string{"authorization": "Bearer x", "X-Key": " y ", "Accept": "text/html", "content-length": "1", "User-Agent": "me", "Host": "other.test"},
		})
		send := func(ticket uint64, method, name string) http.Header {
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`, ticket, method)
			l.Send(upstream.Outgoing{Ticket: ticket, Request: true, Method: method, Name: name, Frame: []byte(frame), Headers: []protocol.HeaderField{
				{Name: "Mcp-Param-Region", Value: "us-west1"}, {Name: "Mcp Param", Value: "x"}, {Name: "Mcp-Param-Bad", Value: "a\r\nX: y"}, {Name: "Traceparent", Value: "00-1-2-01"}}})
			testEnd(r, ticket)
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
		check("2025-11-25", send(4, "tools/call", "x"), map[string]string{"Mcp-Session-Id": "s-1", "Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "", "Mcp-Name": "", "Mcp-Param-Region": "", "Traceparent": "00-1-2-01"})
		check("initialize again", send(5, "initialize", ""), map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": ""})
		l.SetVersion("2026-07-28")
		check("2026-07-28", send(6, "tools/call", "grüße"), map[string]string{"Mcp-Session-Id": "", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDvMOfZQ==?=", "Mcp-Param-Region": "us-west1", "Mcp-Param-Bad": ""})
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
		if got := encodeName(in); got != want {
			t.Errorf("encodeName(%q) = %q, want %q", in, got, want)
		}
	}
}
