package output

import (
	"strings"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// Offer describes the state of a server and what it offers, as in "ready, 9 tools, 1 prompt".
func Offer(server *status.Server) string {
	parts := []string{server.State}
	if server.State == string(message.Idle) {
		parts[0] = "idle; starts on its first call"
	}
	for _, kind := range []struct {
		n    int
		what string
	}{{server.Tools, "tool"}, {server.Prompts, "prompt"}, {server.Resources, "resource"}, {server.Templates, "template"}} {
		if kind.n > 0 {
			parts = append(parts, terminal.Count(kind.n, kind.what))
		}
	}
	if server.OffersNothing() {
		parts = append(parts, "offers nothing")
	}
	return strings.Join(parts, ", ")
}
