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

// Entrance is where clients come in: what has to be known to decide what a request may see. Immutable.
type Entrance struct {
	Projects map[string]bool // those there are
	Bound    string          // project of the client on stdin and stdout (--project); "" = its requests say

	Policy *policy.Policy      // says whether a project is there for whoever brings no policy along; nil = it is
	Local  *identity.Principal // whoever is not asked who he is; nil = identity.Local

	Newest map[string]*identity.Principal // message.Principals.Newest
	Epoch  uint64                         // counts changes of who there is, or what they may
}

// Admit decides what a request of a client may see, of whatever transport and era: a message, a stream or the end of a session. It
// is the one place where that is decided. x is the message, nil when there is none or it is a batch, whose messages AdmitMember
// judges.
//
// A project is named by the path, the header Goblin-Project, or _meta. One name that nobody has, or two that differ, are refused:
// a request that names a project is never answered for all servers. A project that whoever asks may not use is one that nobody has; who may
// use some only and names none sees what these show together.
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
	bound := e.Bound != "" && in.project == e.Bound // whoever is bound to one that has gone waits for it: its pings are answered
	if in.carrier != "" && !bound && !e.mayUse(in.project, a.Who) {
		return a, refusalOf(protocol.NoProject(in.project), x)
	}
	a.View.Project = in.project
	a.View = message.Narrowed(a.View, a.Who)
	return a, nil
}

// open reports whether there is a project of that name for whoever asks.
func (e *Entrance) mayUse(project string, who *identity.Principal) bool {
	return e.Projects[project] && who.May(project) && policy.Of(who, e.Policy).Counts(identity.Of(who).Rights, project)
}

// known is who asks, as it is known now: the request may have come in pieces since it was found out.
func (e *Entrance) current(who *identity.Principal) (message.Admitted, *message.Refusal) {
	there := message.Principals{Newest: e.Newest, Local: e.Local}
	newest, ok := there.Of(who)
	if !ok {
		return message.Admitted{}, &message.Refusal{Status: 401, Fault: message.Revoked}
	}
	return message.Admitted{Who: newest, Epoch: e.Epoch}, nil
}

// AdmitMember decides for a message of a batch, of which path and headers have been admitted.
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

// Belongs reports whether what was admitted belongs to a session with that view: it is of no project, or of the session's. A
// session is bound to its project when it is opened.
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

// NoView says why a request that was admitted has nothing to see: its project or its server is there no more.
func NoView(snapshot *catalog.Snapshot, key catalog.Key) *protocol.Fault {
	if key.Project != "" && !snapshot.HasProject(key) {
		return protocol.NoProject(key.Project)
	}
	return protocol.NoServer(key.Server)
}

// NoViewStatus is the HTTP status of NoView for legacy clients.
func NoViewStatus(fault *protocol.Fault) int {
	if fault.Name == protocol.UnknownProject {
		return 200
	}
	return 404
}

// refusalOf has the status that a fault has where nothing was wrong with the path: 200, as all errors of requests; of what is no
// request 404, as nothing there belongs to it.
func refusalOf(fault *protocol.Fault, x *downstream.Exchange) *message.Refusal {
	if x != nil && x.Frame.Kind == protocol.KindRequest {
		return &message.Refusal{Status: 200, Fault: fault}
	}
	return &message.Refusal{Status: 404, Fault: fault}
}

// named is the project that a request names, as far as it has been read.
type projectNames struct {
	project string
	carrier string // where it stands; "" = none has been named
	other   string // a second one that differs
	where   string // where that stands; "" = there is none
}

func (n *projectNames) take(project, carrier string) {
	switch {
	case n.carrier == "":
		n.project, n.carrier = project, carrier
	case n.project != project && n.where == "":
		n.other, n.where = project, carrier
	}
}

// takeMeta takes what the message itself names.
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

// fault says that two carriers contradict each other; nil when they do not.
func (n *projectNames) fault() *protocol.Fault {
	if n.where == "" {
		return nil
	}
	return &protocol.Fault{Name: protocol.UnknownProject, Message: fmt.Sprintf("Unknown project: the request names two, %q in %s and %q in %s",
		status.Printable(n.project, 100), n.carrier, status.Printable(n.other, 100), n.where)}
}

// keyOf says which part of the catalog a path stands for: all of it, after /p/ a project, after /s/ one server; false for a path
// that is no endpoint.
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
