//go:build !race

package downstream

import (
	"io"
	"testing"

	"goblin-actor/protocol"
)

// A plain request costs at most 13 allocations, not counting its body. The client in this test allocates nothing.
func TestServerPostAllocations(t *testing.T) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	_, address := serve(t, handlerFunc{post: func(x *Exchange) { x.Answer(protocol.Message{Frame: answer}) }}, Options{}, testLimits)
	c, r := benchConn(t, address)
	request := []byte(postText(ping, "Mcp-Session-Id: 0123456789abcdef", "MCP-Protocol-Version: 2025-11-25"))
	allocations := testing.AllocsPerRun(500, func() {
		c.Write(request)
		for line := []byte(nil); len(line) != 2; {
			line, _ = r.ReadSlice('\n')
		}
		io.CopyN(io.Discard, r, int64(len(answer)))
	})
	t.Logf("%.1f allocations a request", allocations)
	if allocations > 13 {
		t.Errorf("%.1f allocations a request", allocations)
	}
}
