package interop

import (
	"os/exec"
	"testing"
)

var javaLimits = knownLimits{
	alone: []pyLimit{
		{clients: ".*", servers: ".*", talks: "cancel", why: "the Java SDK neither sends nor handles notifications/cancelled"},
		{clients: ".*", servers: ".*", talks: "either", why: "the Java SDK speaks the legacy era only"},
		{clients: ".*", servers: ".*", talks: "tree", why: "the Java SDK does not support {path*}"},
		{clients: ".*", servers: "java-http", talks: "prompts|resources", skip: true, why: "the Java SDK's server closes the connection instead of returning an error, also without the gateway (17 of 150 reads)"},
	},
	through: []pyLimit{
		{clients: "java over SSE", servers: ".*", talks: "mixed|link", why: "over SSE the Java SDK negotiates 2024-11-05, which has neither audio nor links: the gateway replaces them with text"},
	},
	apart: []pyLimit{
		{clients: "java, all servers", servers: ".*", talks: "list", members: members(`.*\._meta\.goblin-actor/.*`), why: "with all servers in one list, each item names its server"},
	},
}

// TestJava compares what clients of the Java SDK see of its servers directly and through the gateway. It omits
// the SDK's HTTP+SSE server, which loses sessions even without the gateway.
func TestJava(t *testing.T) {
	needProgram(t, "java/classes/Client.class", "run make interop-java, with Java 17 or newer and Maven")
	java := func(arguments ...string) *exec.Cmd {
		return exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-cp", absolute(t, "java/lib") + "/*:" + absolute(t, "java/classes")}, arguments...)...)
	}
	client := func(*testing.T) *exec.Cmd { return java("Client") }
	clients := []sdkClient{
		{pyClient{name: "java", library: "java", path: "/s/%s/mcp"}, client},
		{pyClient{name: "java over SSE", library: "java", path: "/s/%s/sse"}, client},
		{pyClient{name: "java, all servers", library: "java", path: "/mcp"}, client},
	}
	stdio := map[string]any{"command": "java", "args": java("Server", "stdio").Args[1:]}
	http, sse := freePort(t), freePort(t)
	streamable := map[string]any{"url": "http://127.0.0.1:" + http + "/mcp"}
	startPeer(t, "java", java("Server", http, sse))
	testSDK(t, clients, []*pyServer{
		{library: "java", way: "stdio", to: stdio, config: stdio},
		{library: "java", way: "http", to: streamable, config: streamable},
	}, javaLimits)
}
