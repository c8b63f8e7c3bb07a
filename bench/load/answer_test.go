package load

import (
	"fmt"
	"testing"

	"goblin-actor/protocol"
)

// An error is named after its code and the limit that refused the request.
func TestErrorName(t *testing.T) {
	for message, want := range map[string]string{
		"the queue of server files is full (queue.size: 1024)":                               "QUEUE_FULL (queue.size)",
		"too many calls at once for the connection to server files (maxConcurrent: 0); with": "QUEUE_FULL (maxConcurrent)",
		"too many requests of this client wait in the gateway; the request was not sent":     "QUEUE_FULL",
	} {
		var f protocol.Frame
		if err := f.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"error":{"code":-31004,"message":%q,"data":{"code":"QUEUE_FULL"}}}`, message)); err != nil {
			t.Fatal(err)
		}
		if got := errorName(&f); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}
