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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// A response that is too large fails its own request and no other.
func TestHTTPLinkTooLarge(t *testing.T) {
	big := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("y", 300_000) + `"}}`
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		wait := make(chan struct{})
		budget := stream.NewBudget(1 << 30)
		l, r := testOpen(t, Options{MaxMessageBytes: 200_000, Budget: budget, URL: serve(func(w http.ResponseWriter, q *http.Request) {
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
				_, _ = w.Write(testResult(body, `{}`))
			}
		})})
		l.Send(testRequest(4))
		for i := uint64(1); i <= 3; i++ {
			l.Send(testRequest(i))
			if end, ok := testEnd(r, i).(upstream.Ended); !ok || !errors.Is(end.Err, stream.ErrFrameTooLarge) {
				t.Errorf("ticket %d: %#v, want %v", i, end, stream.ErrFrameTooLarge)
			}
		}
		close(wait)
		if _, ok := testEnd(r, 4).(upstream.Received); !ok {
			t.Error("another call failed")
		}
		for range 100 {
			if budget.Used() == 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("budget: %d bytes not released", budget.Used())
	})
}

// Bodies of all sizes are transferred unchanged in both directions.
func TestHTTPLinkSizes(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := testOpen(t, Options{MaxMessageBytes: 16 << 20, URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			var f protocol.Frame
			var p protocol.Params
			if f.Parse(body) != nil || p.Scan(&f) != nil {
				panic("bad request")
			}
			answer := testResult(body, string(f.Params.Of(f.Raw)))
			switch string(p.Name.Of(f.Raw)) {
			case `"chunked"`:
				w.(http.Flusher).Flush()
			case `"sse"`:
				w.Header().Set("Content-Type", "text/event-stream")
				answer = protocol.AppendSSE(nil, "message", "", protocol.Message{Frame: answer})
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
				l.Send(upstream.Outgoing{Ticket: ticket, Request: true, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m","params":%s}`, ticket, params)})
				got, ok := testEnd(r, ticket).(upstream.Received)
				if !ok || string(got.Frame.Result.Of(got.Frame.Raw)) != params {
					t.Fatalf("%d bytes, %s: received other data", size, way)
				}
				if spare := cap(got.Frame.Raw) - len(got.Frame.Raw); spare > len(got.Frame.Raw)/4+64 {
					t.Errorf("%d bytes, %s: the frame occupies %d bytes more", size, way, spare)
				}
			}
		}
	})
}

func TestHTTPLinkCancel(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		gone := make(chan string, 3)
		began := make(chan struct{}, 3)
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
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
			l.Send(testRequest(i))
			<-began
		}
		linktest.Wait[upstream.Received](r, 1)
		for i := uint64(1); i <= 3; i++ {
			l.Cancel(i)
			if end, ok := testEnd(r, i).(upstream.Ended); !ok || !errors.Is(end.Err, context.Canceled) {
				t.Errorf("ticket %d: %#v, want canceled", i, end)
			}
			select {
			case <-gone:
			case <-time.After(2 * time.Minute):
				t.Errorf("ticket %d: the server did not notice", i)
			}
		}
		l.Cancel(2)  // again
		l.Cancel(99) // unknown
	})
}

// The session is deleted once at the end. A server that does not answer the DELETE delays Closed by grace at most.
func TestHTTPLinkClose(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
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
				_, _ = w.Write(testResult(body, `{}`))
			})
			r := linktest.New(t)
			l := OpenHTTP(Options{URL: url}, r.Sink)
			l.Send(testRequest(1))
			testEnd(r, 1)
			l.Send(testRequest(2))
			linktest.Wait[upstream.Written](r, 2)
			began := time.Now()
			l.Close(300 * time.Millisecond)
			l.Send(testRequest(3))
			if c := linktest.Wait[upstream.Closed](r, 1); c.Err != nil {
				t.Errorf("Closed{%v}", c.Err)
			}
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("closed after %v", d)
			}
			if end, ok := testEnd(r, 2).(upstream.Ended); !ok || !errors.Is(end.Err, upstream.ErrClosed) {
				t.Errorf("%#v, want %v", end, upstream.ErrClosed)
			}
			mu.Lock()
			if !slices.Equal(deleted, []string{"s-9"}) {
				t.Errorf("deleted %q", deleted)
			}
			mu.Unlock()
		}
	})
}

