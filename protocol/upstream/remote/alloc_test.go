//go:build !race

package remote

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/upstream"
)

// An exchange of 200 bytes over HTTP makes few allocations. The server is fasthttp in the same process, which
// allocates nothing.
func TestHTTPLinkAllocations(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}`, strings.Repeat("x", 120))
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.SetBody(answer)
	}, NoDefaultServerHeader: true, NoDefaultDate: true}
	go server.Serve(listener)
	defer listener.Close()
	for name, login := range map[string]upstream.Credentials{"without login": nil, "not logged in": &login{}, "logged in": renewing("token")} {
		t.Run(name, func(t *testing.T) {
			allocations(t, Options{URL: "http://" + listener.Addr().String() + "/mcp", Credentials: login})
		})
	}
}

// allocations checks the number of allocations of an exchange.
func allocations(t *testing.T, o Options) {
	t.Helper()
	received, closed := make(chan struct{}, 1), make(chan struct{})
	l := OpenHTTP(o, func(_ context.Context, e upstream.Event) error {
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
		l.Send(upstream.Outgoing{Ticket: ticket, Frame: frame, Request: true, Method: "tools/call"})
		<-received
	})
	t.Logf("%.1f allocations per exchange", got)
	if got > 5 { // measured: 4
		t.Errorf("%.1f allocations per exchange, want at most 5", got)
	}
	l.Close(0)
	<-closed
}
