package limits

import "errors"

// ErrNoTarget is returned by Run when the target does not list its tools.
var ErrNoTarget = errors.New("the target does not answer as an MCP endpoint")

// ErrNoTool is returned by Run when no tool has the name that a person gave.
var ErrNoTool = errors.New("there is no such tool")

// ErrNothing is returned by Run when no server has a tool it may call.
var ErrNothing = errors.New("there is no server to measure")
