package relay

import (
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol/downstream"
)

// deciding passes everything on to home. What home does not execute is served here.
type deciding struct{ relay *Relay }

func (h deciding) Post(x *downstream.Exchange) {
	h.relay.Post(homeIncarnation, x, cluster.RetryOf(0, func() { message.RefuseFault(x, 200, overloaded) }))
}

func (h deciding) Open(s *downstream.EventStream) {
	h.relay.Open(homeIncarnation, s, cluster.RetryOf(0, func() { s.Refuse(405, nil, 0) }))
}

func (h deciding) Delete(x *downstream.Exchange) {
	h.relay.Delete(homeIncarnation, x, cluster.RetryOf(0, x.Accept))
}

// The target of a request is decided again if the other node has not executed the request, or if a GET or DELETE was lost. It is not
// decided again for a POST that may have been executed.
func TestRetry(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	w.first = w.serve(downstream.NewServer(deciding{w.relay}, downstream.Options{}, w.relay.o.Log))
	respond := func(response string) string {
		return w.fakeHome(func(c *tls.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, response)
		})
	}
	again := "200 OVERLOADED+, 405, 204"
	for name, c := range map[string]struct {
		address, want string
		known         bool
	}{
		"gone":                       {"", again, false},
		"refuses connections":        {"127.0.0.1:1", again, true},
		"serves another incarnation": {respond("HTTP/1.1 421 Misdirected Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), again, true},
		"dies":                       {respond(""), "200 NODE_LOST, 405, 204", true},
		"does not know the session":  {respond("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), "404, 404, 404", true},
	} {
		w.mu.Lock()
		w.target, w.known = Target{Node: "home", Address: c.address}, c.known
		w.mu.Unlock()
		var got []string
		for _, request := range []string{post(call("tools/call")), get, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s\r\n\r\n"} {
			got = append(got, w.summary(request))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); w.relay.Stats().Requests+w.relay.Stats().Streams > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", w.relay.Stats())
		}
	}
}

// The waits between attempts are together longer than the nodes need to give up a silent one. The number of attempts is limited.
func TestRetriesEnd(t *testing.T) {
	total, attempts := time.Duration(0), 0
	for r := cluster.RetryOf(0, func() {}); r.Do != nil; r = cluster.RetryOf(attempts, func() {}) {
		total += r.After
		attempts++
	}
	if attempts != cluster.MaxAttempts || total < 2*cluster.SilentAfter || total > 5*time.Second {
		t.Errorf("%d attempts in %v", attempts, total)
	}
}

// A request whose client leaves during the wait between two attempts ends at once, and is not decided again.
func TestClientLeavesDuringTheWait(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	decided := make(chan struct{}, 1)
	long := cluster.Retry{After: time.Hour, Do: func() { decided <- struct{}{} }}
	waits := handlerFunc{post: func(x *downstream.Exchange) { w.relay.Post("unknown", x, long) }}
	w.first = w.serve(downstream.NewServer(waits, downstream.Options{}, w.relay.o.Log))
	c := dial(t, w.first).send(post(call("tools/call")))
	w.await("the request waits", func(s Stats) bool { return s.Requests == 1 })
	c.Close()
	w.await("the request has ended", func(s Stats) bool { return s.Requests == 0 })
	if len(decided) > 0 {
		t.Error("the target was decided again, although the client has left")
	}
}

// A request that waits between two attempts is decided again at once when its node is given up.
func TestNodeIsGivenUpDuringTheWait(t *testing.T) {
	w := newRig(t, handlerFunc{}, nil)
	waits := handlerFunc{post: func(x *downstream.Exchange) {
		w.relay.Post("unknown", x, cluster.Retry{After: time.Hour, Do: func() { message.RefuseFault(x, 503, overloaded) }})
	}}
	w.first = w.serve(downstream.NewServer(waits, downstream.Options{}, w.relay.o.Log))
	c := dial(t, w.first).send(post(call("tools/call")))
	w.await("the request waits", func(s Stats) bool { return s.Requests == 1 })
	w.await("the request has ended", func(s Stats) bool { w.relay.Lost("unknown"); return s.Requests == 0 })
	if head, _, _ := c.read(); !strings.HasPrefix(head, "HTTP/1.1 503") {
		t.Errorf("%q, want the response of the second decision", head)
	}
}

// await waits until the relay's numbers satisfy the condition.
func (w *rig) await(what string, condition func(Stats) bool) {
	w.t.Helper()
	gatetest.WaitFor(w.t, what, func() (bool, string) {
		s := w.relay.Stats()
		return condition(s), fmt.Sprintf("%+v", s)
	})
}
