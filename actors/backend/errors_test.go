package backend

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// A modern client gets no error code that its version reserves or has dropped. No client gets an invalid error, since it
// would wait for another response (MCP 2026-07-28, basic, error codes).
func TestErrorsThatClientsMustNotGet(t *testing.T) {
	for _, c := range []struct {
		name, error, modern, legacy string // part of what the clients get
	}{
		{"a code of the tool's own", `{"code":-5,"message":"x"}`, `"code":-5,`, `"code":-5,`},
		{"code 0", `{"code":0,"message":"x"}`, `"code":0,`, `"code":0,`},
		{"a code that modern versions do not have", `{"code":-32002,"message":"x"}`, `"code":-32603`, `"code":-32002`},
		{"a reserved code", `{"code":-32050,"message":"x"}`, `"originalCode":-32050`, `"originalCode":-32050`},
		{"a capability is missing", `{"code":-32021,"message":"x","data":{"requiredCapabilities":{"roots":{}}}}`, `"code":-32021,`, `"originalCode":-32021`},
		{"a code that is not a number", `{"code":"x","message":"m"}`, "INTERNAL_ERROR", "INTERNAL_ERROR"},
		{"no message", `{"code":1}`, "INTERNAL_ERROR", "INTERNAL_ERROR"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) {
				_ = g.Peer.Send([]byte(`{"jsonrpc":"2.0","id":` + string(g.ID()) + `,"error":` + c.error + `}`))
			}}
			b := modern(t, server)
			defer b.stop()
			b.call(1, modernRequest(t, ""))
			b.call(2, legacyRequest(t, 0))
			if ends, _ := b.outcomes(); len(ends) != 2 || !strings.Contains(ends[0], c.modern) || !strings.Contains(ends[1], c.legacy) {
				t.Errorf("%s: got %v, want %s and %s", c.name, ends, c.modern, c.legacy)
			}
		})
		synctest.Test(t, func(t *testing.T) { // legacy client and server: a valid error is unchanged
			server := &actortest.Server{Tools: []string{"add"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + c.error + `}`))
			}}
			b := start(t, server, cfg())
			defer b.stop()
			synctest.Wait()
			b.holder.Got()
			b.call(1, legacyRequest(t, 0))
			want := c.error
			if c.modern == "INTERNAL_ERROR" {
				want = c.modern
			}
			if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], want) {
				t.Errorf("%s: got %v, want %s", c.name, ends, want)
			}
		})
	}
}

// Requirement S5.3.1: a server's error text is truncated. If that cuts through a secret, no part of it remains.
func TestTruncatedErrorHidesSecrets(t *testing.T) {
	const key = "ghp_hunter2hunter2hunter2hunter2hunter2"
	var f protocol.Frame
	if err := f.Parse(protocol.AppendError(nil, []byte("1"), -32000, strings.Repeat("x", 285)+" "+key, nil)); err != nil {
		t.Fatal(err)
	}
	var known secret.Redactor
	known.Replace("configuration", key)
	if got := known.CutShort(errorText(&f)); strings.Contains(got, "ghp_hun") || !strings.HasSuffix(got, secret.Hidden+`…" (-32000)`) {
		t.Errorf("got %s", got)
	}
}

// Requirement S5.3.1: the text of a redacted link error is used, not the text of the error that it wraps.
func TestRedactedErrorTextIsUsed(t *testing.T) {
	for _, within := range []error{
		&upstream.StatusError{Code: 401, Body: []byte("bad token hunter2hunter2")},
		&upstream.LoginError{Status: 403, Err: errors.New("bad token hunter2hunter2")},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, server, _ := followedCall(t, legacyRequest(t, 0))
			defer b.stop()
			var known secret.Redactor
			known.Replace("configuration", "hunter2hunter2")
			waits := server.Received("tasks/result")
			ticket, _ := parseID(waits[len(waits)-1].IDBytes())
			_ = server.Last().Tell(upstream.Ended{Ticket: uint64(ticket), Err: known.Hush(within)})
			synctest.Wait()
			got, _ := b.outcomes()
			said := fmt.Sprint(got)
			if len(got) != 1 || !strings.Contains(said, "bad token "+secret.Hidden) {
				t.Errorf("%T: got %s", within, said)
			}
		})
	}
}
