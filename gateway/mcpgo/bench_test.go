package mcpgo_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"goblin-actor/gateway"
	"goblin-actor/gateway/mcpgo"
)

// stdioVariable makes this program run as an mcp-go server on stdin and stdout.
const stdioVariable = "MCPGO_TEST_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(stdioVariable) != "" {
		if err := server.ServeStdio(echoServer()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func echoServer() *server.MCPServer {
	s := server.NewMCPServer("one", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
	return s
}

// BenchmarkCall compares a call of an mcp-go server in this process with one of the same server in a process of its own.
func BenchmarkCall(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]gateway.Server{
		"embedded": {Connect: mcpgo.Server(echoServer())},
		"stdio":    {Command: self, Env: map[string]string{stdioVariable: "1"}},
	} {
		g, err := gateway.Start(b.Context(), gateway.Config{Servers: map[string]gateway.Server{"one": s}})
		if err != nil {
			b.Fatal(err)
		}
		arguments := map[string]any{"text": "hello"}
		call := func(b *testing.B) {
			if result, err := g.CallTool(b.Context(), "one_echo", arguments, nil); err != nil || result.Text() != "hello" {
				b.Errorf("one_echo: got %v, %v, want its argument", result, err)
			}
		}
		b.Run(name+"/one", func(b *testing.B) {
			for b.Loop() {
				call(b)
			}
		})
		b.Run(name+"/sixteen", func(b *testing.B) {
			b.SetParallelism(8) // times GOMAXPROCS
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					call(b)
				}
			})
		})
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	}
}
