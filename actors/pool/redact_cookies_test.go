package pool

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// Cookies that a server echoes in an error do not appear in logs and reasons.
func TestEchoedCookiesAreHidden(t *testing.T) {
	const first, value = "stickysession0123456788", "stickysession0123456789"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		set := "lb=" + first
		if strings.Contains(q.Header.Get("Cookie"), "lb=") {
			set = "lb=" + value // the cookie that the request carried is replaced
		}
		w.Header().Set("Set-Cookie", set)
		http.Error(w, "who are you, "+q.Header.Get("Cookie")+"?", http.StatusForbidden)
	}))
	defer server.Close()
	for _, kind := range []string{"http", "auto"} {
		p := &pool{}
		open, _ := p.openConfigured(config.Server{URLs: []string{server.URL}, Type: kind}, 0, nil)
		r := linktest.New(t)
		l := open(r.Sink)
		for ticket := uint64(1); ticket <= 2; ticket++ {
			l.Send(upstream.Outgoing{Ticket: ticket, Request: true, Method: "ping", Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, ticket)})
			linktest.Wait[upstream.Ended](r, int(ticket))
		}
		last := fmt.Sprint(linktest.Wait[upstream.Ended](r, 2).Err)
		if strings.Contains(last, "stickysession") || !strings.Contains(last, "who are you, lb=[redacted]?") {
			t.Errorf("%s: %s", kind, last)
		}
		l.Close(0)
		linktest.Wait[upstream.Closed](r, 1)
	}
}
