package protocol

import (
	"bytes"

	"goblin-actor/protocol/rawjson"
)

// ModernMeta is what a request to a modern server says besides what it asks. All but LogLevel are raw JSON, nil = none.
type ModernMeta struct {
	ClientInfo     []byte // an Implementation
	Capabilities   []byte // the client's capabilities; nil = {}
	LogLevel       Level  // LevelNone = no log messages wanted
	Token          []byte // progress token of ours; nil leaves the client's
	InputResponses []byte // the object; tools/call, prompts/get and resources/read only
	RequestState   []byte // the string; likewise
}

// Keys of _meta. // MCP 2026-07-28, basic, _meta
const (
	reservedPrefix    = "io.modelcontextprotocol/"
	keyMetaVersion    = reservedPrefix + "protocolVersion"
	keyMetaClient     = reservedPrefix + "clientCapabilities"
	keyMetaClientInfo = reservedPrefix + "clientInfo"
	keyMetaLogLevel   = reservedPrefix + "logLevel"
	keyMetaServerInfo = reservedPrefix + "serverInfo"
	keyRelatedTask    = reservedPrefix + "related-task" // MCP 2025-11-25, basic/utilities/tasks
)

// What is spliced in, ready made. Nobody writes to it.
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

// ToLegacyRequest appends the edits that make a client's request one for a legacy server: without _meta's
// io.modelcontextprotocol/ keys, inputResponses and requestState; token, raw JSON, takes the place of the progress token or
// is put in; nil leaves it. _meta goes when nothing is left in it.
//
// The edits touch params only, and there neither name, uri, ref nor arguments: edits of id and these can be made in the
// same AppendEdited. They do not allocate; with room for 8 more in edits nothing does.
func ToLegacyRequest(edits []rawjson.Edit, f *Frame, p *Params, token []byte) []rawjson.Edit {
	if f.Params.Present() && f.Raw[f.Params.Off] != '{' {
		return edits // no method of MCP takes an array
	}
	all := [...]rawjson.Patch{
		{Name: "_meta", Key: openToken, Want: token, Tail: closeObject},
		{Name: "inputResponses", Have: p.InputResponses},
		{Name: "requestState", Have: p.RequestState},
	}
	patches := all[:]
	if !f.M.MayAsk() {
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

// putParams applies patches for params, which may be absent as yet.
func putParams(edits []rawjson.Edit, f *Frame, known [2]rawjson.Span, tidy bool, patches []rawjson.Patch, drop ...string) []rawjson.Edit {
	if f.Params.Present() {
		edits, _ = rawjson.PatchObject(edits, f.Raw, f.Params, known, tidy, patches, drop...)
		return edits
	}
	before := len(edits)
	edits = append(edits, rawjson.Insert(f.Method.End, openParams))
	if edits = rawjson.InsertPatches(edits, f.Method.End, patches, false); len(edits) == before+1 {
		return edits[:before]
	}
	return append(edits, rawjson.Insert(f.Method.End, closeObject))
}

// hasKeyPrefix reports whether the inside of a raw string, escapes decoded, begins with prefix.
func hasKeyPrefix(key []byte, prefix string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
	}
	var buffer [128]byte
	decoded, _ := rawjson.AppendUnescaped(buffer[:0], key)
	return bytes.HasPrefix(decoded, []byte(prefix))
}

// ToModernRequest appends the edits that make a client's request, of either era, one for a modern server: with meta in
// _meta and with exactly its InputResponses and RequestState; a legacy tool call loses task. Otherwise as ToLegacyRequest;
// it needs room for 24 edits.
func ToModernRequest(edits []rawjson.Edit, f *Frame, p *Params, meta *ModernMeta) []rawjson.Edit {
	if f.Params.Present() && f.Raw[f.Params.Off] != '{' {
		return edits // no method of MCP takes an array
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
	if legacy && f.M == MethodToolsCall {
		drop = append(drop, "task") // MCP 2025-11-25, basic/utilities/tasks
	}
	all := patches[:]
	if !f.M.MayAsk() {
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

// wrapMeta turns patches of the members of _meta, the first of which has a value for sure, into patches that make a new _meta.
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

// AppendMeta appends the object _meta of a request of our own to a modern server.
func (meta *ModernMeta) AppendMeta(dst []byte) []byte {
	dst = append(dst, '{')
	dst = append(append(dst, memberVersion...), modernVersion...)
	dst = appendPart(dst, memberCapabilities, meta.capabilities())
	dst = appendPart(dst, memberClientInfo, meta.ClientInfo)
	dst = appendPart(dst, memberLogLevel, meta.LogLevel.quoted())
	dst = appendPart(dst, memberToken, meta.Token)
	return append(dst, '}')
}

// appendPart appends a comma, key, which has its colon, and value, nothing when value is nil.
func appendPart(dst, key, value []byte) []byte {
	if value == nil {
		return dst
	}
	return append(append(append(dst, ','), key...), value...)
}

// InputResponse is the answer to one of an input_required's requests.
type InputResponse struct{ Key, Result []byte } // the raw key with its quotes, as it came; raw JSON

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

// AppendRetry appends the client's request as one for a modern server once more, with the answers (none: no inputResponses)
// and the state (raw JSON string, nil = none) of its input_required; edits are those of id, name and URI.
// MCP 2026-07-28, basic/patterns/mrtr, client requirements
func AppendRetry(dst []byte, f *Frame, p *Params, meta ModernMeta, responses []InputResponse, state []byte, edits ...rawjson.Edit) []byte {
	meta.InputResponses, meta.RequestState = nil, state
	if len(responses) > 0 {
		meta.InputResponses = AppendInputResponses(nil, responses)
	}
	all := make([]rawjson.Edit, 0, 24+len(edits))
	return rawjson.AppendEdited(dst, f.Raw, ToModernRequest(append(all, edits...), f, p, &meta)...)
}
