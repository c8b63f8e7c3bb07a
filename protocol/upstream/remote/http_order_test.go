package remote

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
)

// A call after logging/setLevel is sent once the server has answered logging/setLevel, or after orderFor if it does
// not answer. A call that is canceled before then is not sent.
func TestCallsWaitForTheLevel(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		var mu sync.Mutex
		var seen []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, what)
		}
		first, second := make(chan struct{}), make(chan struct{})
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(string(body), setLevel) {
				answer := first
				if strings.Contains(string(body), `"id":4`) {
					answer = second
				}
				<-answer
				note("level")
			} else {
				note("call")
			}
			_, _ = w.Write(testResult(body, `{}`))
		})})
		send := func(ticket uint64, method string) {
			o := testRequest(ticket)
			o.Method, o.Frame = method, []byte(strings.Replace(string(o.Frame), `"method":"`, `"method":"`+method+`/`, 1))
			l.Send(o)
		}
		send(1, setLevel)
		send(2, "tools/call")
		send(3, "tools/call")
		l.Cancel(3)
		if e, ok := testEnd(r, 3).(upstream.NotSent); !ok || e.Err != context.Canceled {
			t.Errorf("call that was canceled while it waited: %#v", e)
		}
		close(first)
		testEnd(r, 2)
		mu.Lock()
		if want := []string{"level", "call"}; !slices.Equal(seen, want) {
			t.Errorf("the server received %q, want %q", seen, want)
		}
		mu.Unlock()

		send(4, setLevel)
		began := time.Now()
		send(5, "tools/call")
		if testEnd(r, 5); time.Since(began) < orderFor {
			t.Errorf("the call waited %v for an unanswered logging/setLevel, want %v", time.Since(began), orderFor)
		}
		close(second)
		testEnd(r, 4)
	})
}
