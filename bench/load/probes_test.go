package load

import (
	"io"
	"testing"

	"goblin-actor/bench/wire"
)

// A response to another request, or one with other bytes, is wrong. An error of the gateway is a response.
func TestProbesJudgeResponses(t *testing.T) {
	r := wire.NewRequest("h", "/mcp", "s", wire.LegacyVersion, "tools/call", "{}")
	r.Next()
	w, c := &Probes{tail: []byte(`,"result":{}}`)}, &Client{Request: r}
	for _, body := range []string{`100000001,"result":{}}`, `100000001,"error":{"code":-31001}}`, `100000002,"result":{}}`, `100000001,"result":[]}`, ``} {
		w.note(record{}, c, []byte(wire.ResponseHead+body), nil)
	}
	w.note(record{}, c, nil, io.EOF)
	good := 0
	for _, one := range w.seen {
		if one.ok {
			good++
		}
	}
	if good != 1 || w.Wrong != 3 || w.Lost != 1 || len(w.seen) != 6 {
		t.Errorf("%d good, %d wrong, %d lost of %d", good, w.Wrong, w.Lost, len(w.seen))
	}
}
