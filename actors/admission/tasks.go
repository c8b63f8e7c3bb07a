package admission

import (
	"crypto/hmac"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// HasLegacyTasks reports whether a server can run tools/call as a task of 2025-11-25.
func HasLegacyTasks(server *catalog.Server) bool {
	if server.Protocol != protocol.Version20251125 || len(server.Capabilities) == 0 {
		return false
	}
	raw := server.Capabilities
	span := rawjson.Span{End: uint32(len(raw))}
	for _, key := range []string{"tasks", "requests", "tools", "call"} {
		if span = rawjson.Member(raw, span, key); !span.Present() || raw[span.Off] != '{' {
			return false
		}
	}
	return true
}

// WithoutTasks changes a tools/call of a client that does not want a task or does not know tasks. The client gets a plain result, even
// if the tool requires a task: then the gateway creates the task and waits for it.
func WithoutTasks(r *message.Request, tool *catalog.Entry) {
	r.Plain()
	if tool == nil {
		return
	}
	execution := rawjson.Member(tool.Source, rawjson.Span{End: uint32(len(tool.Source))}, "execution")
	if support, _ := rawjson.Unquote(rawjson.Member(tool.Source, execution, "taskSupport").Of(tool.Source)); support == "required" {
		r.Followed()
	}
}

// PublicTask replaces a server's own task id, at span, with the public one.
func PublicTask(edits []rawjson.Edit, raw []byte, span rawjson.Span, server string) []rawjson.Edit {
	if own, ok := rawjson.Unquote(span.Of(raw)); ok {
		return append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(PublicTaskID(server, own))})
	}
	return edits
}

// PublicTaskID returns the id by which clients know a server's task.
func PublicTaskID(server, own string) string { return server + "/" + own }

// TaskIDs translates task ids of modern servers. The gateway stores nothing about the tasks themselves. A public id
// ends with a tag that depends on the principal. Without authentication there is no tag, and any client may name any
// task.
type TaskIDs struct {
	Sealer    *seal.Sealer
	Principal string // message.PrincipalOf; "" = not authenticated
}

// taskMark separates a task id from its principal's tag. Tags do not contain it.
const taskMark = "~"

// Public returns the id by which the principal knows a server's task. It is always the same, because servers may name a
// task repeatedly.
func (t TaskIDs) Public(server, own string) string {
	id := PublicTaskID(server, own)
	if t.Principal == "" {
		return id
	}
	return id + taskMark + t.Sealer.TaskTag(t.Principal, server, own)
}

// own returns a public id without its tag. It returns false if the tag is missing or belongs to another principal.
func (t TaskIDs) own(id string) (string, bool) {
	if t.Principal == "" {
		return id, true
	}
	at := strings.LastIndex(id, taskMark)
	if at < 0 {
		return "", false
	}
	server, own, _ := strings.Cut(id[:at], "/")
	return id[:at], hmac.Equal([]byte(t.Public(server, own)), []byte(id))
}

// Edit replaces a server's own task id, at span, with the principal's public id.
func (t TaskIDs) Edit(edits []rawjson.Edit, raw []byte, span rawjson.Span, server string) []rawjson.Edit {
	if own, ok := rawjson.Unquote(span.Of(raw)); ok {
		return append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(t.Public(server, own))})
	}
	return edits
}

// ModernTask returns the server and its own task id for a principal's public id. The server is nil if the id is not the principal's,
// or if no server in view with that name has the tasks extension.
func ModernTask(view *catalog.View, id string, ids TaskIDs) (server *catalog.Server, own string) {
	plain, theirs := ids.own(id)
	if !theirs {
		return nil, ""
	}
	name, own, _ := strings.Cut(plain, "/")
	for _, server := range view.Servers() {
		if server.Name == name && own != "" && HasModernTasks(server) {
			return server, own
		}
	}
	return nil, ""
}

// HasModernTasks reports whether a server has the tasks extension.
func HasModernTasks(server *catalog.Server) bool {
	return Declares(server.Capabilities, message.ExtensionTasks) && extensionsOf(server, protocol.EraModern)[message.ExtensionTasks] != nil
}

// UndeclaredTasksFault returns the error for a client that uses tasks without having declared the extension.
func UndeclaredTasksFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ClientCannotAnswer, Required: []byte(needsTasks), Message: "the client has not declared the extension " + message.ExtensionTasks}
}

// needsTasks is the capability that a client must declare for tasks.
const needsTasks = `{"extensions":{"` + message.ExtensionTasks + `":{}}}`
