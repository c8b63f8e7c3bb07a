package interop

import (
	"slices"
	"strings"
)

// limit is a reason, other than the gateway, why a conversation fails: a peer lacks a feature, or the specification rules it out.
type limit struct {
	key     string // letter in the matrix
	applies func(c caller, f *fixture, talk string) bool
	talks   []string
	why     string
	proof   string      // Markdown link to the peer's source or to the specification
	chance  bool        // the conversation sometimes passes
	direct  [][2]string // pairs of client and server for which withoutTheGateway shows the same limit
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
		why:     "the inspector's command line sends one request and exits: it answers no requests, waits for no notifications and hides error codes",
		proof:   "[its methods](https://github.com/modelcontextprotocol/inspector/blob/2.12.0/README.md)",
	},
	{
		key: "b", talks: []string{"elicit"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.version < "2025-06-18" },
		why:     "the server's version does not define elicitation, so the server cannot send such a request", proof: "[changes of 2025-06-18](" + spec + "2025-06-18/changelog)",
	},
	{
		key: "c", talks: []string{"elicit", "sample", "roots"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.name == "mcp-go 1.2.1, SSE" },
		direct:  [][2]string{{"TypeScript v1 1.32.2 2025-11-25 over SSE", "mcp-go 1.2.1, SSE"}},
		why:     "mcp-go's server cannot send requests over HTTP+SSE: `session does not support elicitation`",
		proof:   "[elicitation.go](" + mcpGoSource + "server/elicitation.go#L31) requires a session with elicitation, [sse.go](" + mcpGoSource + "server/sse.go) has none",
	},
	{
		key: "d", talks: []string{"elicit", "sample", "roots"},
		applies: func(c caller, f *fixture, talk string) bool {
			return strings.HasPrefix(c.name, "mcp-go") && c.way == overSSE && !(talk == "roots" && strings.HasPrefix(f.name, "server-everything"))
		},
		direct: [][2]string{{"mcp-go 1.2.1 2025-11-25 over SSE", "server-everything 2026.8.31, SSE"}},
		why:    "mcp-go's client over HTTP+SSE treats every message with an id as a response, so it answers no server requests",
		proof:  "[sse.go](" + mcpGoSource + "client/transport/sse.go#L473-L507)",
	},
	{
		key: "e", talks: []string{"log"}, chance: true,
		applies: func(c caller, f *fixture, _ string) bool {
			return c.version >= modernVersion && strings.HasPrefix(f.name, "server-everything")
		},
		why:   "server-everything logs from a timer, outside any call; a 2026-07-28 client receives only the log lines of its own requests",
		proof: "[logging](" + spec + "2026-07-28/server/utilities/logging)",
	},
	{
		key: "f", talks: []string{"updated"}, chance: true, // it passes when the gateway also has a legacy connection, which receives broadcasts
		applies: func(_ caller, f *fixture, _ string) bool { return f.name == "mcp-go 1.2.1, HTTP, modern" },
		direct:  [][2]string{{"go-sdk 1.8.0 2026-07-28 over HTTP", "mcp-go 1.2.1, HTTP, modern"}},
		why:     "mcp-go's server cannot send resource updates to listen streams over HTTP: its broadcasts exclude them, and the stream has no session to send to",
		proof:   "[subscriptions.go](" + mcpGoSource + "server/subscriptions.go#L211-L222)",
	},
	{
		key: "g", talks: []string{"roots"},
		applies: func(c caller, f *fixture, _ string) bool {
			return strings.HasPrefix(c.name, "go-sdk") && c.version >= modernVersion && f.version >= modernVersion &&
				(strings.HasPrefix(f.name, "mcp-go") || strings.HasPrefix(f.name, "TypeScript"))
		},
		direct: [][2]string{{"go-sdk 1.8.0 2026-07-28 over HTTP", "mcp-go 1.2.1, HTTP, modern"}, {"go-sdk 1.8.0 2026-07-28 over HTTP", "TypeScript v2 2.4.0, HTTP, modern"}},
		why:    "go-sdk's client rejects input requests without `params`. These servers omit it, as the specification allows",
		proof:  "[protocol.go](https://github.com/modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/protocol.go#L119-L123)",
	},
}

// limitOf returns the limit that prevents a conversation between the client and the server, or nil.
func limitOf(c caller, f *fixture, talk string) *limit {
	i := slices.IndexFunc(limits, func(l limit) bool { return slices.Contains(l.talks, talk) && l.applies(c, f, talk) })
	if i < 0 {
		return nil
	}
	return &limits[i]
}
