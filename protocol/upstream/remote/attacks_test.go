package remote

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// Attack 96: a configured header or a token that contains a line break and another header does not add that header to
// requests.
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
				t.Errorf("%s: the server received the attacker's header", name)
			}
			mu.Unlock()
		}
	})
}

// Attack 98: a small compressed response decodes to 64 MiB. Wherever it is read, reading stops soon after the limit,
// with an error that names the limit.
func TestAttack98GzipBomb(t *testing.T) {
	const limit, most = 1 << 20, 64 << 20
	filler := func(before, after string, with byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, before)
		part := bytes.Repeat([]byte{with}, limit)
		for range most / limit {
			_, _ = z.Write(part)
		}
		_, _ = io.WriteString(z, after)
		_ = z.Close()
		return b.Bytes()
	}
	document := filler(`{"jsonrpc":"2.0","id":1,"result":{"x":"`, `"}}`, 'x')
	for name, bomb := range map[string]struct {
		status int
		kind   string
		body   []byte
		want   string
	}{
		"document":        {200, "application/json", document, "message too large: more than 1048576 bytes"},
		"blanks":          {200, "application/json", filler("", "{}", ' '), "message too large: more than 1048576 bytes"},
		"error document":  {400, "application/json", document, "message too large: more than 1048576 bytes"},
		"event":           {200, "text/event-stream", filler("data: ", "\n\n", 'x'), "the limit for a message is 1048576"},
		"comment":         {200, "text/event-stream", filler(": ", "\n\n", 'x'), "the limit for a message is 1048576"},
		"empty lines":     {200, "text/event-stream", filler("", "\n", '\n'), "the limit for a message is 1048576"},
		"page of a proxy": {502, "text/html", filler("<html>", "", 'x'), "HTTP 502"},
	} {
		t.Run(name, func(t *testing.T) {
			budget := stream.NewBudget(4 * limit)
			l, r := testOpen(t, Options{MaxMessageBytes: limit, Budget: budget, URL: testPlain(t, func(w http.ResponseWriter, q *http.Request) {
				_, _ = io.Copy(io.Discard, q.Body)
				w.Header().Set("Content-Type", bomb.kind)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(bomb.status)
				_, _ = w.Write(bomb.body)
			})})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			l.Send(testRequest(1))
			if e, ok := testEnd(r, 1).(upstream.Ended); !ok || !strings.Contains(fmt.Sprint(e.Err), bomb.want) {
				t.Errorf("the call ended with %v, want %q", e.Err, bomb.want)
			}
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16*limit { // measured: 1.3 MiB
				t.Errorf("%d MiB were allocated", grown>>20)
			}
			if used := budget.Used(); used != 0 {
				t.Errorf("budget: %d bytes not released", used)
			}
		})
	}
}

// testSettled waits until a link is closed.
func testSettled(r *linktest.Recorder, l interface{ Close(time.Duration) }) {
	time.AfterFunc(200*time.Millisecond, func() { l.Close(0) })
	r.Until("the end", isClosed)
}

func isClosed(e upstream.Event) bool {
	_, is := e.(upstream.Closed)
	return is
}
