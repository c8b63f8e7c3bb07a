package remote

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// Attack 96: a value that is sent on to a server ends its header and begins another.
func TestAttack96CRLFForwarded(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		for name, o := range map[string]Options{
			"header": {Headers: map[string]string{"X-Token": "a\r\nX-Evil: 1"}},
			"login":  {Credentials: renewing("a\r\nX-Evil: 1")},
			"bare":   {Headers: map[string]string{"X-Token": "a\nX-Evil: 1"}},
		} {
			var mu sync.Mutex
			evil := ""
			o.URL = serve(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				evil += r.Header.Get("X-Evil")
				w.WriteHeader(http.StatusAccepted)
			})
			r := linktest.New(t)
			l := OpenHTTP(o, r.Sink)
			l.Send(testRequest(1))
			testSettled(r, l)
			mu.Lock()
			if evil != "" {
				t.Errorf("%s: the server got a header of the attacker's", name)
			}
			mu.Unlock()
		}
	})
}

// testSettled waits until a link is over, whatever became of its request.
func testSettled(r *linktest.Recorder, l interface{ Close(time.Duration) }) {
	time.AfterFunc(200*time.Millisecond, func() { l.Close(0) })
	r.Until("the end", isClosed)
}

func isClosed(e upstream.Event) bool {
	_, is := e.(upstream.Closed)
	return is
}
