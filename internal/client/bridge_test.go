package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/demo"
)

// bridged is a client connected to a bridge by pipes.
type bridged struct {
	t     *testing.T
	to    io.WriteCloser
	lines chan string
	done  chan error
}

func overBridge(t *testing.T, ctx context.Context, url string) *bridged {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	b := &bridged{t, to, make(chan string, 1000), make(chan error, 1)}
	go func() {
		b.done <- Bridge(ctx, url, "", "", in, out, slog.New(slog.NewTextHandler(t.Output(), nil)))
		out.Close()
	}()
	go func() {
		defer close(b.lines)
		for r := bufio.NewScanner(from); r.Scan(); {
			b.lines <- r.Text()
		}
	}()
	return b
}

func (b *bridged) send(raw string) {
	b.t.Helper()
	if _, err := io.WriteString(b.to, `{"jsonrpc":"2.0",`+raw+"}\n"); err != nil {
		b.t.Fatal(err)
	}
}

// await returns the next line that contains text.
func (b *bridged) await(text string) string {
	b.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case line, ok := <-b.lines:
			if !ok {
				b.t.Fatalf("the bridge ended before %s", text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			b.t.Fatalf("%s did not arrive", text)
		}
	}
}

func (b *bridged) hello() {
	b.send(`"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`)
	b.await(`"id":0,"result"`)
	b.send(`"method":"notifications/initialized"`)
}

func (b *bridged) end() {
	b.t.Helper()
	b.to.Close()
	select {
	case err := <-b.done:
		if err != nil {
			b.t.Errorf("Bridge = %v", err)
		}
	case <-time.After(2 * time.Minute):
		b.t.Error("the bridge did not end")
	}
}

// A subscription of the client survives a restart of the server.
func TestBridgeOverRestart(t *testing.T) {
	addr, stop := listen(t, demo.NewClock(), "127.0.0.1:0")
	b := overBridge(t, t.Context(), addr)
	b.hello()
	b.send(`"id":1,"method":"resources/subscribe","params":{"uri":"clock://now"}`)
	b.await(`"id":1,"result"`)
	b.await("resources/updated")
	stop()
	b.send(`"id":2,"method":"tools/call","params":{"name":"now"}`) // waits for the next server
	_, stop = listen(t, demo.NewClock(), addr)
	defer stop()
	if line := b.await(`"id":2,`); !strings.Contains(line, "result") && !strings.Contains(line, "BACKEND_DISCONNECTED") {
		t.Errorf("the call during the restart: %s", line)
	}
	b.await("resources/updated")
	b.await("resources/updated")
	b.send(`"id":3,"method":"tools/call","params":{"name":"now"}`)
	b.await(`"id":3,"result"`)
	b.end()
}

// Invalid JSON gets an error, a batch is split, and requests go both ways.
func TestBridgeLines(t *testing.T) {
	s := demo.New("asker", "1")
	s.AddTool(demo.Tool{Name: "ask", Handle: func(c *demo.Call) (any, error) {
		answer, err := c.Ask("roots/list", struct{}{})
		return demo.Text("%s", answer), err
	}})
	addr, stop := listen(t, s, "127.0.0.1:0")
	before := runtime.NumGoroutine()
	b := overBridge(t, t.Context(), addr)
	io.WriteString(b.to, "garbage\n\n")
	b.await(`"id":null,"error":{"code":-32700`)
	b.hello()
	io.WriteString(b.to, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}]`+"\n")
	var id json.RawMessage
	var question struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(b.await(`"method":"roots/list"`)), &question); err != nil {
		t.Fatal(err)
	}
	id = question.ID
	b.send(fmt.Sprintf(`"id":%s,"result":{"roots":[{"uri" : "file:///a"}]}`, id))
	if line := b.await(`"id":2,`); !strings.Contains(line, `{\"uri\" : \"file:///a\"}`) {
		t.Errorf("ask = %s", line)
	}
	b.end()
	stop() // also closes the bridge's connections
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 64<<10)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// The bridge ends with its context, even if requests are pending.
func TestBridgeEnds(t *testing.T) {
	addr, stop := listen(t, demo.NewClock(), "127.0.0.1:0")
	defer stop()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := overBridge(t, ctx, addr)
	b.hello()
	b.send(`"id":1,"method":"tools/call","params":{"name":"wait","arguments":{"seconds":60}}`)
	cancel(enough)
	if err := <-b.done; err != enough {
		t.Errorf("Bridge = %v", err)
	}
	b.to.Close()
	if err := Bridge(t.Context(), "no such address", "", "", nil, nil, nil); err == nil {
		t.Error("an invalid address was accepted")
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b = overBridge(t, t.Context(), l.Addr().String())
	b.send(`"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	b.end()
}
