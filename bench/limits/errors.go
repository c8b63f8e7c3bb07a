package limits

import "errors"

// ErrNoTarget means that the target does not list its tools.
var ErrNoTarget = errors.New("the target did not respond as an MCP endpoint")

// ErrNoTool means that no tool has the name in the options.
var ErrNoTool = errors.New("no such tool")

// ErrNothing means that no server has a tool that may be called.
var ErrNothing = errors.New("no server to measure")
