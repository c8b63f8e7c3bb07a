package relay

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// BenchmarkRequest compares a request that is passed on to home with one that the client sends to home itself.
func BenchmarkRequest(b *testing.B) {
	secrets, log := secretsOf(b), slog.New(slog.DiscardHandler)
	handler := handlerFunc{post: func(x *downstream.Exchange) { x.Answer(resultOf(x, "{}")) }}
	serve := func(s *downstream.Server) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = s.Serve(l) }()
		b.Cleanup(s.HangUp)
		return l.Addr().String()
	}
	home := serve(NewServer(handler, ServerOptions{Node: "home", TLS: tlsOf(b, secrets, "home"), Keys: holders{"local": identity.Local}, Log: log}))
	r := New(Options{TLS: tlsOf(b, secrets, "first"), Resolve: func(string) (Target, bool) { return Target{Node: "home", Address: home}, true }, Log: log})
	b.Cleanup(r.Close)
	for _, c := range []struct{ name, address string }{
		{"direct", serve(downstream.NewServer(handler, downstream.Options{}, log))},
		{"relayed", serve(downstream.NewServer(passingHandler{r}, downstream.Options{}, log))},
	} {
		b.Run(c.name, func(b *testing.B) {
			conn, err := net.Dial("tcp", c.address)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			reader := bufio.NewReader(conn)
			request := []byte(post(call("x"), accepts, "Mcp-Session-Id: s"))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(request); err != nil {
					b.Fatal(err)
				}
				for line := ""; line != "\r\n"; {
					if line, err = reader.ReadString('\n'); err != nil {
						b.Fatal(err)
					}
				}
				_, _ = io.CopyN(io.Discard, reader, int64(len(`{"jsonrpc":"2.0","id":1,"result":{}}`)))
			}
		})
	}
}
