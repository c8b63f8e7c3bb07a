package session

import (
	"bytes"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// target is the item a request names.
type target struct {
	server   *catalog.Server
	original string         // as its server calls it
	span     protocol.Span  // where the client's name for it stands
	entry    *catalog.Entry // nil for a URI that is not listed
	unlisted bool           // it is found only if its server has mentioned it
	replica  int            // counted from 1; 0 = any
	home     *message.Home  // where the task that the request is about was made; nil = it is about none
}

// request is what the pool of the target's server hands on.
func (t *target) request(x *downstream.Exchange, caller message.Caller) *message.Request {
	r := &message.Request{Frame: x.Frame, Params: x.Params, Caller: caller, Server: t.server.Name, Item: t.original, Unlisted: t.unlisted, Replica: t.replica}
	if original := protocol.Quote(t.original); t.span.Present() && !bytes.Equal(original, t.span.Of(x.Frame.Raw)) {
		r.Target, r.Original = t.span, original
	}
	return r
}

// call waits for the answer, within the limits of the target's server and that for calls that wait for their client.
func (t *target) call(seq uint64, x *downstream.Exchange, now time.Time, parked time.Duration) call.Call {
	rules := &t.server.Rules
	return call.Call{
		Seq: seq, ID: x.Frame.IDBytes(), Server: t.server.Name, Item: t.original, Method: x.Frame.M, State: call.Queued, Began: now,
		Limits: call.Limits{Queue: rules.Queue.Timeout, Idle: rules.Timeout, Absolute: rules.MaxTimeout, Parked: parked},
	}
}

// resolve finds the item in the view: an actor has its own, so no call asks the registry.
func resolve(view *catalog.View, x *downstream.Exchange) (target, *protocol.Fault) {
	raw := x.Frame.Raw
	switch x.Frame.M.Names() {
	case protocol.SubjectTool:
		name := ""
		t, fault := resolveEntry(raw, x.Params.Name, "params.name", func(called string) (*catalog.Entry, *protocol.Fault) {
			name = called // unquoted once a call: that allocates
			return view.Tool(called)
		})
		if fault != nil {
			return t, fault
		}
		if t.replica = view.Replica(name) + 1; t.replica > t.server.Rules.ReplicaCount() {
			return target{}, protocol.NoTool(name)
		}
		return t, nil
	case protocol.SubjectPrompt:
		return resolveEntry(raw, x.Params.Name, "params.name", view.Prompt)
	case protocol.SubjectResource:
		uri, ok := protocol.Unquote(x.Params.URI.Of(raw))
		if !ok {
			return target{}, protocol.BadParams("params.uri: want a string")
		}
		found, fault := view.Resource(uri)
		return target{server: found.Server, original: found.Original, span: x.Params.URI, entry: found.Entry, unlisted: found.Unlisted}, fault
	}
	if x.Params.RefName.Present() {
		return resolveEntry(raw, x.Params.RefName, "params.ref.name", view.Prompt)
	}
	return resolveEntry(raw, x.Params.RefURI, "params.ref.uri", view.Template)
}

func resolveEntry(raw []byte, span protocol.Span, path string, find func(string) (*catalog.Entry, *protocol.Fault)) (target, *protocol.Fault) {
	name, ok := protocol.Unquote(span.Of(raw))
	if !ok {
		return target{}, protocol.BadParams(path + ": want a string")
	}
	entry, fault := find(name)
	if fault != nil {
		return target{}, fault
	}
	return target{server: entry.Server, original: entry.Original, span: span, entry: entry}, nil
}
