package protocol

// Bindings are the arguments of a tool that its server wants repeated in Mcp-Param headers, compiled from the x-mcp-header
// annotations of its inputSchema. They are immutable. A nil *Bindings binds nothing: most tools have none.
// // MCP 2026-07-28, basic/transports/streamable-http, custom headers
type Bindings struct{}

// CompileBindings reads the annotations of a tool, a checked JSON object; nil when it has none. An error says which annotation is invalid: such a
// tool is left out of the list of a modern server behind HTTP.
func CompileBindings(rawTool []byte) (*Bindings, error) { return nil, nil }

// Check compares the Mcp-Param headers of a request with its arguments (raw JSON object, nil = none); nil when they agree.
// Other Mcp-Param headers are ignored. header as in EraOf, never nil.
func (b *Bindings) Check(header func(name string) string, args []byte) *Fault { return nil }

// Headers returns the Mcp-Param headers that repeat the arguments; none for what is absent, null or no value for a header.
func (b *Bindings) Headers(args []byte) []HeaderField { return nil }
