package interop

import (
	"slices"
	"strings"
)

// limit is something a peer cannot do, whoever it talks to.
type limit struct {
	key     string // in the matrix
	applies func(c caller, f *fixture, talk string) bool
	talks   []string
	why     string
	proof   string      // Markdown: the place in the peer's source or in the specification
	chance  bool        // it may work all the same, now and then
	direct  [][2]string // client, server: withoutTheGateway shows the same with them
}

const (
	inspectorName = "inspector 2.12.0 --cli"

	mcpGoSource = "https://github.com/mark3labs/mcp-go/blob/v1.2.1/"
	spec        = "https://modelcontextprotocol.io/specification/"
)

var limits = []limit{
	{
		key: "a", talks: []string{"progress", "cancel", "elicit", "sample", "roots", "updated", "list_changed", "not found", "complete", "log"},
		applies: func(c caller, _ *fixture, _ string) bool { return c.name == inspectorName },
		why:     "the inspector's command line makes one request and ends; it answers nothing, waits for nothing and hides error numbers",
		proof:   "[its methods](https://github.com/modelcontextprotocol/inspector/blob/2.12.0/README.md)",
	},
	{
		key: "b", talks: []string{"elicit"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.version < "2025-06-18" },
		why:     "the server's version does not define elicitation, so the server cannot ask", proof: "[changes of 2025-06-18](" + spec + "2025-06-18/changelog)",
	},
	{
		key: "c", talks: []string{"elicit", "sample", "roots"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.name == "mcp-go 1.2.1, SSE" },
		direct:  [][2]string{{"TypeScript v1 1.32.2 2025-11-25 over SSE", "mcp-go 1.2.1, SSE"}},
		why:     "mcp-go's sessions over HTTP+SSE cannot ask: `session does not support elicitation`",
		proof:   "[elicitation.go](" + mcpGoSource + "server/elicitation.go#L31) wants a session that can, [sse.go](" + mcpGoSource + "server/sse.go) has none",
	},
	{
		key: "d", talks: []string{"elicit", "sample", "roots"},
		applies: func(c caller, f *fixture, talk string) bool {
			return strings.HasPrefix(c.name, "mcp-go") && c.way == overSSE && !(talk == "roots" && strings.HasPrefix(f.name, "server-everything"))
		},
		direct: [][2]string{{"mcp-go 1.2.1 2025-11-25 over SSE", "server-everything 2026.8.31, SSE"}},
		why:    "mcp-go's client over HTTP+SSE takes whatever has an id for an answer, and answers no question",
		proof:  "[sse.go](" + mcpGoSource + "client/transport/sse.go#L473-L507)",
	},
	{
		key: "e", talks: []string{"log"}, chance: true,
		applies: func(c caller, f *fixture, _ string) bool {
			return c.version >= modernVersion && strings.HasPrefix(f.name, "server-everything")
		},
		why:   "server-everything logs by a timer, outside any call; a client of 2026-07-28 gets the log lines of its requests only",
		proof: "[logging](" + spec + "2026-07-28/server/utilities/logging)",
	},
	{
		key: "f", talks: []string{"updated"}, chance: true, // a legacy connection beside it gets what is broadcast
		applies: func(_ caller, f *fixture, _ string) bool { return f.name == "mcp-go 1.2.1, HTTP, modern" },
		direct:  [][2]string{{"go-sdk 1.8.0 2026-07-28 over HTTP", "mcp-go 1.2.1, HTTP, modern"}},
		why:     "mcp-go's server cannot send the updates that were listened for over HTTP: what it broadcasts leaves them out, and the listener is no session one could send them to",
		proof:   "[subscriptions.go](" + mcpGoSource + "server/subscriptions.go#L211-L222)",
	},
	{
		key: "g", talks: []string{"roots"},
		applies: func(c caller, f *fixture, _ string) bool {
			return strings.HasPrefix(c.name, "go-sdk") && c.version >= modernVersion && f.version >= modernVersion &&
				(strings.HasPrefix(f.name, "mcp-go") || strings.HasPrefix(f.name, "TypeScript"))
		},
		direct: [][2]string{{"go-sdk 1.8.0 2026-07-28 over HTTP", "mcp-go 1.2.1, HTTP, modern"}, {"go-sdk 1.8.0 2026-07-28 over HTTP", "TypeScript v2 2.4.0, HTTP, modern"}},
		why:    "go-sdk's client takes no input request without `params`, which these servers leave out and which may be left out",
		proof:  "[protocol.go](https://github.com/modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/protocol.go#L119-L123)",
	},
}

// limitOf returns what keeps this client and this server from this conversation; nil is nothing.
func limitOf(c caller, f *fixture, talk string) *limit {
	i := slices.IndexFunc(limits, func(l limit) bool { return slices.Contains(l.talks, talk) && l.applies(c, f, talk) })
	if i < 0 {
		return nil
	}
	return &limits[i]
}
