package relay

import (
	"crypto/tls"
	"io"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
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
