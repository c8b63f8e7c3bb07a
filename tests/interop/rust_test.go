package interop

import (
	"os/exec"
	"testing"
)

var rustLimits = knownLimits{
	alone: []pyLimit{
		{clients: "rust auto.*", servers: "rust-stdio", talks: "elicit|sample|roots", works: true, why: "rmcp's server refuses to send requests to clients of 2026-07-28; the gateway opens a process that speaks both eras in the legacy era"},
		{clients: "rust auto.*", servers: ".*", talks: "elicit|sample|roots", why: "rmcp's server refuses to send requests to clients of 2026-07-28"},
		{clients: "rust auto.*", servers: ".*", talks: "ping", why: "2026-07-28 has no ping"},
		{clients: "rust legacy.*", servers: "rust-stateless", talks: "elicit|either|sample|roots|refuse|subscribe|grow", why: "rmcp's server without sessions sends neither requests nor notifications to legacy clients"},
	},
	through: []pyLimit{
		{clients: "rust legacy.*", servers: "rust-modern", talks: "elicit|sample|roots", why: "the gateway speaks only 2026-07-28 with a server that is configured for it, and rmcp's server refuses to send requests in that version"},
	},
	apart: []pyLimit{
		{clients: "rust auto.*", servers: ".*", talks: ".*", members: members(`.*\.(resultType|ttlMs|cacheScope)`), why: "the gateway answers these clients in the modern era, whose results have these members"},
		{clients: "rust auto.*", servers: ".*", talks: ".*", members: members(`.*\._meta\.io\.modelcontextprotocol/serverInfo.*`), why: "in the modern era, serverInfo describes the gateway"},
		{clients: "rust .*, all servers", servers: ".*", talks: "list", members: members(`.*\._meta\.goblin-actor/.*`), why: "in a list of all servers, each item names its server"},
	},
}

// TestRust compares what clients of rmcp, the Rust SDK, see of its servers directly and through the gateway, in both eras.
func TestRust(t *testing.T) {
	const program = "rust/target/debug/peer"
	needProgram(t, program, "run make interop-rust, with cargo")
	peer := func(arguments ...string) *exec.Cmd { return exec.Command(absolute(t, program), arguments...) }
	client := func(*testing.T) *exec.Cmd { return peer("client") }
	clients := []sdkClient{
		{pyClient{name: "rust auto", library: "rust", mode: "auto", path: "/s/%s/mcp"}, client},
		{pyClient{name: "rust legacy", library: "rust", mode: "legacy", path: "/s/%s/mcp"}, client},
		{pyClient{name: "rust auto, all servers", library: "rust", mode: "auto", path: "/mcp"}, client},
		{pyClient{name: "rust legacy, all servers", library: "rust", mode: "legacy", path: "/mcp"}, client},
	}
	stdio := map[string]any{"command": absolute(t, program), "args": []string{"stdio"}}
	modern := map[string]any{"command": absolute(t, program), "args": []string{"stdio"}, "protocol": modernVersion}
	http, stateless := freePort(t), freePort(t)
	url := func(port string) map[string]any { return map[string]any{"url": "http://127.0.0.1:" + port + "/mcp"} }
	startPeer(t, "rust", peer(http, stateless))
	testSDK(t, clients, []*pyServer{
		{library: "rust", way: "stdio", to: stdio, config: stdio},
		{library: "rust", way: "modern", to: stdio, config: modern},
		{library: "rust", way: "http", to: url(http), config: url(http)},
		{library: "rust", way: "stateless", to: url(stateless), config: url(stateless)},
	}, rustLimits)
}
