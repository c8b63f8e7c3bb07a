package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// The HTTP statuses that mean that the server did not execute the request, and those of them after which a retry may help.
var (
	notExecuted = []int{400, 401, 402, 403, 404, 405, 406, 407, 410, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 451, 501, 505, 511, 521, 522, 523, 525, 526, 530}
	retryable   = []int{421, 425, 429, 521, 522, 523, 525, 530}
)

// wantFault returns what a caller must receive for a tool call that the server answered with the status.
func wantFault(status int, retryAfter time.Duration) (name protocol.FaultName, again bool, text string) {
	switch {
	case status == 401:
		name = protocol.NeedsLogin
	case status == 413:
		name = protocol.MessageTooLarge
	case status == 429:
		name = protocol.RateLimited
	case status == 503 && retryAfter > 0, slices.Contains(retryable, status):
		name = protocol.ServerUnavailable
	case slices.Contains(notExecuted, status) && retryAfter > 0: // the server requests a retry
		name = protocol.ServerUnavailable
	case slices.Contains(notExecuted, status):
		name = protocol.InternalFault
	default:
		return protocol.BackendDisconnected, false, "it is unknown whether the call was executed"
	}
	return name, retryAfter > 0 || slices.Contains(retryable, status), "the call was not executed"
}

// checkFault compares the fault that the call ended with to wantFault.
func checkFault(t *testing.T, b *bench, status int, retryAfter time.Duration) {
	t.Helper()
	name, again, text := wantFault(status, retryAfter)
	wait := retryAfter
	if name == protocol.BackendDisconnected {
		wait = 0
	} else if status == 429 && retryAfter == 0 {
		wait = time.Second
	}
	var got *protocol.Fault
	for _, msg := range b.holder.Got() {
		if m, ok := msg.(message.Failed); ok {
			got = m.Fault
		}
	}
	if got == nil {
		t.Fatalf("status %d: the call was not answered", status)
	}
	if got.Name != name || got.Retryable != again || got.RetryAfter != wait || !strings.Contains(got.Message, text) || !strings.HasPrefix(got.Message, fmt.Sprintf("server fake answered HTTP %d", status)) {
		t.Errorf("status %d, Retry-After %v: got %s, retryable %v, after %v: %s; want %s, %v, %v, %q", status, retryAfter, got.Name, got.Retryable, got.RetryAfter, got.Message, name, again, wait, text)
	}
}

// The error for each HTTP status says whether the call was executed and whether a retry may help, in both eras.
func TestFaultOfEachHTTPStatus(t *testing.T) {
	for status := 400; status < 600; status++ {
		for _, retryAfter := range []time.Duration{0, 7 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Server{Tools: []string{"add"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
					ticket, _ := parseID(id)
					_ = p.Tell(upstream.Ended{Ticket: uint64(ticket), Err: &upstream.StatusError{Code: status, RetryAfter: retryAfter}})
				}}
				b := start(t, server, cfg())
				defer b.stop()
				synctest.Wait()
				b.call(1, legacyRequest(t, 0))
				synctest.Wait()
				checkFault(t, b, status, retryAfter)
			})
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Modern{HTTP: true, Tools: []string{"add"}, Handle: func(g actortest.Message) { httpStatusAfter(g, status, retryAfter) }}
				b := modern(t, server)
				defer b.stop()
				b.call(1, modernRequest(t, ""))
				synctest.Wait()
				checkFault(t, b, status, retryAfter)
			})
		}
	}
}

func httpStatusAfter(g actortest.Message, status int, retryAfter time.Duration) {
	_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: &upstream.StatusError{Code: status, RetryAfter: retryAfter}})
}

// After HTTP 429 (Too Many Requests) the pool pauses for the time that the server requests. For Basic authentication,
// the error names the header to set. After a redirect, it names the new address.
func TestRefusalHints(t *testing.T) {
	for _, c := range []struct {
		err   *upstream.StatusError
		pause time.Duration
		want  string
	}{
		{&upstream.StatusError{Code: 429, RetryAfter: 7 * time.Second, Body: []byte("slow down")}, 7 * time.Second,
			`server fake answered HTTP 429 (Too Many Requests): "slow down"; the call was not executed; retry after 7s`},
		{&upstream.StatusError{Code: 429}, time.Second, `server fake answered HTTP 429 (Too Many Requests); the call was not executed; retry after 1s`},
		{&upstream.StatusError{Code: 401, Scheme: "Basic"}, 0,
			`server fake answered HTTP 401 (Unauthorized); the call was not executed; the server asks for Basic authentication: set headers: {Authorization: "Basic ${CREDENTIALS}"}`},
		{&upstream.StatusError{Code: 301, Location: "https://new.example/mcp"}, 0,
			`server fake answered HTTP 301 (Moved Permanently): moved to https://new.example/mcp; set url to that if you trust it; the call was not executed`},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Server{Tools: []string{"add"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				ticket, _ := parseID(id)
				_ = p.Tell(upstream.Ended{Ticket: uint64(ticket), Err: c.err})
			}}
			b := start(t, server, cfg())
			defer b.stop()
			synctest.Wait()
			b.call(1, legacyRequest(t, 0))
			synctest.Wait()
			var got, pause = "", time.Duration(-1)
			for _, msg := range b.holder.Got() {
				if m, ok := msg.(message.Failed); ok {
					got = m.Fault.Message
				}
			}
			for _, msg := range b.pool.Got() {
				if m, ok := msg.(message.CallEnded); ok {
					pause = m.Pause
				}
			}
			if got != c.want || pause != c.pause {
				t.Errorf("got %q, pause %v; want %q, %v", got, pause, c.want, c.pause)
			}
		})
	}
}
