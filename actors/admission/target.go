package admission

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Target is the item a request names.
type Target struct {
	Server   *catalog.Server
	Original string              // name or URI as the server defines it
	Span     rawjson.Span        // position of the name or URI in the client's request
	Entry    *catalog.Entry      // nil for a URI that is not listed, and for a request that names no item
	Unlisted bool                // it exists only if its server has mentioned it
	replica  int                 // number of the replica to call, from 1; 0 = any
	named    string              // name that the node which runs the replica knows it by; "" = this node runs it, or any may be called
	Rate     config.Rate         // limit of each principal's calls; zero = none
	reports  bool                // the policy only reports: calls above Rate are executed
	Denied   *Denied             // what the policy denies; nil = nothing
	Home     *message.TaskOrigin // of the task that the request is about; nil = not about a task
}

// Request returns the request for the pool of the target's server, or an error if the client's preferences for replicas are invalid.
func (t *Target) Request(x *downstream.Exchange, caller *message.Caller) (*message.Request, *protocol.Fault) {
	prefer, fault := preferOf(x)
	if fault != nil {
		return nil, fault
	}
	r := &message.Request{Frame: x.Frame, Params: x.Params, Caller: caller, Server: t.Server.Name, Item: t.Original, Unlisted: t.Unlisted, Replica: t.replica, Prefer: prefer, Rate: t.Rate, RateReports: t.reports,
		Trace: x.Report.Trace, Tenant: TenantOf(&t.Server.Rules, x, caller)}
	r.Named = t.named
	if original := rawjson.Quote(cmp.Or(t.named, t.Original)); t.Span.Present() && !bytes.Equal(original, t.Span.Of(x.Frame.Raw)) {
		r.Target, r.Original = t.Span, original
	}
	if t.Entry != nil && x.Frame.Method == protocol.MethodToolsCall && t.Server.Rules.Retry.InFlight == "idempotent" {
		r.Definition = t.Entry.Source
	}
	return r, nil
}

// Call returns the call for the request x, with the limits of the target's server. The parameter parked limits how long the
// call waits for its client.
func (t *Target) Call(seq uint64, x *downstream.Exchange, now time.Time, parked time.Duration) call.Call {
	rules := &t.Server.Rules
	return call.Call{
		Seq: seq, ID: x.Frame.IDBytes(), Server: t.Server.Name, Item: t.Original, Public: t.public(x), Method: x.Frame.Method, State: call.Queued, Began: now,
		Limits: call.Limits{Queue: rules.Queue.Timeout, Idle: rules.Timeout, Absolute: rules.MaxTimeout, Parked: parked},
	}
}

// public returns the name or URI by which clients know the target.
func (t *Target) public(x *downstream.Exchange) string {
	if t.Entry != nil {
		return t.Entry.Public
	}
	name, _ := rawjson.Unquote(t.Span.Of(x.Frame.Raw))
	return name
}

// toReplica returns the target for the replica with that number, as the client has named it; -1 = any.
func (t Target) toReplica(number int, name string) (Target, *protocol.Fault) {
	if number < 0 {
		return t, nil
	}
	entry, own, here, ok := t.Server.Rules.NamedReplica(number)
	if !ok {
		return Target{}, protocol.NoTool(name)
	}
	if t.replica = here + 1; entry.Hop != "" {
		t.named = fmt.Sprintf("%s:%s@%d", entry.Name, t.Original, own)
	}
	return t, nil
}

// Resolve finds the item in the view. Each actor has its own view, so no message to the registry is needed.
func Resolve(view *catalog.View, x *downstream.Exchange) (Target, *protocol.Fault) {
	raw := x.Frame.Raw
	switch x.Frame.Method.Names() {
	case protocol.SubjectTool:
		name := ""
		t, fault := resolveEntry(raw, x.Params.Name, "params.name", func(called string) (*catalog.Entry, *protocol.Fault) {
			name = called // stored, because unquoting it again would allocate
			return view.Tool(called)
		})
		if fault != nil {
			return t, fault
		}
		return t.toReplica(view.Replica(name), name)
	case protocol.SubjectPrompt:
		return resolveEntry(raw, x.Params.Name, "params.name", view.Prompt)
	case protocol.SubjectResource:
		uri, ok := rawjson.Unquote(x.Params.URI.Of(raw))
		if !ok {
			return Target{}, protocol.BadParams("params.uri: want a string")
		}
		found, fault := view.Resource(uri)
		return Target{Server: found.Server, Original: found.Original, Span: x.Params.URI, Entry: found.Entry, Unlisted: found.Unlisted}, fault
	}
	if x.Params.RefName.Present() {
		if x.Params.RefURI.Present() { // with both, the gateway might check one and the server use the other
			return Target{}, protocol.BadParams("params.ref: want name or uri, not both")
		}
		return resolveEntry(raw, x.Params.RefName, "params.ref.name", view.Prompt)
	}
	return resolveEntry(raw, x.Params.RefURI, "params.ref.uri", view.Template)
}

func resolveEntry(raw []byte, span rawjson.Span, path string, find func(string) (*catalog.Entry, *protocol.Fault)) (Target, *protocol.Fault) {
	name, ok := rawjson.Unquote(span.Of(raw))
	if !ok {
		return Target{}, protocol.BadParams(path + ": want a string")
	}
	entry, fault := find(name)
	if fault != nil {
		return Target{}, fault
	}
	return Target{Server: entry.Server, Original: entry.Original, Span: span, Entry: entry}, nil
}
