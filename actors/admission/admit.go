package admission

import (
	"fmt"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Entrance holds what Admit needs to decide about requests. It is immutable.
type Entrance struct {
	Projects map[string]bool // the names of all projects
	Bound    string          // project of the client on stdin and stdout (--project); "" = its requests may name one

	Policy *policy.Policy      // for principals without a policy of their own; nil = allows all
	Local  *identity.Principal // principal of unauthenticated clients; nil = identity.Local

	Newest map[string]*identity.Principal // message.Principals.Newest
	Epoch  uint64                         // number of changes to principals and their rights
}

// Admit decides what a request may see, for all transports and eras. The request is a message, a stream, or the end of a session. No
// other code makes this decision. x is the message. It is nil if there is none, or if the request is a batch, whose messages go
// through AdmitMember.
//
// A request names a project by its path, the header Goblin-Project, or _meta. It is refused if it names an unknown project or two
// different ones: a request for a project is never answered for all servers. A project that the principal may not use counts as
// unknown. If the principal may use only some projects and the request names none, it sees everything in these projects.
func (e Entrance) Admit(o *downstream.Origin, x *downstream.Exchange) (message.Admitted, *message.Refusal) {
	if behalf := o.Principal.Behalf(); behalf != nil {
		return e.admitHop(o, behalf)
	}
	var in projectNames
	a, refusal := e.current(o.Principal)
	if refusal != nil {
		return a, refusal
	}
	if !o.Stdio {
		key, ok := keyOf(o.Path)
		if !ok {
			return a, &message.Refusal{Status: 404, Fault: &protocol.Fault{Name: protocol.InvalidRequest, Message: "no such endpoint; use /mcp"}}
		}
		a.View.Server = key.Server
		if key.Project != "" {
			in.take(key.Project, "its path")
		}
		if key.Project != "" && !e.mayUse(key.Project, a.Who) {
			return a, &message.Refusal{Status: 404, Fault: protocol.NoProject(key.Project)}
		}
	}
	if e.Bound != "" {
		in.take(e.Bound, "--project")
	}
	if o.Project != "" || o.EmptyProject {
		in.take(o.Project, "the header Goblin-Project")
	}
	in.takeMeta(x)
	if fault := in.fault(); fault != nil {
		return a, refusalOf(fault, x)
	}
	bound := e.Bound != "" && in.project == e.Bound // if the bound project was removed, the client may wait for its return, and its pings are answered
	if in.carrier != "" && !bound && !e.mayUse(in.project, a.Who) {
		return a, refusalOf(protocol.NoProject(in.project), x)
	}
	a.View.Project = in.project
	a.View = message.Narrowed(a.View, a.Who)
	return a, nil
}

// mayUse reports whether the project exists for the principal.
func (e *Entrance) mayUse(project string, who *identity.Principal) bool {
	return e.Projects[project] && who.May(project) && policy.Of(who, e.Policy).Counts(identity.Of(who).Rights, project)
}

// current returns the newest value of the principal, which may have changed while the request was received.
func (e *Entrance) current(who *identity.Principal) (message.Admitted, *message.Refusal) {
	there := message.Principals{Newest: e.Newest, Local: e.Local}
	newest, ok := there.Of(who)
	if !ok {
		return message.Admitted{}, &message.Refusal{Status: 401, Fault: message.Revoked}
	}
	return message.Admitted{Who: newest, Epoch: e.Epoch}, nil
}

// AdmitMember decides what a message of a batch may see, after Admit has checked the batch's path and headers.
func AdmitMember(a message.Admitted, x *downstream.Exchange) (message.Admitted, *message.Refusal) {
	var in projectNames
	if a.View.Project != "" {
		in.take(a.View.Project, "the batch's path or header")
	}
	in.takeMeta(x)
	if fault := in.fault(); fault != nil {
		return a, refusalOf(fault, x)
	}
	a.View.Project = in.project
	a.View = message.Narrowed(a.View, a.Who)
	return a, nil
}

// CheckProject refuses a request that names a project other than its session's. The session is bound to a project when it is opened.
func CheckProject(a message.Admitted, session catalog.Key, x *downstream.Exchange) *message.Refusal {
	if a.View.Project == "" || a.View.Project == session.Project {
		return nil
	}
	was := "without a project"
	if session.Project != "" {
		was = "in project " + session.Project
	}
	return refusalOf(&protocol.Fault{Name: protocol.UnknownProject, Message: "The session was opened " + was + "; to use project " + status.Printable(a.View.Project, 100) + ", open another session"}, x)
}

// NoView returns the error for an admitted request that has no view: its project or its server no longer exists.
func NoView(snapshot *catalog.Snapshot, key catalog.Key) *protocol.Fault {
	if key.Project != "" && !snapshot.HasProject(key) {
		return protocol.NoProject(key.Project)
	}
	return protocol.NoServer(key.Server)
}

// NoViewStatus returns the HTTP status with which legacy clients get the fault from NoView.
func NoViewStatus(fault *protocol.Fault) int {
	if fault.Name == protocol.UnknownProject {
		return 200
	}
	return 404
}

// refusalOf refuses a message that was sent to a valid path. A request is answered with status 200, as with any JSON-RPC error, and
// other messages with 404.
func refusalOf(fault *protocol.Fault, x *downstream.Exchange) *message.Refusal {
	if x != nil && x.Frame.Kind == protocol.KindRequest {
		return &message.Refusal{Status: 200, Fault: fault}
	}
	return &message.Refusal{Status: 404, Fault: fault}
}

// projectNames collects the projects that a request names.
type projectNames struct {
	project string
	carrier string // where project was named; "" = nowhere
	other   string // a second, different project
	where   string // where other was named; "" = nowhere
}

func (n *projectNames) take(project, carrier string) {
	switch {
	case n.carrier == "":
		n.project, n.carrier = project, carrier
	case n.project != project && n.where == "":
		n.other, n.where = project, carrier
	}
}

// takeMeta takes the project named in the message's _meta.
func (n *projectNames) takeMeta(x *downstream.Exchange) {
	if x == nil || x.Batch != nil {
		return
	}
	if project, ok := rawjson.Unquote(x.Params.Project.Of(x.Frame.Raw)); ok {
		n.take(project, `_meta["goblin-actor/project"]`)
	}
	if project, ok := rawjson.Unquote(x.Params.ProjectID.Of(x.Frame.Raw)); ok {
		n.take(project, `_meta["projectId"]`)
	}
}

// fault returns an error if two different projects are named, else nil.
func (n *projectNames) fault() *protocol.Fault {
	if n.where == "" {
		return nil
	}
	return &protocol.Fault{Name: protocol.UnknownProject, Message: fmt.Sprintf("The request names two projects, %q in %s and %q in %s",
		status.Printable(n.project, 100), n.carrier, status.Printable(n.other, 100), n.where)}
}

// keyOf returns the part of the catalog that a path selects: everything, a project after /p/, or a server after /s/. It returns false
// if the path is not an endpoint.
func keyOf(path string) (catalog.Key, bool) {
	prefix, found := downstream.CutRoute(path)
	if !found || prefix == "" {
		return catalog.Key{}, found
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(prefix, "/"), "/")
	switch {
	case name == "" || strings.Contains(name, "/"):
	case kind == "p":
		return catalog.Key{Project: name}, true
	case kind == "s":
		return catalog.Key{Server: name}, true
	}
	return catalog.Key{}, false
}
