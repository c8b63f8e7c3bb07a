package limits

import "errors"

// ErrNoTarget is returned if the target does not list its tools.
var ErrNoTarget = errors.New("the target did not respond as an MCP endpoint")

// ErrNoTool is returned if no tool has the name in the options.
var ErrNoTool = errors.New("no such tool")

// ErrNothing is returned if no server has a tool that may be called.
var ErrNothing = errors.New("no server to measure")
