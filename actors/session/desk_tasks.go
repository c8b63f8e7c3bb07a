package session

import (
	"slices"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Tasks of modern servers pass through to modern clients (extension io.modelcontextprotocol/tasks). Their ids are made
// unique: clients know a task as <server>/<the server's own id>. Nothing is kept of a task here, so it outlives us.
const needsTasks = `{"extensions":{"` + message.ExtensionTasks + `":{}}}`

// taskTarget finds the server of the task that a request names. Without the extension on the client's side no server is
// asked; without a server that has it the method does not exist.
func taskTarget(view *catalog.View, x *downstream.Exchange) (target, *protocol.Fault) {
	raw := x.Frame.Raw
	switch {
	case !slices.ContainsFunc(view.Servers(), modernTasks):
		return target{}, protocol.NoMethod(x.Frame.MethodText())
	case !declares(x.Params.MetaCapabilities.Of(raw), message.ExtensionTasks):
		return target{}, undeclaredTasks()
	}
	id, _ := protocol.Unquote(x.Params.TaskID.Of(raw))
	server, own := taskServer(view, id, modernTasks)
	if server == nil {
		return target{}, protocol.BadParams("Unknown task: " + cut(id, 300))
	}
	return target{server: server, original: own, span: x.Params.TaskID}, nil
}

// modernTasks reports whether a server has the extension.
func modernTasks(server *catalog.Server) bool { return offers(server, message.ExtensionTasks, true) }

// taskServer finds the server a public task id leads to, and its own id; nil if there is none in view that has tasks.
func taskServer(view *catalog.View, id string, has func(*catalog.Server) bool) (server *catalog.Server, own string) {
	name, own, _ := strings.Cut(id, "/")
	for _, server := range view.Servers() {
		if server.Name == name && own != "" && has(server) {
			return server, own
		}
	}
	return nil, ""
}

func undeclaredTasks() *protocol.Fault {
	return &protocol.Fault{Name: protocol.ClientCannotAnswer, Required: []byte(needsTasks), Message: "the client has not declared the extension " + message.ExtensionTasks}
}

// declares reports whether capabilities, a raw JSON object, have the extension.
func declares(capabilities []byte, extension string) bool {
	whole := protocol.Span{End: uint32(len(capabilities))}
	if whole.End == 0 {
		return false
	}
	settings := protocol.Member(capabilities, protocol.Member(capabilities, whole, "extensions"), extension).Of(capabilities)
	return settings != nil && settings[0] == '{'
}

// publicTask puts the server's name in front of the task id in a result: of a call that became a task, or of tasks/get.
// What the task has come to is the result of a call, with the URIs of one.
func publicTask(edits []protocol.Edit, v *visit, info *protocol.ResultInfo, f *protocol.Frame) []protocol.Edit {
	switch {
	case v.Method == protocol.MethodTasksGet:
		inlined := *f
		if inlined.Result = protocol.Member(f.Raw, f.Result, "result"); inlined.Result.Present() && f.Raw[inlined.Result.Off] == '{' {
			edits = append(edits, catalog.RewriteResult(v.view, v.server, protocol.MethodToolsCall, &inlined)...)
		}
	case v.Method != protocol.MethodToolsCall || info.KindOf(v.Method, f) != protocol.ResultTask:
		return edits
	}
	return publicID(edits, f.Raw, protocol.Member(f.Raw, f.Result, "taskId"), v.Server)
}
