package admission

import (
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Calls of the gateway's own tools call_tool and read_resource are unwrapped here, before an actor holds the call. The request becomes
// the one that the client could have sent directly. So deadlines, progress, server requests, tasks, cancellation, metrics and logs
// work as for any call.
const (
	callTool     = "call_tool"
	readResource = "read_resource"
)

// FindTarget finds the item that a request means: the named one or, if it calls call_tool or read_resource, the one named in the
// arguments. In the latter case it returns a new exchange for that item, which replaces x.
func FindTarget(view *catalog.View, x *downstream.Exchange) (*downstream.Exchange, Target, *protocol.Fault) {
	asked := x
	x, t, fault := findTarget(view, x)
	t.Denied = deniedIn(view, x, t, fault)
	if x != asked && t.Denied == nil && view.Reported() != nil { // the policy may permit the item but deny the tool that wraps it
		by, none := Resolve(view, asked)
		t.Denied = deniedIn(view, asked, by, none)
	}
	if fault == nil && t.Entry != nil && !t.Server.Internal {
		t.Rate, t.reports = view.ToolRate(t.Entry), view.Reported() != nil
		fault = checkArguments(x, &t)
	}
	return x, t, fault
}

func findTarget(view *catalog.View, x *downstream.Exchange) (*downstream.Exchange, Target, *protocol.Fault) {
	t, fault := Resolve(view, x)
	if fault != nil || !wraps(&t) {
		return x, t, fault
	}
	inner, fault := unwrap(x, t.Original)
	if fault != nil {
		return x, t, fault
	}
	t, fault = Resolve(view, inner)
	if fault == nil && wraps(&t) {
		return x, t, protocol.BadParams("params.arguments.name: " + t.Original + " cannot be called by " + callTool)
	}
	return inner, t, fault
}

// wraps reports whether the target is call_tool or read_resource.
func wraps(t *Target) bool {
	return t.Server != nil && t.Server.Internal && (t.Original == callTool || t.Original == readResource)
}

// unwrap returns the exchange for the item that a call of call_tool or read_resource names.
func unwrap(x *downstream.Exchange, tool string) (*downstream.Exchange, *protocol.Fault) {
	inner := *x
	inner.Internal = true
	var raw []byte
	var fault *protocol.Fault
	if tool == callTool {
		raw, fault = innerCall(x)
	} else {
		raw, fault = innerRead(x)
	}
	if fault != nil {
		return nil, fault
	}
	inner.Frame, inner.Params = protocol.Frame{}, protocol.Params{}
	if inner.Frame.Parse(raw) != nil || inner.Params.Scan(&inner.Frame) != nil {
		return nil, protocol.BadParams("params.arguments: the call to forward is not a valid request")
	}
	return &inner, nil
}

// innerCall returns the tools/call that a call of call_tool contains.
func innerCall(x *downstream.Exchange) ([]byte, *protocol.Fault) {
	raw, p := x.Frame.Raw, &x.Params
	name, fault := argument(x, "name")
	if fault != nil {
		return nil, fault
	}
	arguments := rawjson.Member(raw, p.Arguments, "arguments").Of(raw)
	switch {
	case arguments == nil || string(arguments) == "null":
		arguments = []byte("{}")
	case arguments[0] != '{':
		return nil, protocol.BadParams("params.arguments.arguments: want an object")
	}
	return rawjson.AppendEdited(nil, raw, rawjson.Edit{Span: p.Name, With: name}, rawjson.Edit{Span: p.Arguments, With: arguments}), nil
}

// innerRead returns the resources/read that a call of read_resource contains.
func innerRead(x *downstream.Exchange) ([]byte, *protocol.Fault) {
	raw, p := x.Frame.Raw, &x.Params
	uri, fault := argument(x, "uri")
	if fault != nil {
		return nil, fault
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), x.Frame.IDBytes()...)
	b = append(append(b, `,"method":"resources/read","params":{"uri":`...), uri...)
	for _, member := range []struct {
		key  string
		span rawjson.Span
	}{{"_meta", p.Meta}, {"inputResponses", p.InputResponses}, {"requestState", p.RequestState}} {
		if member.span.Present() {
			b = append(append(b, `,"`+member.key+`":`...), member.span.Of(raw)...)
		}
	}
	return append(b, "}}"...), nil
}

// argument returns a string argument as raw JSON.
func argument(x *downstream.Exchange, key string) ([]byte, *protocol.Fault) {
	raw, object := x.Frame.Raw, x.Params.Arguments
	if object.Present() && raw[object.Off] == '{' {
		if value := rawjson.Member(raw, object, key).Of(raw); len(value) > 0 && value[0] == '"' {
			return value, nil
		}
	}
	return nil, protocol.BadParams("params.arguments." + key + ": want a string")
}

// ReadAsTool turns the result of resources/read into a result of read_resource, if the exchange came from that tool. The caller may
// combine the edits with others of the contents.
func ReadAsTool(edits []rawjson.Edit, x *downstream.Exchange, frame *protocol.Frame) []rawjson.Edit {
	if !x.Internal || x.Frame.Method != protocol.MethodResourcesRead || frame.Kind != protocol.KindResult {
		return edits
	}
	return protocol.ContentsAsContent(slices.Clone(edits), frame) // cloned, because other exchanges with the same answer share edits
}
