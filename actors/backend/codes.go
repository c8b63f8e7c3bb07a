package backend

// Error codes of JSON-RPC 2.0 and of the modern era. MCP 2026-07-28, schema.
const (
	codeInvalidRequest     = -32600 // JSON-RPC 2.0
	codeNoMethod           = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeCapabilityRequired = -32021
	codeUnsupportedVersion = -32022
)
