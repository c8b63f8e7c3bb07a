package interop

import "strings"

// limit is something a peer cannot do, whoever it talks to.
type limit struct {
	key    string            // in the matrix
	client func(caller) bool // nil = all
	server func(*fixture) bool
	talks  []string
	why    string
	proof  string // Markdown: the place in the peer's source or in the specification
}

func served(part string) func(*fixture) bool {
	return func(f *fixture) bool { return strings.Contains(f.name, part) }
}

const mcpGoSource = "https://github.com/mark3labs/mcp-go/blob/v1.2.1/"

var limits = []limit{
	{"a", nil, served("mcp-go 1.2.1, SSE"), []string{"elicit", "sample", "roots"},
		"mcp-go's server over HTTP+SSE has no way to ask", "[its session](" + mcpGoSource + "server/sse.go)"},
	{"b", func(c caller) bool { return strings.HasPrefix(c.name, "mcp-go") && c.way == overSSE }, nil, []string{"elicit", "sample"},
		"mcp-go's client over HTTP+SSE answers no question", "[its reader](" + mcpGoSource + "client/transport/sse.go)"},
	{"c", nil, func(f *fixture) bool { return f.version < "2025-06-18" }, []string{"elicit"},
		"these versions know no elicitation", "[changes of 2025-06-18](https://modelcontextprotocol.io/specification/2025-06-18/changelog)"},
}
