package protocol

import (
	"bytes"

	"goblin-actor/protocol/rawjson"
)

// ModernMeta holds the metadata of a request to a modern server. All fields except LogLevel are raw JSON; nil means none.
type ModernMeta struct {
	ClientInfo     []byte // an Implementation object
	Capabilities   []byte // the client's capabilities; nil = {}
	LogLevel       Level  // LevelNone requests no log messages
	Token          []byte // the gateway's progress token; nil keeps the client's
	InputResponses []byte // an object; only for tools/call, prompts/get and resources/read
	RequestState   []byte // a string; only for the same methods
}

// Keys of _meta. MCP 2026-07-28, basic, _meta
const (
	reservedPrefix    = "io.modelcontextprotocol/"
	keyMetaVersion    = reservedPrefix + "protocolVersion"
	keyMetaClient     = reservedPrefix + "clientCapabilities"
	keyMetaClientInfo = reservedPrefix + "clientInfo"
	keyMetaLogLevel   = reservedPrefix + "logLevel"
	keyMetaServerInfo = reservedPrefix + "serverInfo"
	keyRelatedTask    = reservedPrefix + "related-task" // MCP 2025-11-25, basic/utilities/tasks
)

// Prepared text for edits. It must not be modified.
var (
	memberVersion      = []byte(`"` + keyMetaVersion + `":`)
	memberCapabilities = []byte(`"` + keyMetaClient + `":`)
	memberClientInfo   = []byte(`"` + keyMetaClientInfo + `":`)
	memberLogLevel     = []byte(`"` + keyMetaLogLevel + `":`)
	memberToken        = []byte(`"progressToken":`)
	memberResponses    = []byte(`"inputResponses":`)
	memberState        = []byte(`"requestState":`)
	openVersion        = []byte(`"_meta":{"` + keyMetaVersion + `":`)
	openToken          = []byte(`"_meta":{"progressToken":`)
	openParams         = []byte(`,"params":{`)
	closeObject        = []byte("}")
	modernVersion      = []byte(`"` + Version20260728 + `"`)
	emptyObject        = []byte("{}")
)

// ToLegacyRequest appends the edits that translate a client's request for a legacy server. They remove the
// io.modelcontextprotocol/ keys of _meta and, if the method may require input, inputResponses and requestState. They
// set the progress token to token (raw JSON) if token is not nil. An empty _meta is removed.
//
// The edits change only params, but not its name, uri, ref and arguments. So edits of these and of the id can be part of the
// same AppendEdited call. Nothing is allocated if edits has room for 8 more.
func ToLegacyRequest(edits []rawjson.Edit, f *Frame, p *Params, token []byte) []rawjson.Edit {
	if f.Params.Present() && f.Raw[f.Params.Off] != '{' {
		return edits // no MCP method has array params
	}
	all := [...]rawjson.Patch{
		{Name: "_meta", Key: openToken, Want: token, Tail: closeObject},
		{Name: "inputResponses", Have: p.InputResponses},
		{Name: "requestState", Have: p.RequestState},
	}
	patches := all[:]
	if !f.Method.MayRequireInput() {
		patches = all[:1]
	}
	known := [2]rawjson.Span{p.Arguments, p.Meta}
	if !p.Meta.Present() {
		return putParams(edits, f, known, !p.Odd, patches)
	}
	patches = patches[1:]
	if token == nil {
		token = p.ProgressToken.Of(f.Raw)
	}
	before := len(edits)
	edits, left := rawjson.DropMembers(edits, f.Raw, p.Meta, [2]rawjson.Span{}, func(key []byte) bool {
		return hasKeyPrefix(key, reservedPrefix) || !p.ProgressToken.Present() && rawjson.MayBeKey(key, "progressToken")
	})
	switch {
	case p.ProgressToken.Present():
		edits = append(edits, rawjson.Edit{Span: p.ProgressToken, With: token})
	case token != nil:
		edits = rawjson.InsertPatches(edits, p.Meta.Off+1, []rawjson.Patch{{Key: memberToken, Want: token}}, left)
	case !left:
		edits, _ = rawjson.PatchObject(edits[:before], f.Raw, f.Params, known, false, patches, "_meta")
		return edits
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Params, known, !p.Odd, patches)
	return edits
}

// putParams applies patches to params, which may be absent.
func putParams(edits []rawjson.Edit, f *Frame, known [2]rawjson.Span, tidy bool, patches []rawjson.Patch, drop ...string) []rawjson.Edit {
	if f.Params.Present() {
		edits, _ = rawjson.PatchObject(edits, f.Raw, f.Params, known, tidy, patches, drop...)
		return edits
	}
	before := len(edits)
	edits = append(edits, rawjson.Insert(f.RawMethod.End, openParams))
	if edits = rawjson.InsertPatches(edits, f.RawMethod.End, patches, false); len(edits) == before+1 {
		return edits[:before]
	}
	return append(edits, rawjson.Insert(f.RawMethod.End, closeObject))
}

// hasKeyPrefix reports whether a key (a raw string without its quotes) starts with prefix after decoding escapes.
func hasKeyPrefix(key []byte, prefix string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
	}
	var buffer [128]byte
	decoded, _ := rawjson.AppendUnescaped(buffer[:0], key)
	return bytes.HasPrefix(decoded, []byte(prefix))
}

