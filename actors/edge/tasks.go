package edge

import (
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// HasLegacyTasks reports whether a server can be asked to do tools/call as a task, in the manner of 2025-11-25.
func HasLegacyTasks(server *catalog.Server) bool {
	if server.Protocol != protocol.Version20251125 || len(server.Capabilities) == 0 {
		return false
	}
	raw := server.Capabilities
	span := protocol.Span{End: uint32(len(raw))}
	for _, key := range []string{"tasks", "requests", "tools", "call"} {
		if span = protocol.Member(raw, span, key); !span.Present() || raw[span.Off] != '{' {
			return false
		}
	}
	return true
}

// WithoutTasks prepares a call of a client that wants no task, or knows none: it gets none, whatever the tool is.
func WithoutTasks(r *message.Request, tool *catalog.Entry) {
	r.Plain()
	if tool == nil {
		return
	}
	execution := protocol.Member(tool.Source, protocol.Span{End: uint32(len(tool.Source))}, "execution")
	if support, _ := protocol.Unquote(protocol.Member(tool.Source, execution, "taskSupport").Of(tool.Source)); support == "required" {
		r.Followed()
	}
}

// PublicTask makes a server's own task id, at span, the one that clients know.
func PublicTask(edits []protocol.Edit, raw []byte, span protocol.Span, server string) []protocol.Edit {
	if own, ok := protocol.Unquote(span.Of(raw)); ok {
		return append(edits, protocol.Edit{Span: span, With: protocol.Quote(PublicTaskID(server, own))})
	}
	return edits
}

// PublicTaskID is the id by which clients know a task of a server.
func PublicTaskID(server, own string) string { return server + "/" + own }

// HasModernTasks reports whether a server has the extension.
func HasModernTasks(server *catalog.Server) bool {
	return Declares(server.Capabilities, message.ExtensionTasks) && extensionsOf(server, protocol.EraModern)[message.ExtensionTasks] != nil
}

// TaskServer finds the server a public task id leads to, and its own id; nil if there is none in view that has tasks.
func TaskServer(view *catalog.View, id string, has func(*catalog.Server) bool) (server *catalog.Server, own string) {
	name, own, _ := strings.Cut(id, "/")
	for _, server := range view.Servers() {
		if server.Name == name && own != "" && has(server) {
			return server, own
		}
	}
	return nil, ""
}

// UndeclaredTasksFault refuses a client that asks for tasks without having declared that it knows them.
func UndeclaredTasksFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ClientCannotAnswer, Required: []byte(needsTasks), Message: "the client has not declared the extension " + message.ExtensionTasks}
}

// needsTasks is what a client has to declare for tasks.
const needsTasks = `{"extensions":{"` + message.ExtensionTasks + `":{}}}`
