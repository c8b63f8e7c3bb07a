package remote

import (
	"net"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// runAnywhere runs every job in a new goroutine, so that tests of exchanges also cover inline exchanges.
func runAnywhere(job upstream.Job) bool {
	go job.Do()
	return true
}

// sendInline sends a request on the calling goroutine. It returns how long the goroutine was blocked, or -1 if the
// exchange did not run inline.
func sendInline(l upstream.Link, ticket uint64) (blocked time.Duration) {
	o := testRequest(ticket)
	var job upstream.Job
	o.RunInline = func(j upstream.Job) bool { job = j; return true }
	l.Send(o)
	if job == nil {
		return -1
	}
	began := time.Now()
	job.Do()
	return time.Since(began)
}

const inlineSlack = 4 * time.Second // tolerance for a busy machine

// If a response arrives immediately, its exchange runs inline to the end. If it arrives later, the calling goroutine
// is released and another one reports the response, wherever the response is split.
func TestHTTPInlineExchange(t *testing.T) {
	const late = inlineWait + inlineSlack + time.Second
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
			inline, again := inlineExchange(t, late, test.parts)
			for range 50 { // on a busy machine, an immediate response may be late
				if !test.soon || inline && again {
					break
				}
				inline, again = inlineExchange(t, late, test.parts)
			}
			if inline != test.soon || again != test.soon {
				t.Errorf("reported inline: %v, the next exchange ran inline: %v; want %v", inline, again, test.soon)
			}
		})
	}
}

// inlineExchange sends a request inline. inline reports whether its response was reported on the calling goroutine,
// and again whether a later exchange also ran inline.
func inlineExchange(t *testing.T, late time.Duration, cut func(answer string) []string) (inline, again bool) {
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
	sendInline(l, 1) // no connection yet
	testAnswered(t, r, 1)
	l.(*httpLink).inlinePause = 0
	if blocked := sendInline(l, 2); blocked < 0 || blocked > inlineWait+inlineSlack {
		t.Errorf("blocked for %v", blocked)
	}
	_, ended := linktest.Tickets(r.Events())
	testAnswered(t, r, 2)
	o := testRequest(3) // on the same connection, without a deadline
	o.RunInline = nil
	l.Send(o)
	testAnswered(t, r, 3)
	blocked := sendInline(l, 4)
	testAnswered(t, r, 4)
	return ended[2] == 1, blocked >= 0
}

func testAnswered(t *testing.T, r *linktest.Recorder, ticket uint64) {
	t.Helper()
	if got, ok := testEnd(r, ticket).(upstream.Received); !ok || got.Frame.ID.Of(got.Frame.Raw) == nil {
		t.Fatalf("ticket %d: %#v", ticket, got)
	}
}

// The read deadline of an inline exchange does not end a later exchange that takes longer.
func TestHTTPInlineDeadlineIsRemoved(t *testing.T) {
	l, r := testOpen(t, Options{URL: serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		if n == 3 {
			time.Sleep(5 * inlineWait)
		}
		_, _ = conn.Write([]byte(rawAnswer(body)))
		return true
	})})
	for ticket := range uint64(3) {
		o := testRequest(ticket + 1)
		if o.RunInline = nil; ticket == 1 {
			o.RunInline = runAnywhere
		}
		l.Send(o)
		testAnswered(t, r, ticket+1)
		time.Sleep(2 * inlineWait) // so that the connection is checked before it is reused
	}
}

// Cancel releases the goroutine that waits for the response.
func TestHTTPInlineCancel(t *testing.T) {
	l, r := testOpen(t, Options{URL: serveRaw(t, func(conn net.Conn, body []byte, n int) bool {
		if n == 2 {
			l := make([]byte, 1)
			_, _ = conn.Read(l) // until it is closed
			return false
		}
		_, _ = conn.Write([]byte(rawAnswer(body)))
		return true
	})})
	sendInline(l, 1)
	testAnswered(t, r, 1)
	l.(*httpLink).inlinePause = 0
	go func() {
		r.Until("the second is written", func(e upstream.Event) bool { w, ok := e.(upstream.Written); return ok && w.Ticket == 2 })
		l.Cancel(2)
	}()
	sendInline(l, 2)
	if _, ok := testEnd(r, 2).(upstream.Ended); !ok {
		t.Error("not ended")
	}
}
