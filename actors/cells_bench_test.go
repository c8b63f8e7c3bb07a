package actors

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// BenchmarkCells measures one tools/call through every actor for each pair of eras: the client's and the server's. Client and server
// are pipes in this process, and the numbers include their cost. A call across eras may cost 1.25 times as much as one within an
// era.
func BenchmarkCells(b *testing.B) {
	legacy := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_add","arguments":{"a":1,"b":"some text that makes it about two hundred bytes long, typical of calls"}}}`
	modern := strings.Replace(legacy, `"params":{`, fmt.Sprintf(`"params":{`+modernMeta+`,`, "{}"), 1)
	answer := []byte(`{"content":[{"type":"text","text":"some text that makes it about two hundred bytes long, which is typical of results"}]}`)
	modernAnswer := `{"resultType":"complete",` + string(answer[1:])
	modernHandle := func(g actortest.Message) { g.Result(modernAnswer) }
	handle := func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, answer))
	}
	cells := []struct {
		name, line string
		open       func(upstream.Sink) upstream.Link
	}{
		{"LL", legacy, (&actortest.Server{Tools: []string{"add"}, Handle: handle}).Open},
		{"LM", legacy, (&actortest.Modern{Tools: []string{"add"}, Handle: modernHandle}).Open},
		{"ML", modern, (&actortest.Server{Tools: []string{"add"}, Handle: handle}).Open},
		{"MM", modern, (&actortest.Modern{Tools: []string{"add"}, Handle: modernHandle}).Open},
	}
	for _, cell := range cells {
		b.Run(cell.name, func(b *testing.B) { benchCell(b, cell.line, cell.open) })
	}
}

func benchCell(b *testing.B, line string, open func(upstream.Sink) upstream.Link) {
	b.Helper()
	cfg := config.Default()
	server := config.DefaultServer()
	server.Name, server.Written, server.Command = "one", "one", "fake"
	cfg.Servers = []config.Server{server}
	log := slog.New(slog.DiscardHandler)
	g, err := Start(&cfg, Options{Version: "test", Log: log,
		Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return open, "stdio" }})
	if err != nil {
		b.Fatal(err)
	}
	front, err := g.Stdio(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	go func() {
		_ = downstream.ServeStdio(context.Background(), in, out, front, downstream.Options{MaxMessageBytes: 1 << 20}, log)
		out.Close()
	}()
	answers := bufio.NewReader(fromGateway)
	send := func(text string) string {
		if _, err := io.WriteString(toGateway, text+"\n"); err != nil {
			b.Fatal(err)
		}
		got, err := answers.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return got
	}
	send(initializeFrame)
	for deadline := time.Now().Add(5 * time.Second); !strings.Contains(send(line), `"content"`); {
		if time.Now().After(deadline) {
			b.Fatalf("no answer: %s", send(line))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		send(line)
	}
	b.StopTimer()
	toGateway.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := g.Stop(ctx, time.Second); err != nil {
		b.Error(err)
	}
}
