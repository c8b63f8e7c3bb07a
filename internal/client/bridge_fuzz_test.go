package client

import (
	"fmt"
	"io"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// FuzzBridge checks that every request gets one response, and that no state is left at the end.
func FuzzBridge(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add([]byte{3, 3, 12, 12, 5, 9, 9, 6, 3, 10, 2, 2, 4})
	f.Fuzz(runScript)
}

// runScript interprets each byte of the script as an event.
func runScript(t *testing.T, script []byte) {
	b := newBridgeTalk(t)
	b.ready()
	asked, answered := 0, map[int]int{}
	for _, op := range script[:min(len(script), 500)] {
		arg := uint64(op >> 4)
		ticket := b.last - min(arg, b.last)
		gen := b.gen - min(arg&1, b.gen)
		switch op & 15 {
		case 0, 1, 2, 3:
			asked++
			b.say(fmt.Sprintf(`"id":%d,"method":"%s","params":{"uri":"u:%d"}`, 100+asked, []string{"tools/call", "resources/subscribe", "logging/setLevel", "tools/list"}[op&3], arg))
		case 4:
			b.link(gen, upstream.Written{Ticket: ticket})
		case 5, 6:
			if i := b.away[ticket]; i != nil && i.frame.Kind == protocol.KindRequest {
				b.hear(i.gen, ticket, `"id":`+string(i.frame.IDBytes())+`,"result":{"protocolVersion":"2025-11-25"}`)
			}
		case 7:
			if i := b.away[ticket]; i != nil {
				b.link(i.gen, upstream.NotSent{Ticket: ticket, Err: io.EOF})
			}
		case 8:
			if i := b.away[ticket]; i != nil {
				b.link(i.gen, upstream.Ended{Ticket: ticket, Err: io.ErrUnexpectedEOF})
			}
		case 9:
			b.link(gen, upstream.SessionLost{})
		case 10:
			b.hear(gen, 0, fmt.Sprintf(`"id":%d,"method":"roots/list"`, arg))
		case 11:
			b.say(fmt.Sprintf(`"id":%d,"result":{}`, arg))
		case 12:
			b.after(time.Duration(arg) * time.Second)
		case 13:
			b.link(gen, upstream.Closed{Err: io.EOF})
		case 14:
			b.link(gen, upstream.ListenFailed{Err: io.EOF})
		case 15:
			if i := b.away[ticket]; i != nil && i.kind == bridgeNote {
				b.link(i.gen, upstream.Ended{Ticket: ticket})
			}
		}
	}
	for range 10 { // every link ends, and no response arrives
		for gen := range b.gen + 1 {
			b.link(gen, upstream.Closed{Err: io.EOF})
		}
		b.after(bridgeHold)
	}
	for _, e := range b.out {
		if tell, ok := e.(bridgeTell); ok {
			var f protocol.Frame
			if err := f.Parse(tell.frame); err != nil {
				t.Fatal(err, string(tell.frame))
			}
			id := 0
			if n, _ := fmt.Sscan(string(f.IDBytes()), &id); n == 1 && !f.RawMethod.Present() {
				answered[id]++
			}
		}
	}
	for id := 101; id <= 100+asked; id++ {
		if answered[id] != 1 {
			t.Errorf("request %d has %d responses", id, answered[id])
		}
	}
	if len(b.byID) > 0 || len(b.queue) > 0 || b.size != 0 || len(b.away) > len(b.links) {
		t.Errorf("left over: %d requests, %d waiting (%d bytes), %d on %d links", len(b.byID), len(b.queue), b.size, len(b.away), len(b.links))
	}
}
