package actors

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
)

// BenchmarkCold measures the first list of a gateway that has just been started with a state file, and whose servers never answer. It
// does not include the start of a process; see goblin-actor bench cold.
func BenchmarkCold(b *testing.B) {
	for _, tools := range []int{10, 100} {
		b.Run(fmt.Sprintf("100x%d", tools), func(b *testing.B) {
			o := Options{Version: "bench", Log: slog.New(slog.DiscardHandler), State: filepath.Join(b.TempDir(), "state.db")}
			cfg := config.Default()
			var items []string
			for i := range tools {
				items = append(items, fmt.Sprintf(`{"name":"tool_%03d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("words ", 160)))
			}
			full, mute := &actortest.Server{Tools: items}, &actortest.Server{IgnoreInitialize: true}
			for i := range 100 {
				server := config.DefaultServer()
				server.Name, server.Command, server.Args, server.Order = fmt.Sprintf("server-%03d", i), "fake", []string{fmt.Sprint(i)}, i
				cfg.Servers = append(cfg.Servers, server)
			}
			coldList(b, cfg, o, full, func(answer string) bool {
				return !strings.Contains(answer, cachedMark) && strings.Contains(answer, `"server-099_`) || tools > 10
			})
			b.ResetTimer()
			for range b.N {
				coldList(b, cfg, o, mute, func(answer string) bool { return strings.Contains(answer, cachedMark) })
			}
		})
	}
}

// coldList starts a gateway, lists the tools until the function done returns true, and stops the gateway. The stop is not
// measured.
func coldList(b *testing.B, cfg config.Config, o Options, server *actortest.Server, done func(string) bool) {
	o.Open = func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return server.Open, "stdio" }
	g, err := Start(&cfg, o)
	if err != nil {
		b.Fatal(err)
	}
	front, err := g.Stdio(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	in, out := io.Pipe()
	answers, sink := io.Pipe()
	go func() {
		_ = downstream.ServeStdio(context.Background(), in, sink, front, downstream.Options{MaxMessageBytes: 1 << 20}, o.Log)
		sink.Close()
	}()
	lines := bufio.NewReaderSize(answers, 1<<20)
	ask := func(request string) string {
		fmt.Fprintln(out, request)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`) {
				return line
			}
		}
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for !done(ask(listTools)) {
		time.Sleep(50 * time.Millisecond)
	}
	b.StopTimer()
	if !server.IgnoreInitialize {
		time.Sleep(5 * time.Second)
	}
	out.Close()
	if err := g.Stop(context.Background(), 0); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
