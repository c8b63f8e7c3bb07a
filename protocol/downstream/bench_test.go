package downstream

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// benchPost sends requests one after the other on a connection and skips the responses without allocating.
func benchPost(b *testing.B, c net.Conn, r *bufio.Reader, request []byte, answer int) {
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if len(line) == 2 {
			break
		}
	}
	if _, err := r.Discard(answer); err != nil {
		b.Fatal(err)
	}
}

func benchConn(b testing.TB, address string) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c, bufio.NewReaderSize(c, 64<<10)
}

// BenchmarkServerPost measures a request and an answer of about 200 bytes each. Another goroutine makes the answer, as
// an actor would. Client and server share the process.
func BenchmarkServerPost(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"t":"` + strings.Repeat("x", 160) + `"}}`)
	calls := make(chan *Exchange, 1024)
	go func() {
		for x := range calls {
			x.Answer(protocol.Message{Frame: answer})
		}
	}()
	_, address := serve(b, handlerFunc{post: func(x *Exchange) { calls <- x }}, Options{Budget: stream.NewBudget(1 << 30)}, testLimits)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files_read","arguments":{"path":"` + strings.Repeat("x", 100) + `"}}}`
	request := []byte(postText(body, "Mcp-Session-Id: 0123456789abcdef0123456789abcdef", "MCP-Protocol-Version: 2025-11-25", "User-Agent: bench"))
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(clients / 2)
			b.RunParallel(func(p *testing.PB) {
				c, r := benchConn(b, address)
				for p.Next() {
					benchPost(b, c, r, request, len(answer))
				}
			})
		})
	}
}

// BenchmarkServerLargeAnswer measures an answer of 1 MiB.
func BenchmarkServerLargeAnswer(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 1<<20) + `"}`)
	_, address := serve(b, handlerFunc{post: func(x *Exchange) { x.Answer(protocol.Message{Frame: answer}) }}, Options{}, testLimits)
	request := []byte(postText(ping))
	c, r := benchConn(b, address)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		benchPost(b, c, r, request, len(answer))
	}
}
