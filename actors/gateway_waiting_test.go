package actors

import (
	"errors"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
)

// S3.2.3: the first attempt after a loss is immediate when the server had been ready for 5 s, and a call waits for it: its client
// notices nothing. Of a server that was lost sooner, calls fail at once and say why.
func TestACallDuringTheFirstReconnect(t *testing.T) {
	within(func(t *testing.T) {
		one := &actortest.Server{Tools: []string{"add"}}
		h := open(t, map[string]*actortest.Server{"one": one}, nil)
		defer h.close()
		h.initialize()
		time.Sleep(6 * time.Second)
		one.Last().Close(errors.New("signal: killed"))
		if got := h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_add"}}`); !strings.Contains(got, "echo") {
			t.Errorf("after six seconds: %s, want the call to wait and run", got)
		}
		one.Last().Close(errors.New("signal: killed again"))
		got := h.one(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_add"}}`)
		if !strings.Contains(got, `"SERVER_UNAVAILABLE"`) || !strings.Contains(got, "waiting (signal: killed again)") {
			t.Errorf("lost at once: %s", got)
		}
	})(t)
}
