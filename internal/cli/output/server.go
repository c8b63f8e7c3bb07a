package output

import (
	"strings"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

func OffersNothing(server *status.Server) bool {
	return server.Tools+server.Prompts+server.Resources+server.Templates == 0
}

// Offer says what a server that is there offers: "ready, 9 tools, 1 prompt".
func Offer(server *status.Server) string {
	parts := []string{server.State}
	if server.State == string(message.Idle) {
		parts[0] = "idle, it starts with its first call"
	}
	for _, kind := range []struct {
		n    int
		what string
	}{{server.Tools, "tool"}, {server.Prompts, "prompt"}, {server.Resources, "resource"}, {server.Templates, "template"}} {
		if kind.n > 0 {
			parts = append(parts, terminal.Count(kind.n, kind.what))
		}
	}
	if OffersNothing(server) {
		parts = append(parts, "it offers nothing")
	}
	return strings.Join(parts, ", ")
}
