package actors

import (
	"errors"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
)

// S3.2.3: the first reconnect is immediate if the server has been ready for at least 5 s. A call waits for it and succeeds. If the
// server was ready for a shorter time, calls fail at once with the reason.
func TestCallDuringFirstReconnect(t *testing.T) {
	inBubble(func(t *testing.T) {
		one := &actortest.Server{Tools: []string{"add"}}
		h := startStdio(t, map[string]*actortest.Server{"one": one}, nil)
		defer h.close()
		h.initialize()
		time.Sleep(6 * time.Second)
		one.Last().Close(errors.New("signal: killed"))
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add"}}`); !strings.Contains(got, "echo") {
			t.Errorf("lost after six seconds: %s, want the call to wait and succeed", got)
		}
		one.Last().Close(errors.New("signal: killed again"))
		got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add"}}`)
		if !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "waiting (signal: killed again)") {
			t.Errorf("lost right after the reconnect: %s", got)
		}
	})(t)
}
