package sim

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
	"goblin-actor/tests/sim/pipeclient"
)

var messages = flag.Int("messages", 4000, "number of messages that TestMessagesPassUnchanged sends in each era")

// mirror is a server that sends every call it receives to the channel got and answers with the next message of the
// channel answers.
type mirror struct {
	modern  bool
	got     chan upstream.Outgoing
	answers chan string
}

func (m *mirror) open(sink upstream.Sink) upstream.Link {
	link, peer := pipe.New(sink)
	go func() {
		for {
			out, err := peer.Receive()
			if err != nil {
				return
			}
			f := mustFrame(string(out.Frame))
			if f.Kind != protocol.KindRequest {
				continue
			}
			result := ""
			switch f.Method {
			case protocol.MethodToolsCall:
				m.got <- out
				_ = peer.Send([]byte(<-m.answers))
				continue
			case protocol.MethodInitialize:
				result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mirror","version":"1"}}`
			case protocol.MethodServerDiscover:
				result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mirror","version":"1"}},"ttlMs":600000,"cacheScope":"private"}`
			default:
				result = `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":600000,"cacheScope":"private"}`
			}
			_ = peer.Send(protocol.AppendResult(nil, f.IDBytes(), []byte(result)))
		}
	}()
	return link
}

// TestMessagesPassUnchanged checks that the gateway forwards messages between peers of one era byte for byte. It may
// only rewrite the id, the tool's name, the progress token and, in the modern era, the members of _meta that name a
// peer.
func TestMessagesPassUnchanged(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(map[bool]string{false: "2025-11-25", true: "2026-07-28"}[modern], func(t *testing.T) { testPassThrough(t, modern) })
	}
}

func testPassThrough(t *testing.T, modern bool) {
	m := &mirror{modern: modern, got: make(chan upstream.Outgoing, 1), answers: make(chan string, 1)}
	cfg := config.Default()
	server := config.DefaultServer()
	server.Name, server.Written, server.Command, server.Protocol = "s", "s", "mirror", map[bool]string{false: "legacy", true: "modern"}[modern]
	cfg.Servers = append(cfg.Servers, server)
	g, err := actors.Start(&cfg, actors.Options{Version: "mirrored", Log: slog.New(slog.DiscardHandler),
		Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return m.open, "stdio" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := g.Stop(ctx, time.Second); err != nil {
			t.Error(err)
		}
	}()
	more := make(chan struct{}, 1)
	pipe := &pipeclient.Client{Handler: g.Front(), More: func() {
		select {
		case more <- struct{}{}:
		default:
		}
	}}
	origin := downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:1"}
	ask := func(raw string) pipeclient.Seen {
		x, refused := pipe.Post([]byte(raw), origin)
		if refused != nil {
			t.Fatalf("%s: refused with %s", raw, refused.Frame)
		}
		for {
			if s, ok := x.Next(); ok {
				return s
			}
			select {
			case <-more:
			case <-time.After(2 * time.Minute):
				t.Fatalf("no response to %s", raw)
			}
		}
	}
	gen := &generator{rand.New(rand.NewPCG(1, 1))}
	var meta, members []string
	if modern {
		origin.Version, origin.Header = "2026-07-28", map[string][]string{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"s_a"}}
		meta = []string{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`}
		members = []string{`"resultType":"complete"`, `"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":` + placeholderName + `}`}
	} else {
		s := ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		origin.SessionID, origin.Version = s.Session, "2025-11-25"
		if s := ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); s.Status != 202 {
			t.Fatalf("initialized: %d %s", s.Status, s.Frame)
		}
	}
	const theirs = `{"name":"mirror","version":"1"}` // without a serverInfo in the result, the gateway would add its own
	awaitReady(t, g)
	for n := range *messages {
		id, token := fmt.Sprintf(`"c%d"`, n), fmt.Sprint(1000000+n)
		request, answer := gen.request(meta), gen.answer(members...)
		sent := fill(request, id, `"s_a"`, token)
		done := make(chan pipeclient.Seen, 1)
		go func() { done <- ask(sent) }()
		var got upstream.Outgoing
		select {
		case got = <-m.got:
		case s := <-done:
			t.Fatalf("%s\nwas answered with\n%s", sent, s.Frame)
		}
		f := mustFrame(string(got.Frame))
		var p protocol.Params
		if err := p.Scan(&f); err != nil {
			t.Fatal(err)
		}
		want := fill(request, string(f.IDBytes()), `"a"`, string(p.ProgressToken.Of(f.Raw)))
		if string(got.Frame) != want {
			t.Fatalf("the client sent\n%s\nthe server got\n%s\nwant\n%s", sent, got.Frame, want)
		}
		m.answers <- fill(answer, string(f.IDBytes()), theirs, "")
		if s := <-done; string(s.Frame) != fill(answer, id, theirs, "") {
			t.Fatalf("the server sent\n%s\nthe client got\n%s", fill(answer, string(f.IDBytes()), theirs, ""), s.Frame)
		}
	}
}

func awaitReady(t *testing.T, g *actors.Gateway) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if s, err := g.Status(t.Context()); err == nil && len(s.Servers) == 1 && s.Servers[0].State == "ready" {
			return
		}
		time.Sleep(5 * time.Millisecond) // in real time; there is no notification of readiness
	}
	t.Fatal("the server is not ready")
}
