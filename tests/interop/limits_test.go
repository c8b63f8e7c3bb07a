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
	proof   string // Markdown: the place in the peer's source or in the specification
}

const (
	mcpGoSource = "https://github.com/mark3labs/mcp-go/blob/v1.2.1/"
	spec        = "https://modelcontextprotocol.io/specification/"
)

var limits = []limit{
	{
		key: "a", talks: []string{"elicit", "sample", "roots"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.name == "mcp-go 1.2.1, SSE" },
		why:     "mcp-go's sessions over HTTP+SSE cannot ask: `session does not support elicitation`",
		proof:   "[elicitation.go](" + mcpGoSource + "server/elicitation.go#L31) wants a session that can, [sse.go](" + mcpGoSource + "server/sse.go) has none",
	},
	{
		key: "b", talks: []string{"elicit", "sample", "roots"},
		applies: func(c caller, f *fixture, talk string) bool {
			return strings.HasPrefix(c.name, "mcp-go") && c.way == overSSE && !(talk == "roots" && strings.HasPrefix(f.name, "server-everything"))
		},
		why:   "mcp-go's client over HTTP+SSE takes whatever has an id for an answer, and answers no question",
		proof: "[sse.go](" + mcpGoSource + "client/transport/sse.go#L473-L507)",
	},
	{
		key: "c", talks: []string{"elicit"},
		applies: func(_ caller, f *fixture, _ string) bool { return f.version < "2025-06-18" },
		why:     "the server's version knows no elicitation", proof: "[changes of 2025-06-18](" + spec + "2025-06-18/changelog)",
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
