//go:build !race

package process

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
)

// A round trip of 200 bytes to a process and back makes few allocations.
func TestLinkAllocations(t *testing.T) {
	received, closed := make(chan struct{}, 1), make(chan struct{})
	l := Open(childOptions(t, "echo"), func(_ context.Context, e upstream.Event) error {
		switch e := e.(type) {
		case upstream.Received:
			received <- struct{}{}
		case upstream.NotSent:
			t.Error(e.Err)
			received <- struct{}{}
		case upstream.Closed:
			close(closed)
		}
		return nil
	})
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`, strings.Repeat("x", 110))
	ticket := uint64(0)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector empties pools
	got := testing.AllocsPerRun(500, func() {
		ticket++
		l.Send(upstream.Outgoing{Ticket: ticket, Frame: frame, Request: true})
		<-received
	})
	t.Logf("%.1f allocations per round trip", got)
	if got > 4 { // measured: 3
		t.Errorf("%.1f allocations per round trip, want at most 4", got)
	}
	l.Close(time.Second)
	<-closed
}
