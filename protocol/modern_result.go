package protocol

import "goblin-actor/protocol/rawjson"

// ResultKind classifies results by their effect on the call: it is complete, needs input, or became a task.
type ResultKind uint8

// The kinds of results, by resultType.
const (
	ResultUnknown       ResultKind = iota // an unknown resultType: the call fails
	ResultComplete                        // complete, or without resultType from a legacy server
	ResultInputRequired                   // input_required, or without resultType from go-sdk servers
	ResultTask                            // task, from the tasks extension
)

var (
	memberComplete   = []byte(`"resultType":`)
	memberTTL        = []byte(`"ttlMs":`)
	memberScope      = []byte(`"cacheScope":`)
	memberContent    = []byte(`"content":`)
	openServerInfo   = []byte(`"_meta":{"` + keyMetaServerInfo + `":`)
	memberServerInfo = []byte(`"` + keyMetaServerInfo + `":`)
	wordComplete     = []byte(`"complete"`)
	wordRequired     = []byte(`"input_required"`)
	wordPrivate      = []byte(`"private"`)
	zero             = []byte("0")
	emptyArray       = []byte("[]")
)

// KindOf returns the kind of a result of method m. An input_required result is ResultUnknown if m does not allow it (see
// Method.MayRequireInput) or if it has neither requests nor state. MCP 2026-07-28, basic/patterns/mrtr
func (r *ResultInfo) KindOf(m Method, f *Frame) ResultKind {
	requires := m.MayRequireInput() && (r.InputRequests.Present() || r.RequestState.Present())
	switch text := r.ResultType.Of(f.Raw); {
	case text == nil:
		if requires && !r.Content.Present() && !r.Messages.Present() && !r.Contents.Present() {
			return ResultInputRequired
		}
		return ResultComplete
	case rawjson.StringIs(text, "complete"):
		return ResultComplete
	case rawjson.StringIs(text, "input_required") && requires:
		return ResultInputRequired
	case rawjson.StringIs(text, "task") && m == MethodToolsCall:
		return ResultTask
	}
	return ResultUnknown
}

// ToModernResult appends the edits that translate a server's result of either era for a modern client. They add missing
// members: resultType, serverInfo in _meta (raw JSON object, or nil for none), ttlMs 0 and cacheScope private if the method
// requires them, and content for a tool call. Existing members stay. f is the result's frame and m the request's method.
//
// The edits change only members of the result and of its _meta. So edits of the id and inside content, contents and
// messages can be part of the same AppendEdited call. Nothing is allocated if edits has room for 12 more.
func ToModernResult(edits []rawjson.Edit, m Method, f *Frame, r *ResultInfo, serverInfo []byte) []rawjson.Edit {
	patches := [...]rawjson.Patch{
		{Name: "resultType", Key: memberComplete, Have: r.ResultType, Want: wordComplete},
		{Name: "ttlMs", Key: memberTTL, Have: r.TTL, Want: zero},
		{Name: "cacheScope", Key: memberScope, Have: r.CacheScope, Want: wordPrivate},
		{Name: "content", Key: memberContent, Have: r.Content, Want: emptyArray},
		{Name: "_meta", Key: openServerInfo, Have: r.Meta, Want: serverInfo, Tail: closeObject},
	}
	kind := r.KindOf(m, f)
	complete := kind == ResultComplete
	if kind == ResultInputRequired {
		patches[0].Want = wordRequired
	}
	for i := range patches {
		w := &patches[i]
		switch {
		case w.Have.Present():
			w.Want = w.Have.Of(f.Raw)
		case !complete && 1 <= i && i <= 3, (i == 1 || i == 2) && !m.is(cached), i == 3 && m != MethodToolsCall:
			w.Want = nil
		}
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Result, r.large(), !r.Odd, patches[:])
	return putServerInfo(edits, f.Raw, r.Meta, serverInfo)
}

// putServerInfo adds serverInfo to an existing _meta unless it has one.
func putServerInfo(edits []rawjson.Edit, raw []byte, meta rawjson.Span, serverInfo []byte) []rawjson.Edit {
	if !meta.Present() || raw[meta.Off] != '{' || serverInfo == nil {
		return edits
	}
	have := rawjson.Member(raw, meta, keyMetaServerInfo)
	if have.Present() && raw[have.Off] != 'n' {
		return edits
	}
	edits, _ = rawjson.PatchObject(edits, raw, meta, [2]rawjson.Span{}, false, []rawjson.Patch{{Name: keyMetaServerInfo, Key: memberServerInfo, Want: serverInfo}})
	return edits
}

