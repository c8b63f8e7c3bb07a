package process

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
)

// BenchmarkProcessLink measures round trips of 200 bytes to an echoing process, 64 at a time.
func BenchmarkProcessLink(b *testing.B) {
	const parallel = 64
	free := make(chan struct{}, parallel)
	closed := make(chan struct{})
	l := Open(childOptions(b, "echo"), func(_ context.Context, e upstream.Event) error {
		switch e := e.(type) {
		case upstream.Received:
			free <- struct{}{}
		case upstream.NotSent:
			b.Error(e.Err)
		case upstream.Closed:
			close(closed)
		}
		return nil
	})
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`, strings.Repeat("x", 110))
	for range parallel {
		free <- struct{}{}
	}
	b.ReportAllocs()
	ticket := uint64(0)
	for b.Loop() {
		<-free
		ticket++
		l.Send(upstream.Outgoing{Ticket: ticket, Frame: frame, Request: true})
	}
	b.StopTimer()
	l.Close(time.Second)
	<-closed
}
