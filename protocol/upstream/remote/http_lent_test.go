package remote

import (
	"net"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// lendAny runs every job in a new goroutine, so that the tests of exchanges also cover lent goroutines.
func lendAny(job upstream.Job) bool {
	go job.Do()
	return true
}

// sendLent sends a request on the calling goroutine and returns how long the goroutine was blocked.
func sendLent(l upstream.Link, ticket uint64) (kept time.Duration) {
	o := testRequest(ticket)
	var job upstream.Job
	o.Lend = func(j upstream.Job) bool { job = j; return true }
	l.Send(o)
	if job == nil {
		return -1
	}
	began := time.Now()
	job.Do()
	return time.Since(began)
}

const lentSlack = 4 * time.Second // tolerance for a busy machine

// A response that arrives immediately is reported on the lent goroutine. A later one is reported elsewhere, and the lent goroutine is
// released.
// This holds wherever the response is split.
func TestHTTPLentExchange(t *testing.T) {
	const late = lentFor + lentSlack + time.Second
	for _, test := range []struct {
		name  string
		parts func(answer string) []string // all but the first arrive late
		soon  bool
	}{
		{"at once", func(a string) []string { return []string{a} }, true},
		{"nothing", func(a string) []string { return []string{"", a} }, false},
		{"half a head", func(a string) []string { return []string{a[:30], a[30:]} }, false},
		{"the head", func(a string) []string {
			head, body, _ := strings.Cut(a, "\r\n\r\n")
			return []string{head + "\r\n\r\n", body}
		}, false},
		{"half a body", func(a string) []string { return []string{a[:len(a)-5], a[len(a)-5:]} }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told, again := lentExchange(t, late, test.parts)
			for range 50 { // on a busy machine, an immediate response may be late
				if !test.soon || told && again {
					break
				}
				told, again = lentExchange(t, late, test.parts)
			}
			if told != test.soon || again != test.soon {
				t.Errorf("reported on the lent goroutine: %v, lent again: %v; want %v", told, again, test.soon)
			}
		})
	}
}

// lentExchange sends a request on the goroutine of the test. told means that its response was reported there. again means that a
// later request is lent the goroutine, too.
func lentExchange(t *testing.T, late time.Duration, cut func(answer string) []string) (told, again bool) {
	t.Helper()
	l, r := testOpen(t, Options{URL: serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		parts := []string{rawAnswer(body)}
		if n == 2 {
			parts = cut(parts[0])
		}
		for i, part := range parts {
			if i > 0 {
				time.Sleep(late)
			}
			_, _ = conn.Write([]byte(part))
		}
		return true
	})})
	sendLent(l, 1) // no connection yet
	testAnswered(t, r, 1)
	l.(*httpLink).unlent = 0
	if kept := sendLent(l, 2); kept < 0 || kept > lentFor+lentSlack {
		t.Errorf("blocked for %v", kept)
	}
	_, ended := linktest.Tickets(r.Events())
	testAnswered(t, r, 2)
	o := testRequest(3) // on the same connection, without a deadline
	o.Lend = nil
	l.Send(o)
	testAnswered(t, r, 3)
	kept := sendLent(l, 4)
	testAnswered(t, r, 4)
	return ended[2] == 1, kept >= 0
}

func testAnswered(t *testing.T, r *linktest.Recorder, ticket uint64) {
	t.Helper()
	if got, ok := testEnd(r, ticket).(upstream.Received); !ok || got.Frame.ID.Of(got.Frame.Raw) == nil {
		t.Fatalf("ticket %d: %#v", ticket, got)
	}
}

// The deadline of a lent goroutine does not end a later exchange that takes longer.
func TestHTTPLentDeadlineIsNotLeft(t *testing.T) {
	l, r := testOpen(t, Options{URL: serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		if n == 3 {
			time.Sleep(5 * lentFor)
		}
		_, _ = conn.Write([]byte(rawAnswer(body)))
		return true
	})})
	for ticket := range uint64(3) {
		o := testRequest(ticket + 1)
		if o.Lend = nil; ticket == 1 {
			o.Lend = lendAny
		}
		l.Send(o)
		testAnswered(t, r, ticket+1)
		time.Sleep(2 * lentFor) // so that the connection is checked before it is reused
	}
}

// Cancel releases the goroutine that waits for the response.
func TestHTTPLentCancel(t *testing.T) {
	l, r := testOpen(t, Options{URL: serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		if n == 2 {
			l := make([]byte, 1)
			_, _ = conn.Read(l) // until it is closed
			return false
		}
		_, _ = conn.Write([]byte(rawAnswer(body)))
		return true
	})})
	sendLent(l, 1)
	testAnswered(t, r, 1)
	l.(*httpLink).unlent = 0
	go func() {
		r.Until("the second is written", func(e upstream.Event) bool { w, ok := e.(upstream.Written); return ok && w.Ticket == 2 })
		l.Cancel(2)
	}()
	sendLent(l, 2)
	if _, ok := testEnd(r, 2).(upstream.Ended); !ok {
		t.Error("not ended")
	}
}
