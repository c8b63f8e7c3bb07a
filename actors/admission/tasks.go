package admission

import (
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
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
// task. In a cluster, the id of a task names the node if each node has a process of the server.
type TaskIDs struct {
	Sealer    *seal.Sealer
	Principal string // message.PrincipalOf; "" = not authenticated

	// Hop says that the client is another node of the cluster. It gets the server's own ids: that node makes them public.
	Hop bool
}

const (
	// taskMark separates a task id from its principal's tag. Tags do not contain it.
	taskMark = "~"

	// taskNodeMark separates the name of a task's server from the incarnation of its node. Names do not contain it.
	taskNodeMark = "@"
)

// Public returns the id by which the principal knows a server's task. It is always the same, because servers may name a
// task repeatedly.
func (t TaskIDs) Public(server *catalog.Server, own string) string {
	if t.Hop {
		return own
	}
	place := server.Name
	if node := t.Sealer.Node(); node != "" && (server.Rules.Run == "" || server.Rules.Run == config.RunEach) && !server.Rules.Remote() {
		place += taskNodeMark + node
	}
	id := PublicTaskID(place, own)
	if t.Principal == "" {
		return id
	}
	return id + taskMark + t.Sealer.TaskTag(t.Principal, place, own)
}

// parse splits a public id into the server's name, the incarnation of the node that has the task ("" = any node) and the
// server's own id. It returns false if the principal's tag is missing or belongs to another principal.
func (t TaskIDs) parse(id string) (server, node, own string, ok bool) {
	tag := ""
	if t.Principal != "" {
		at := strings.LastIndex(id, taskMark)
		if at < 0 {
			return "", "", "", false
		}
		id, tag = id[:at], id[at+len(taskMark):]
	}
	place, own, _ := strings.Cut(id, "/")
	if t.Principal != "" && !t.Sealer.IsTaskTag(tag, t.Principal, place, own) {
		return "", "", "", false
	}
	server, node, _ = strings.Cut(place, taskNodeMark)
	return server, node, own, true
}

// NodeOf returns the incarnation of the node that has a task, or "" if any node can serve it or the id is not the
// principal's.
func (t TaskIDs) NodeOf(id string) string {
	if t.Hop {
		return ""
	}
	_, node, _, _ := t.parse(id)
	return node
}

// Edit replaces a server's own task id, at span, with the principal's public id.
func (t TaskIDs) Edit(edits []rawjson.Edit, raw []byte, span rawjson.Span, server *catalog.Server) []rawjson.Edit {
	if own, ok := rawjson.Unquote(span.Of(raw)); ok {
		return append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(t.Public(server, own))})
	}
	return edits
}

// ModernTask returns the server and its own task id for a principal's public id. The server is nil if the id is not the principal's,
// if another node has the task, or if no server in view with that name has the tasks extension.
func ModernTask(view *catalog.View, id string, ids TaskIDs) (server *catalog.Server, own string) {
	if ids.Hop {
		if servers := view.Servers(); len(servers) == 1 && id != "" && HasModernTasks(servers[0]) {
			return servers[0], id
		}
		return nil, ""
	}
	name, node, own, theirs := ids.parse(id)
	if !theirs || node != "" && node != ids.Sealer.Node() {
		return nil, ""
	}
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
