package message

import (
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ExtensionTasks is the extension whose tasks pass through the gateway. MCP 2026-07-28, extensions/tasks.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// taskScheme is the prefix of a task's pseudo-URI. No real URI starts with it.
const taskScheme = "\x00task:"

// TaskURI returns the pseudo-URI of a modern server's task, by which clients subscribe to it. id is the server's, not
// the public one.
func TaskURI(id string) string { return taskScheme + id }

// TaskOf returns the id of a task if uri is a TaskURI.
func TaskOf(uri string) (id string, ok bool) { return strings.CutPrefix(uri, taskScheme) }

// TaskOrigin is the connection on which a legacy server created a task. On other connections the server may not know
// the task, or may know another task with the same id.
type TaskOrigin struct {
	Backend     kernel.Reference
	Incarnation uint64
}

// TaskMade tells the holder of a call that the server has created a task for it. Done follows.
type TaskMade struct {
	Seq  uint64
	ID   string // the server's, not the public one
	Home TaskOrigin
}

// DropTask tells a backend that no client will request a task that was created on its connection.
type DropTask struct {
	ID          string // the server's, not the public one
	Incarnation uint64
}

func (DropTask) Class() kernel.Class { return kernel.Outcome }

// TaskNotification is an unsolicited notification of a legacy server about a task: status, progress or a log line. It goes to
// the holder of the call that created the task, and may be lost (MCP 2025-11-25, basic/utilities/tasks, task notifications).
type TaskNotification struct {
	Server string
	ID     string // the server's, not the public one
	Frame  protocol.Frame
}

func (TaskMade) callMsg()         {}
func (TaskNotification) callMsg() {}

func (TaskMade) Class() kernel.Class         { return kernel.Outcome }
func (TaskNotification) Class() kernel.Class { return kernel.LogLine }

// Size returns the size of the frame in bytes.
func (n TaskNotification) Size() int { return len(n.Frame.Raw) }

// AboutTask reports whether the request is about a task. Server requests during it name the task, so it may share a connection
// with other calls: a client may poll a task while another request waits for its result.
func (r *Request) AboutTask() bool {
	return r.Frame.Method.Names() == protocol.SubjectTask
}

// Plain removes the member that asks for a task, so that the server answers with a plain result. The request must not have been
// sent yet.
func (r *Request) Plain() {
	if edit, ok := rawjson.DeleteMember(r.Frame.Raw, r.Frame.Params, "task"); ok {
		r.applyEdit(edit)
	}
}

// Followed adds the member that requests a task, for a tool that requires one. The client receives the task's result. The request
// must not have been sent yet.
func (r *Request) Followed() {
	r.Follow = r.Frame.Params.Present() && r.applyEdit(rawjson.InsertMember(r.Frame.Raw, r.Frame.Params, []byte(`"task":{}`)))
}

// applyEdit applies an edit to a tools/call, and reports whether the new frame is valid.
func (r *Request) applyEdit(edit rawjson.Edit) bool {
	var f protocol.Frame
	var params protocol.Params
	if f.Parse(rawjson.AppendEdited(nil, r.Frame.Raw, edit)) != nil || params.Scan(&f) != nil {
		return false
	}
	if r.Target.Present() { // its position differs in the new frame
		r.Target = params.Name
	}
	r.Frame, r.Params = f, params
	return true
}

// Waits reports whether the request only waits at the server, for the end of a task.
func (r *Request) Waits() bool { return r.Frame.Method == protocol.MethodTasksResult }
