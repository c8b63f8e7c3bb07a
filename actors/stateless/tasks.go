package stateless

import (
	"slices"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// Tasks of modern servers are passed through to modern clients (extension io.modelcontextprotocol/tasks). Clients know a task as
// <server>/<the server's own id>. With authentication, each principal has ids that only it can use (admission.TaskIDs). The
// gateway stores nothing about a task, so the task outlives the gateway. In a cluster, the front passes a request for a task of another
// node's process on to that node.

// taskTarget returns the server of the task that a request names. If the client has not declared the extension, no server is
// queried. If no server in view has the extension, the method does not exist.
func taskTarget(view *catalog.View, x *downstream.Exchange, ids admission.TaskIDs) (admission.Target, *protocol.Fault) {
	raw := x.Frame.Raw
	switch {
	case !slices.ContainsFunc(view.Servers(), admission.HasModernTasks):
		return admission.Target{}, protocol.NoMethod(x.Frame.MethodText())
	case !admission.Declares(x.Params.MetaCapabilities.Of(raw), message.ExtensionTasks):
		return admission.Target{}, admission.UndeclaredTasksFault()
	}
	id, _ := rawjson.Unquote(x.Params.TaskID.Of(raw))
	server, own := admission.ModernTask(view, id, ids)
	if server == nil {
		return admission.Target{}, protocol.BadParams("Unknown task: " + status.Printable(id, 300))
	}
	return admission.Target{Server: server, Original: own, Span: x.Params.TaskID}, nil
}

// publicTask makes the task id public in the result of a call that created a task, and in that of tasks/get. Once the task
// has finished, the latter contains the call's result, and its URIs are made public, too.
func publicTask(edits []rawjson.Edit, v *heldCall, info *protocol.ResultInfo, f *protocol.Frame, sealer *seal.Sealer) []rawjson.Edit {
	switch {
	case v.Method == protocol.MethodTasksGet:
		inlined := *f
		if inlined.Result = rawjson.Member(f.Raw, f.Result, "result"); inlined.Result.Present() && f.Raw[inlined.Result.Off] == '{' {
			edits = append(edits, catalog.RewriteResult(v.View, v.Upstream, protocol.MethodToolsCall, &inlined)...)
		}
	case v.Method != protocol.MethodToolsCall || info.KindOf(v.Method, f) != protocol.ResultTask:
		return edits
	}
	ids := admission.TaskIDs{Sealer: sealer, Principal: v.caller.Principal, Hop: v.caller.Hop}
	return ids.Edit(edits, f.Raw, rawjson.Member(f.Raw, f.Result, "taskId"), v.Upstream)
}