// Many links with many calls leak no goroutine.
func TestHTTPLinkLeaks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if q.Method == "GET" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-q.Context().Done()
			return
		}
		_, _ = w.Write(testResult(body, `{}`))
	}))
	before := runtime.NumGoroutine()
	for range 20 {
		r := linktest.New(t)
		l := OpenHTTP(Options{URL: server.URL}, r.Sink)
		l.Listen()
		for i := uint64(1); i <= 50; i++ {
			l.Send(testRequest(i))
		}
		for i := uint64(1); i <= 50; i++ {
			testEnd(r, i)
		}
		l.Close(time.Second)
		linktest.Wait[upstream.Closed](r, 1)
	}
	server.Close()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines leaked", runtime.NumGoroutine()-before)
}

// While the receiver does not accept events, an exchange blocks, and Close ends it.
func TestHTTPLinkBackPressure(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		_, _ = w.Write(testResult(body, `{}`))
	}))
	defer server.Close()
	r := linktest.New(t)
	l := OpenHTTP(Options{URL: server.URL}, func(ctx context.Context, e upstream.Event) error {
		if _, is := e.(upstream.Received); is {
			<-ctx.Done()
			return ctx.Err()
		}
		return r.Sink(ctx, e)
	})
	l.Send(testRequest(1))
	linktest.Wait[upstream.Written](r, 1)
	l.Close(0)
	linktest.Wait[upstream.Closed](r, 1)
}

// An HTML error page is not read to its end. The error reports the status.
func TestHTTPLinkErrorPage(t *testing.T) {
	page := "<html>" + strings.Repeat("x", 500_000)
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		l, r := testOpen(t, Options{MaxMessageBytes: 100_000, URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "text/html")
			if bytes.Contains(body, []byte(`"id":1,`)) {
				w.Header().Set("Content-Length", fmt.Sprint(len(page)))
			}
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, page)
		})})
		for i := uint64(1); i <= 2; i++ {
			l.Send(testRequest(i))
			end, _ := testEnd(r, i).(upstream.Ended)
			status, ok := errors.AsType[*upstream.StatusError](end.Err)
			if !ok || status.Code != 502 || len(status.Body) == 0 || len(status.Body) > 1024 {
				t.Errorf("%v, want status 502", end.Err)
			}
		}
	})
}

// A notification sent right before Close, such as a cancellation, arrives before the session is deleted. A server that
// does not accept it delays Closed by grace at most.
func TestHTTPLinkLastWords(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		for _, hangs := range []bool{false, true} {
			got, called := make(chan string, 10), make(chan struct{})
			l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				switch {
				case q.Method == "DELETE":
					got <- "deleted"
				case bytes.Contains(body, []byte("initialize")):
					w.Header().Set("Mcp-Session-Id", "s")
					_, _ = w.Write(testResult(body, `{}`))
				case bytes.Contains(body, []byte("cancelled")):
					if hangs {
						<-q.Context().Done()
						return
					}
					got <- "cancelled"
					w.WriteHeader(http.StatusAccepted)
				default:
					close(called)
					<-q.Context().Done()
				}
			})})
			l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
			testEnd(r, 1)
			l.Send(testRequest(2))
			<-called
			l.Send(upstream.Outgoing{Ticket: 3, Method: "notifications/cancelled", Frame: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)})
			began, grace := time.Now(), 5*time.Second
			if hangs {
				grace = 300 * time.Millisecond
			}
			l.Close(grace)
			linktest.Wait[upstream.Closed](r, 1)
			if took := time.Since(began); hangs && took > 30*time.Second {
				t.Errorf("closed after %v", took)
			}
			if !hangs && <-got != "cancelled" {
				t.Error("the session was deleted before the notification arrived")
			}
			if last := <-got; last != "deleted" {
				t.Errorf("last request %s", last)
			}
		}
	})
}
