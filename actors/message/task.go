package message

import "strings"

// ExtensionTasks is the extension whose tasks pass through the gateway. MCP 2026-07-28, extensions/tasks.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// taskScheme cannot stand in front of a URI.
const taskScheme = "\x00task:"

// TaskURI stands for a task of a modern server where subscriptions are counted by the server's own URI: whoever wants to
// hear of a task subscribes to this. id is the server's own.
func TaskURI(id string) string { return taskScheme + id }

// TaskOf returns the task's id when uri is a TaskURI.
func TaskOf(uri string) (id string, ok bool) { return strings.CutPrefix(uri, taskScheme) }