// large returns the members of a result that may be large, so that walks can skip them.
func (r *ResultInfo) large() [2]rawjson.Span {
	switch {
	case r.Contents.Present():
		return [2]rawjson.Span{r.Contents, r.Meta}
	case r.Messages.Present():
		return [2]rawjson.Span{r.Messages, r.Meta}
	}
	return [2]rawjson.Span{r.Content, r.Structured}
}

// ToLegacyResult appends the edits that translate a modern server's result for a legacy client. They remove resultType,
// ttlMs and cacheScope. They also remove serverInfo, which legacy servers send only in initialize, from _meta. If the
// structuredContent of a tool call is not an object, it becomes a text block, unless content already has that text. The
// result of a tool call without content gets an empty content array. The kind of the result must be ResultComplete.
// Edits of the id and inside content can be part of the same AppendEdited call.
func ToLegacyResult(edits []rawjson.Edit, m Method, f *Frame, r *ResultInfo) []rawjson.Edit {
	edits, meta := dropServerInfo(edits, f.Raw, r.Meta)
	patches := [...]rawjson.Patch{
		{Name: "resultType", Have: r.ResultType},
		{Name: "ttlMs", Have: r.TTL},
		{Name: "cacheScope", Have: r.CacheScope},
		{Name: "_meta", Have: r.Meta, Want: meta},
		{Name: "structuredContent", Have: r.Structured, Want: r.Structured.Of(f.Raw)},
		{Name: "content", Key: memberContent, Have: r.Content, Want: r.Content.Of(f.Raw)},
	}
	all := patches[:4]
	if m == MethodToolsCall {
		all = patches[:]
		text := f.Raw[:0]
		if r.Structured.Present() && f.Raw[r.Structured.Off] != '{' {
			patches[4].Want, text = nil, r.Structured.Of(f.Raw)
		}
		switch {
		case !r.Content.Present() || len(text) > 0 && f.Raw[r.Content.Off] != '[':
			patches[5].Want = textContent(text)
		case len(text) > 0 && !hasText(f.Raw, r.Content, text):
			edits = append(edits, appendElement(f.Raw, r.Content, textBlock(text)))
		}
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Result, r.large(), !r.Odd, all)
	return edits
}

// dropServerInfo removes serverInfo from _meta. It returns the edits and the new value of _meta: the existing bytes, or nil
// if nothing else is in it.
func dropServerInfo(edits []rawjson.Edit, raw []byte, meta rawjson.Span) ([]rawjson.Edit, []byte) {
	if !meta.Present() || raw[meta.Off] != '{' || !rawjson.Member(raw, meta, keyMetaServerInfo).Present() {
		return edits, meta.Of(raw)
	}
	before := len(edits)
	edits, left := rawjson.DropMembers(edits, raw, meta, [2]rawjson.Span{}, func(key []byte) bool { return rawjson.KeyIs(key, keyMetaServerInfo) })
	if !left {
		return edits[:before], nil
	}
	return edits, meta.Of(raw)
}

// textContent returns a content array with one text block, or an empty array if text is empty.
func textContent(text []byte) []byte {
	if len(text) == 0 {
		return emptyArray
	}
	return append(append([]byte{'['}, textBlock(text)...), ']')
}

func textBlock(text []byte) []byte {
	block := append(make([]byte, 0, len(text)+len(text)/4+32), `{"type":"text","text":`...)
	return append(rawjson.AppendQuoted(block, string(text)), '}')
}

// appendElement returns the edit that adds value at the end of the array.
func appendElement(raw []byte, array rawjson.Span, value []byte) rawjson.Edit {
	if raw[rawjson.SkipSpace(raw, int(array.Off)+1)] != ']' {
		value = append([]byte{','}, value...)
	}
	return rawjson.Insert(array.End-1, value)
}

// hasText reports whether the text of a content block equals text. Servers repeat structured content as text for clients that
// do not support it.
func hasText(raw []byte, content rawjson.Span, text []byte) bool {
	for w := rawjson.WalkElements(raw, content); w.Next(); {
		have := rawjson.Member(raw, w.Value, "text").Of(raw)
		if len(have) >= len(text) && have[0] == '"' && rawjson.StringIs(have, string(text)) {
			return true
		}
	}
	return false
}
