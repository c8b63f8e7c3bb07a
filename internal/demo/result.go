package demo

import (
	"encoding/json"
	"fmt"
)

// JSON-RPC error codes of the demo servers.
const (
	codeInvalidRequest   = -32600
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codeResourceNotFound = -32002 // MCP 2025-11-25, server/resources
)

// Error is a JSON-RPC error returned by a handler.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil = none
}

// Error returns message and code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// ToolResult is the result of a tool. MCP 2025-11-25, server/tools.
type ToolResult struct {
	Content    []Content `json:"content"`
	Structured any       `json:"structuredContent,omitempty"` // since 2025-06-18
	IsError    bool      `json:"isError,omitempty"`
}

// Content is a block of text.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ReadResult is the result of reading a resource.
type ReadResult struct {
	Contents []ResourceText `json:"contents"`
}

// ResourceText is the text of a resource.
type ResourceText struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
}

// PromptResult is the result of a prompt.
type PromptResult struct {
	Description string    `json:"description,omitempty"`
	Messages    []Message `json:"messages"`
}

// Message is a message of a prompt.
type Message struct {
	Role    string  `json:"role"` // user | assistant
	Content Content `json:"content"`
}

// Text returns a tool result with one text block.
func Text(format string, args ...any) ToolResult {
	return ToolResult{Content: []Content{{Type: "text", Text: fmt.Sprintf(format, args...)}}}
}

// Failed returns the result of a tool that ran and failed.
func Failed(format string, args ...any) ToolResult {
	r := Text(format, args...)
	r.IsError = true
	return r
}
