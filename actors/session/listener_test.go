package session

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
)

// lastWords are the last words on a stream, by its messages: "acknowledged", "result", a fault's name, "nothing".
func lastWords(out []effect) (words string) {
	words = "nothing"
	for _, e := range out {
		switch a := e.act.(type) {
		case forward:
			words = "acknowledged"
		case answer:
			words = "result"
		case deny:
			words = string(a.fault.Name)
		}
	}
	return words
}

// A stream's first message is the acknowledgment, its last the result, unless its client no longer wants to hear of it
// (MCP 2026-07-28, basic/patterns/subscriptions; basic/transports/stdio, cancellation).
func TestHowAStreamBeginsAndEnds(t *testing.T) {
	snapshot := snapshotOf(true)
	for _, c := range []struct {
		name, server string
		steps        []any
		want         string // after the last step
		end          string // when it has left
	}{
		{"drained", "", []any{message.Published{Snapshot: snapshot}, message.DrainSession{}}, "nothing", "result"},
		{"acknowledged", "", []any{message.Published{Snapshot: snapshot}}, "acknowledged", "result"},
		{"drained before it began", "", []any{message.DrainSession{}}, "nothing", string(protocol.ShuttingDown)},
		{"cancelled", "", []any{message.Published{Snapshot: snapshot}, message.Withdrawal{Remote: "stdio", RequestID: "7"}}, "nothing", "nothing"},
		{"another one cancelled", "", []any{message.Published{Snapshot: snapshot}, message.Withdrawal{Remote: "stdio", RequestID: "8"}}, "nothing", "result"},
		{"its client left", "", []any{message.Published{Snapshot: snapshot}, departed{}}, "nothing", "nothing"},
		{"of an unknown server", "nobody", []any{message.Published{Snapshot: snapshot}}, string(protocol.InvalidRequest), "nothing"},
	} {
		x := &transport.Exchange{Origin: transport.Origin{Remote: "stdio"}}
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":%q},"notifications":{"toolsListChanged":true}}}`, protocol.Version20260728)
		if err := x.Frame.Parse([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if err := x.Params.Scan(&x.Frame); err != nil {
			t.Fatal(err)
		}
		s := newListenState(ListenerOptions{Exchange: x, View: catalog.Key{Server: c.server}}, kernel.Reference{})
		now := time.Unix(1000, 0)
		got := ""
		for _, step := range append([]any{kernel.Started{}}, c.steps...) {
			got = lastWords(listenStep(s, now, step, nil))
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if end := lastWords(listenStep(s, now, kernel.Stopping{}, nil)); end != c.end {
			t.Errorf("%s: it ends with %s, want %s", c.name, end, c.end)
		}
	}
}
