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
	Bound    string          // project of the client on stdin and stdout (--project); "" = its requests name one

	Policy *policy.Policy      // decides about projects for principals without a policy of their own; nil = allows all
	Local  *identity.Principal // the principal of clients that are not authenticated; nil = identity.Local

	Newest map[string]*identity.Principal // message.Principals.Newest
	Epoch  uint64                         // number of changes to principals and their rights
}

// Admit decides what a request of a client may see, for every transport and era: a message, a stream or the end of a session.
// It is the only place of that decision. x is the message, or nil if there is none or it is a batch, whose messages go through
// AdmitMember.
//
// A project is named by the path, the header Goblin-Project, or _meta. An unknown project, or two different ones, are refused:
// a request that names a project is never answered for all servers. A project that the principal may not use is treated as
// unknown. If the principal may use some projects only and names none, it sees what these show together.
func (e Entrance) Admit(o *downstream.Origin, x *downstream.Exchange) (message.Admitted, *message.Refusal) {
	var in projectNames
	a, refusal := e.current(o.Who)
	if refusal != nil {
		return a, refusal
	}
	if !o.Stdio {
		key, ok := keyOf(o.Path)
		if !ok {
			return a, &message.Refusal{Status: 404, Fault: &protocol.Fault{Name: protocol.InvalidRequest, Message: "no such endpoint; the gateway's is /mcp"}}
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
	bound := e.Bound != "" && in.project == e.Bound // a client bound to a project that was removed waits for it, and its pings are answered
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

// current returns the principal as it is known now: it may have changed while the request arrived in pieces.
func (e *Entrance) current(who *identity.Principal) (message.Admitted, *message.Refusal) {
	there := message.Principals{Newest: e.Newest, Local: e.Local}
	newest, ok := there.Of(who)
	if !ok {
		return message.Admitted{}, &message.Refusal{Status: 401, Fault: message.Revoked}
	}
	return message.Admitted{Who: newest, Epoch: e.Epoch}, nil
}

// AdmitMember decides about a message of a batch whose path and headers have been admitted.
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

// CheckProject refuses what was admitted for a project other than that of the session. A session is bound to its project when
// it is opened.
func CheckProject(a message.Admitted, session catalog.Key, x *downstream.Exchange) *message.Refusal {
	if a.View.Project == "" || a.View.Project == session.Project {
		return nil
	}
	was := "without a project"
	if session.Project != "" {
		was = "in project " + session.Project
	}
	return refusalOf(&protocol.Fault{Name: protocol.UnknownProject, Message: "Unknown project here: " + status.Printable(a.View.Project, 100) + ". The session was opened " + was + "; open another one"}, x)
}

// NoView returns why an admitted request has nothing to see: its project or its server no longer exists.
func NoView(snapshot *catalog.Snapshot, key catalog.Key) *protocol.Fault {
	if key.Project != "" && !snapshot.HasProject(key) {
		return protocol.NoProject(key.Project)
	}
	return protocol.NoServer(key.Server)
}

// NoViewStatus returns the HTTP status of NoView for legacy clients.
func NoViewStatus(fault *protocol.Fault) int {
	if fault.Name == protocol.UnknownProject {
		return 200
	}
	return 404
}

// refusalOf refuses a message whose path was right: with status 200 if it is a request, as for all errors of requests, else
// with 404.
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

// takeMeta takes the project that the message itself names.
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
	return &protocol.Fault{Name: protocol.UnknownProject, Message: fmt.Sprintf("Unknown project: the request names two, %q in %s and %q in %s",
		status.Printable(n.project, 100), n.carrier, status.Printable(n.other, 100), n.where)}
}

// keyOf returns the part of the catalog that a path stands for: all of it, a project after /p/, or a server after /s/. It
// returns false if the path is not an endpoint.
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
