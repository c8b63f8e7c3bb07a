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

// HasLegacyTasks reports whether a server can be asked to do tools/call as a task, in the manner of 2025-11-25.
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

// WithoutTasks prepares a call of a client that wants no task, or knows none: it gets none, whatever the tool is.
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

// PublicTask makes a server's own task id, at span, the one that clients know.
func PublicTask(edits []rawjson.Edit, raw []byte, span rawjson.Span, server string) []rawjson.Edit {
	if own, ok := rawjson.Unquote(span.Of(raw)); ok {
		return append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(PublicTaskID(server, own))})
	}
	return edits
}

// PublicTaskID is the id by which clients know a task of a server.
func PublicTaskID(server, own string) string { return server + "/" + own }

// TaskIDs are the ids by which the clients of one principal know tasks of modern servers, of which nothing is kept here: behind the server's own
// id stands what only this principal's ids have there. Without a principal there is nothing: everybody may name every task.
type TaskIDs struct {
	Sealer    *seal.Sealer
	Principal string // message.PrincipalOf; "" = nobody was asked
}

// taskMark stands before what makes a task's id its principal's. It is not in that.
const taskMark = "~"

// Public is the id by which the principal knows a task of a server. It is the same each time, as servers name tasks again.
func (t TaskIDs) Public(server, own string) string {
	id := PublicTaskID(server, own)
	if t.Principal == "" {
		return id
	}
	return id + taskMark + t.Sealer.TaskTag(t.Principal, server, own)
}

// own returns a public id without what makes it the principal's; false if it is another's, or nobody's.
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

// Edit makes a server's own task id, at span, the one that the principal knows.
func (t TaskIDs) Edit(edits []rawjson.Edit, raw []byte, span rawjson.Span, server string) []rawjson.Edit {
	if own, ok := rawjson.Unquote(span.Of(raw)); ok {
		return append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(t.Public(server, own))})
	}
	return edits
}

// ModernTask finds the server that a principal's id of a task leads to, and its own id; nil if there is none in view that has tasks.
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

// HasModernTasks reports whether a server has the extension.
func HasModernTasks(server *catalog.Server) bool {
	return Declares(server.Capabilities, message.ExtensionTasks) && extensionsOf(server, protocol.EraModern)[message.ExtensionTasks] != nil
}

// UndeclaredTasksFault refuses a client that asks for tasks without having declared that it knows them.
func UndeclaredTasksFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ClientCannotAnswer, Required: []byte(needsTasks), Message: "the client has not declared the extension " + message.ExtensionTasks}
}

// needsTasks is what a client has to declare for tasks.
const needsTasks = `{"extensions":{"` + message.ExtensionTasks + `":{}}}`
