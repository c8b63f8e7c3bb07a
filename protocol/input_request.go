package protocol

import "goblin-actor/protocol/rawjson"

// InputKind classifies server requests by the capability that a client must have declared to receive them.
type InputKind uint8

// The kinds of server requests.
const (
	InputUnknown     InputKind = iota // not a request that a client can answer
	InputForm                         // elicitation/create, mode form
	InputURL                          // elicitation/create, mode url
	InputSample                       // sampling/createMessage
	InputSampleTools                  // sampling/createMessage with tools or toolChoice
	InputRoots                        // roots/list
)

// InputKindOf returns the kind of a server's request or of an input request. params may be absent.
func InputKindOf(raw []byte, m Method, params rawjson.Span) InputKind {
	if params.Present() && raw[params.Off] != '{' {
		return InputUnknown
	}
	switch m {
	case MethodElicitationCreate:
		mode := rawjson.Member(raw, params, "mode").Of(raw)
		switch {
		case mode == nil, rawjson.StringIs(mode, "form"):
			return InputForm
		case rawjson.StringIs(mode, "url"):
			return InputURL
		}
	case MethodSamplingCreateMessage:
		if rawjson.Member(raw, params, "tools").Present() || rawjson.Member(raw, params, "toolChoice").Present() {
			return InputSampleTools
		}
		return InputSample
	case MethodRootsList:
		return InputRoots
	}
	return InputUnknown
}

// Capability returns the capability that the request requires, as a raw JSON object for Fault.Required. MCP 2026-07-28,
// schema, ClientCapabilities
func (q InputKind) Capability() []byte {
	switch q {
	case InputForm:
		return []byte(`{"elicitation":{"form":{}}}`)
	case InputURL:
		return []byte(`{"elicitation":{"url":{}}}`)
	case InputSample:
		return []byte(`{"sampling":{}}`)
	case InputSampleTools:
		return []byte(`{"sampling":{"tools":{}}}`)
	case InputRoots:
		return []byte(`{"roots":{}}`)
	}
	return emptyObject
}

// ValidAnswer reports whether raw, a value in a parsed frame, has the form of a response to the request: an object with an
// elicitation action, with a sampled message and its model, or with roots. MCP 2026-07-28, schema, InputResponse
func (q InputKind) ValidAnswer(raw []byte) bool {
	object := rawjson.Whole(raw)
	has := func(key string, first string) bool {
		v := rawjson.Member(raw, object, key).Of(raw)
		return v != nil && (v[0] == first[0] || len(first) > 1 && v[0] == first[1])
	}
	switch q {
	case InputForm, InputURL:
		action := rawjson.Member(raw, object, "action").Of(raw)
		return rawjson.StringIs(action, "accept") || rawjson.StringIs(action, "decline") || rawjson.StringIs(action, "cancel")
	case InputSample, InputSampleTools:
		return has("role", `"`) && has("content", `{[`) && has("model", `"`)
	case InputRoots:
		return has("roots", `[`)
	}
	return false
}

// AppendInputRequest appends a legacy server's request as the value of an input request. It omits task, progress token and
// related task, which have no meaning there. It keeps an elicitationId: MCP 2026-07-28 no longer defines it, but some modern
// clients (rmcp 3.11) still report it, and report an empty one if it is missing.
func AppendInputRequest(dst []byte, f *Frame) []byte {
	dst = append(append(dst, `{"method":`...), f.RawMethod.Of(f.Raw)...)
	if !f.Params.Present() { // roots/list may have none; the go-sdk 1.8 client rejects input requests without params
		return append(dst, `,"params":{}}`...)
	}
	return append(appendInputParams(dst, f.Raw, f.Params), '}')
}

// AppendURLRequest appends one of the requests of URLElicitations as the value of an input request.
func AppendURLRequest(dst []byte, f *Frame, params rawjson.Span) []byte {
	dst = append(dst, `{"method":"elicitation/create"`...)
	return append(appendInputParams(dst, f.Raw, params), '}')
}

func appendInputParams(dst, raw []byte, params rawjson.Span) []byte {
	if !params.Present() {
		return dst
	}
	meta := rawjson.Member(raw, params, "_meta")
	edits, left := rawjson.DropMembers(make([]rawjson.Edit, 0, 8), raw, meta, [2]rawjson.Span{}, func(key []byte) bool {
		return rawjson.KeyIs(key, "progressToken") || rawjson.KeyIs(key, keyRelatedTask)
	})
	if !left {
		edits = edits[:0]
	}
	edits, _ = rawjson.DropMembers(edits, raw, params, [2]rawjson.Span{meta}, func(key []byte) bool {
		return rawjson.KeyIs(key, "task") || !left && rawjson.KeyIs(key, "_meta")
	})
	return appendEditedPart(append(dst, `,"params":`...), raw, params, edits)
}

// appendEditedPart is like AppendEdited, but for one span of raw. All edits must be inside the span. It changes their
// offsets.
func appendEditedPart(dst, raw []byte, part rawjson.Span, edits []rawjson.Edit) []byte {
	for i := range edits {
		edits[i].Span.Off -= part.Off
		edits[i].Span.End -= part.Off
	}
	return rawjson.AppendEdited(dst, part.Of(raw), edits...)
}

// AppendLegacyRequest appends an input request as a request to a legacy client. A non-empty elicitationID is set in
// requests of mode url, because legacy clients require one. MCP 2025-11-25, client/elicitation
func AppendLegacyRequest(dst []byte, id uint64, raw []byte, m Method, params rawjson.Span, elicitationID string) []byte {
	text := params.Of(raw)
	if elicitationID != "" && InputKindOf(raw, m, params) == InputURL {
		quoted := rawjson.Quote(elicitationID)
		have := rawjson.Member(raw, params, "elicitationId")
		edits, _ := rawjson.PatchObject(nil, raw, params, [2]rawjson.Span{}, false, []rawjson.Patch{{Name: "elicitationId", Key: []byte(`"elicitationId":`), Have: have, Want: quoted}})
		text = appendEditedPart(nil, raw, params, edits)
	}
	return AppendRequest(dst, id, m.String(), text)
}

// URLElicitations calls each with the elicitations in a legacy server's error -32042 (params of elicitation/create)
// until each returns false. It reports false, and does not call each, if there are none or one is not an object with a
// url.
// MCP 2025-11-25, client/elicitation, URL elicitation required
func URLElicitations(f *Frame, each func(params rawjson.Span) bool) bool {
	if code, ok := ErrorNumber(f); !ok || code != codeURLRequired {
		return false
	}
	list := rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Error, "data"), "elicitations")
	some := false
	for w := rawjson.WalkElements(f.Raw, list); w.Next(); some = true {
		if url := rawjson.Member(f.Raw, w.Value, "url").Of(f.Raw); url == nil || url[0] != '"' {
			return false
		}
	}
	if some {
		for w := rawjson.WalkElements(f.Raw, list); w.Next() && each(w.Value); {
		}
	}
	return some
}