// ToModernRequest appends the edits that translate a client's request of either era for a modern server. They set _meta
// from meta and, if the method may require input, inputResponses and requestState. They remove task from a legacy tool
// call, and the related task from a legacy _meta. As with ToLegacyRequest, they do not change name, uri, ref and
// arguments. Nothing is allocated if edits has room for 24 more.
func ToModernRequest(edits []rawjson.Edit, f *Frame, p *Params, meta *ModernMeta) []rawjson.Edit {
	if f.Params.Present() && f.Raw[f.Params.Off] != '{' {
		return edits // no MCP method has array params
	}
	patches := [7]rawjson.Patch{
		{Name: keyMetaVersion, Key: memberVersion, Have: p.MetaVersion, Want: modernVersion},
		{Name: keyMetaClient, Key: memberCapabilities, Have: p.MetaCapabilities, Want: meta.capabilities()},
		{Name: keyMetaClientInfo, Key: memberClientInfo, Have: p.MetaClientInfo, Want: meta.ClientInfo},
		{Name: keyMetaLogLevel, Key: memberLogLevel, Have: p.MetaLogLevel, Want: meta.LogLevel.quoted()},
		{Name: "progressToken", Key: memberToken, Have: p.ProgressToken, Want: meta.Token},
		{Name: "inputResponses", Key: memberResponses, Have: p.InputResponses, Want: meta.InputResponses},
		{Name: "requestState", Key: memberState, Have: p.RequestState, Want: meta.RequestState},
	}
	if meta.Token == nil {
		patches[4].Want = p.ProgressToken.Of(f.Raw)
	}
	var drops [1]string
	drop := drops[:0]
	known := [2]rawjson.Span{p.Arguments, p.Meta}
	legacy := !p.MetaVersion.Present()
	if legacy && f.Method == MethodToolsCall {
		drop = append(drop, "task") // MCP 2025-11-25, basic/utilities/tasks
	}
	all := patches[:]
	if !f.Method.MayRequireInput() {
		all = patches[:5]
	}
	if !p.Meta.Present() {
		wrapMeta(patches[:5])
		return putParams(edits, f, known, !p.Odd, all, drop...)
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Params, known, !p.Odd, all[5:], drop...)
	if drop = drops[:0]; legacy {
		drop = append(drop, keyRelatedTask)
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, p.Meta, [2]rawjson.Span{}, !p.Odd, patches[:5], drop...)
	return edits
}

// wrapMeta turns patches of members of _meta into patches that insert a new _meta. The first patch must have a value.
func wrapMeta(patches []rawjson.Patch) {
	last := 0
	for i := range patches {
		patches[i].Name = "_meta"
		if patches[i].Want != nil {
			last = i
		}
	}
	patches[0].Key = openVersion
	patches[last].Tail = closeObject
}

func (meta *ModernMeta) capabilities() []byte {
	if meta.Capabilities == nil {
		return emptyObject
	}
	return meta.Capabilities
}

// AppendMeta appends the _meta object of a request that the gateway itself sends to a modern server.
func (meta *ModernMeta) AppendMeta(dst []byte) []byte {
	dst = append(dst, '{')
	dst = append(append(dst, memberVersion...), modernVersion...)
	dst = appendPart(dst, memberCapabilities, meta.capabilities())
	dst = appendPart(dst, memberClientInfo, meta.ClientInfo)
	dst = appendPart(dst, memberLogLevel, meta.LogLevel.quoted())
	dst = appendPart(dst, memberToken, meta.Token)
	return append(dst, '}')
}

// appendPart appends a comma, key (which includes its colon) and value, or nothing if value is nil.
func appendPart(dst, key, value []byte) []byte {
	if value == nil {
		return dst
	}
	return append(append(append(dst, ','), key...), value...)
}

// InputResponse is the response to one of the requests in an input_required result.
type InputResponse struct {
	Key    []byte // the raw key of the request, including its quotes
	Result []byte // raw JSON
}

// AppendInputResponses appends the object inputResponses.
func AppendInputResponses(dst []byte, responses []InputResponse) []byte {
	dst = append(dst, '{')
	for i, r := range responses {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, r.Key...), ':'), r.Result...)
	}
	return append(dst, '}')
}

// AppendRetry appends the retry of a client's request to a modern server, with the responses and the state (raw JSON
// string, or nil) of an input_required result. Without responses, the retry has no inputResponses. edits must contain
// the edits of the id, name and URI. MCP 2026-07-28, basic/patterns/mrtr, client requirements
func AppendRetry(dst []byte, f *Frame, p *Params, meta ModernMeta, responses []InputResponse, state []byte, edits ...rawjson.Edit) []byte {
	meta.InputResponses, meta.RequestState = nil, state
	if len(responses) > 0 {
		meta.InputResponses = AppendInputResponses(nil, responses)
	}
	all := make([]rawjson.Edit, 0, 24+len(edits))
	return rawjson.AppendEdited(dst, f.Raw, ToModernRequest(append(all, edits...), f, p, &meta)...)
}
