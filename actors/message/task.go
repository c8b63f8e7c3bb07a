package message

import (
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ExtensionTasks is the extension whose tasks pass through the gateway. MCP 2026-07-28, extensions/tasks.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// taskScheme cannot stand in front of a URI.
const taskScheme = "\x00task:"

// TaskURI stands for a task of a modern server where subscriptions are counted by the server's own URI: whoever wants to
// hear of a task subscribes to this. id is the server's own.
func TaskURI(id string) string { return taskScheme + id }

// TaskOf returns the task's id when uri is a TaskURI.
func TaskOf(uri string) (id string, ok bool) { return strings.CutPrefix(uri, taskScheme) }

// TaskOrigin is the connection on which a legacy server made a task: other connections may lead to a process that does not
// know it, or knows another by the same id.
type TaskOrigin struct {
	Backend     kernel.Reference
	Incarnation uint64
}

// TaskMade tells the holder of a call that its server has made a task of it. Done follows.
type TaskMade struct {
	Seq  uint64
	ID   string // the server's own
	Home TaskOrigin
}

// DropTask tells a backend that nobody will ever ask for a task that was made on its connection.
type DropTask struct {
	ID          string // the server's own
	Incarnation uint64
}

func (DropTask) Class() kernel.Class { return kernel.Outcome }

// TaskNotification is what a legacy server says of a task on its own: its status, its progress, a log line. It goes to who
// made the call, and may be lost: nobody may rely on it (MCP 2025-11-25, basic/utilities/tasks, task notifications).
type TaskNotification struct {
	Server string
	ID     string // the server's own
	Frame  protocol.Frame
}

func (TaskMade) callMsg()         {}
func (TaskNotification) callMsg() {}

func (TaskMade) Class() kernel.Class         { return kernel.Outcome }
func (TaskNotification) Class() kernel.Class { return kernel.LogLine }

// Size is what it holds.
func (n TaskNotification) Size() int { return len(n.Frame.Raw) }

// AboutTask reports whether the request is about a task. What its server asks in it names the task, so that it may run beside
// other calls where these must not run beside each other: somebody looks how far a task is while another waits for its end.
func (r *Request) AboutTask() bool {
	return r.Frame.M.Names() == protocol.SubjectTask
}

// Plain takes away what asks for a task: the server is to answer as ever. Nobody else has the request yet.
func (r *Request) Plain() {
	if edit, ok := rawjson.DeleteMember(r.Frame.Raw, r.Frame.Params, "task"); ok {
		r.respell(edit)
	}
}

// Followed asks for a task in the client's place, for a tool that is done in no other way: the client gets what comes of
// it. Nobody else has the request yet.
func (r *Request) Followed() {
	r.Follow = r.Frame.Params.Present() && r.respell(rawjson.InsertMember(r.Frame.Raw, r.Frame.Params, []byte(`"task":{}`)))
}

// respell makes an edit in a tools/call.
func (r *Request) respell(edit rawjson.Edit) bool {
	var f protocol.Frame
	var params protocol.Params
	if f.Parse(rawjson.AppendEdited(nil, r.Frame.Raw, edit)) != nil || params.Scan(&f) != nil {
		return false
	}
	if r.Target.Present() { // it stands elsewhere in the new frame
		r.Target = params.Name
	}
	r.Frame, r.Params = f, params
	return true
}

// Waits reports whether the request makes the server do nothing: it is answered when a task has ended.
func (r *Request) Waits() bool { return r.Frame.M == protocol.MethodTasksResult }
