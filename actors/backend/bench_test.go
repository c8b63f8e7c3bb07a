package backend

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// BenchmarkQuestion measures a call during which the server sends one request, while other calls wait for answers to such requests.
func BenchmarkQuestion(b *testing.B) {
	frame := func(format string, args ...any) linkEvent {
		e := upstream.Received{}
		e.Frame = actortest.Frame(b, fmt.Sprintf(format, args...))
		return linkEvent{0, e}
	}
	for _, parked := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprint(parked), func(b *testing.B) {
			s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
			s.life.phase, s.conn.era, s.conn.open = message.Ready, protocol.EraLegacy, true
			r := &message.Request{Server: "fake", Item: "add", Caller: &message.Caller{Can: message.CanAll}}
			r.Frame = actortest.Frame(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)
			now := time.Unix(0, 0)
			var out []kernel.Effect
			seq := uint64(0)
			ask := func() {
				seq++
				out = step(s, now, message.Send{Call: message.CallRef{Seq: seq}, Request: r}, out[:0])
				out = step(s, now, frame(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{}}`, seq), out[:0])
			}
			for range parked {
				ask()
			}
			for b.Loop() {
				ask()
				out = step(s, now, message.ServerRequestResult{Key: s.questions.last, Result: []byte("{}")}, out[:0])
				out = step(s, now, frame(`{"jsonrpc":"2.0","id":%d,"result":{}}`, s.conn.byCall[message.CallRef{Seq: seq}]), out[:0])
				if len(s.questions.open) != parked {
					b.Fatalf("%d questions are open", len(s.questions.open))
				}
			}
		})
	}
}

// BenchmarkCall measures a call through step, from Send to Done, for each pair of the client's and the server's era.
func BenchmarkCall(b *testing.B) {
	legacy := `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"name":"fake_add","arguments":{"a":9007199254740993,"text":"the quick brown fox jumps over the lazy dog"}}}`
	modern := `{"jsonrpc":"2.0","id":"c-1","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}},` +
		`"name":"fake_add","arguments":{"a":9007199254740993,"text":"the quick brown fox jumps over the lazy dog"}}}`
	for _, cell := range []struct {
		name, request, result string
		modern                bool
		era                   protocol.Era
	}{
		{"LL", legacy, `{"content":[{"type":"text","text":"the quick brown fox jumps over the lazy dog"}]}`, false, protocol.EraLegacy},
		{"LM", legacy, `{"resultType":"complete","content":[{"type":"text","text":"the quick brown fox jumps over the lazy dog"}]}`, false, protocol.EraModern},
		{"ML", modern, `{"content":[{"type":"text","text":"the quick brown fox jumps over the lazy dog"}]}`, true, protocol.EraLegacy},
		{"MM", modern, `{"resultType":"complete","content":[{"type":"text","text":"the quick brown fox jumps over the lazy dog"}]}`, true, protocol.EraModern},
	} {
		b.Run(cell.name, func(b *testing.B) {
			s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
			s.life.phase, s.conn.era, s.conn.open = message.Ready, cell.era, true
			r := &message.Request{Caller: &message.Caller{}, Server: "fake", Item: "add", Modern: cell.modern, Original: []byte(`"add"`)}
			r.Frame, r.Params = actortest.Request(b, cell.request)
			r.Target = r.Params.Name
			r.Caller = &message.Caller{Capabilities: r.Params.MetaCapabilities.Of(r.Frame.Raw), ClientInfo: r.Params.MetaClientInfo.Of(r.Frame.Raw)}
			var out []kernel.Effect
			now := time.Unix(0, 0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				out = step(s, now, message.Send{Call: message.CallRef{Seq: uint64(i)}, Request: r}, out[:0])
				answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":%s}`, s.conn.lastID, cell.result)
				e := upstream.Received{Last: true}
				if err := e.Frame.Parse(answer); err != nil {
					b.Fatal(err)
				}
				out = step(s, now, linkEvent{0, e}, out[:0])
				if _, ok := out[0].Msg.(message.Done); !ok {
					b.Fatalf("got %T", out[0].Msg)
				}
			}
		})
	}
}
