package remote

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/upstream"
)

// benchHTTP measures exchanges with a fasthttp server in the same process. The server's cost is in the time but not in the
// allocations, since it makes none.
func benchHTTP(b *testing.B, frame, answer []byte, contentType string, parallel int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType(contentType)
		ctx.SetBody(answer)
	}, NoDefaultServerHeader: true, NoDefaultDate: true, MaxRequestBodySize: 8 << 20}
	go server.Serve(listener)
	defer listener.Close()
	free := make(chan uint64, parallel)
	closed := make(chan struct{})
	l := OpenHTTP(Options{URL: "http://" + listener.Addr().String() + "/mcp"}, func(_ context.Context, e upstream.Event) error {
		switch e := e.(type) {
		case upstream.Received:
			free <- e.Ticket
		case upstream.Ended:
			b.Error(e.Err)
			free <- e.Ticket
		case upstream.NotSent:
			b.Error(e.Err)
			free <- e.Ticket
		case upstream.Closed:
			close(closed)
		}
		return nil
	})
	for i := range parallel {
		free <- uint64(i + 1)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(frame) + len(answer)))
	for b.Loop() {
		l.Send(upstream.Outgoing{Ticket: <-free, Frame: frame, Request: true, Method: "tools/call"})
	}
	for range parallel {
		<-free
	}
	b.StopTimer()
	l.Close(0)
	<-closed
}

func BenchmarkHTTPLink(b *testing.B) {
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`, strings.Repeat("x", 110))
	answer := func(n int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}`, strings.Repeat("x", n))
	}
	sse := func(data []byte) []byte {
		return append(append([]byte("event: message\ndata: "), data...), "\n\n"...)
	}
	b.Run("json/1", func(b *testing.B) { benchHTTP(b, frame, answer(120), "application/json", 1) })
	b.Run("json/64", func(b *testing.B) { benchHTTP(b, frame, answer(120), "application/json", 64) })
	b.Run("sse/64", func(b *testing.B) { benchHTTP(b, frame, sse(answer(120)), "text/event-stream", 64) })
	b.Run("1MiB/8", func(b *testing.B) { benchHTTP(b, frame, answer(1<<20), "application/json", 8) })
	b.Run("1MiB-sse/8", func(b *testing.B) { benchHTTP(b, frame, sse(answer(1<<20)), "text/event-stream", 8) })
	b.Run("1MiB-up/8", func(b *testing.B) {
		benchHTTP(b, bytes.Replace(frame, []byte("xxx"), bytes.Repeat([]byte("y"), 1<<20), 1), answer(120), "application/json", 8)
	})
}

// BenchmarkHTTPDirect measures the same exchange with fasthttp's client.
func BenchmarkHTTPDirect(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 120) + `"}]}}`)
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBody(answer) }, NoDefaultServerHeader: true, NoDefaultDate: true}
	go server.Serve(listener)
	defer listener.Close()
	client := &fasthttp.HostClient{Addr: listener.Addr().String()}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		request.SetRequestURI("http://" + listener.Addr().String() + "/mcp")
		request.Header.SetMethod("POST")
		request.SetBody(answer)
		for pb.Next() {
			if err := client.Do(request, response); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
