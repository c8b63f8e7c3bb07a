package protocol

import "goblin-actor/protocol/rawjson"

// ResultKind is what a result means to the call it answers.
type ResultKind uint8

// Results by their resultType.
const (
	ResultUnknown       ResultKind = iota // a resultType nobody knows: the call fails
	ResultComplete                        // complete or, from a legacy server, nothing
	ResultInputRequired                   // input_required, also from a legacy server that leaves the word out (go-sdk)
	ResultTask                            // task, of the extension
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

// KindOf says what the result of a request means. input_required where it is not allowed (anything but tools/call,
// prompts/get and resources/read), or with neither requests nor state, is ResultUnknown. // MCP 2026-07-28, basic/patterns/mrtr
func (r *ResultInfo) KindOf(m Method, f *Frame) ResultKind {
	requires := m.MayAsk() && (r.InputRequests.Present() || r.RequestState.Present())
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

// ToModernResult appends the edits that make a server's result, of either era, one for a modern client: resultType, in _meta
// serverInfo (raw JSON object; nil = none), ttlMs 0 and cacheScope private where the method wants them, content of a tool
// call. What is there stays. f is the result's frame, m the request's method. They touch the result's own members and
// _meta's; edits of id and inside content, contents and messages can be made in the same AppendEdited. With room for 12 more
// in edits nothing is allocated.
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

// putServerInfo puts serverInfo into the _meta that is there, unless it has one.
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

// large returns the members of a result that may be large.
func (r *ResultInfo) large() [2]rawjson.Span {
	switch {
	case r.Contents.Present():
		return [2]rawjson.Span{r.Contents, r.Meta}
	case r.Messages.Present():
		return [2]rawjson.Span{r.Messages, r.Meta}
	}
	return [2]rawjson.Span{r.Content, r.Structured}
}

// ToLegacyResult appends the edits that make a modern server's result one for a legacy client: without resultType, ttlMs,
// cacheScope and _meta's serverInfo, which legacy peers say once; a tool call's structured content that is no object becomes a text block, unless the content says the same
// already. The result must be complete (KindOf). Edits of id and inside content can be made in the same AppendEdited.
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
		case len(text) > 0 && !saysText(f.Raw, r.Content, text):
			edits = append(edits, appendElement(f.Raw, r.Content, textBlock(text)))
		}
	}
	edits, _ = rawjson.PatchObject(edits, f.Raw, f.Result, r.large(), !r.Odd, all)
	return edits
}

// dropServerInfo takes serverInfo out of the _meta that is there, and returns what is to become of _meta: it stays where it
// is, or nothing was left in it.
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

// textContent is a content that says the text, or nothing when it is empty.
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

// appendElement puts value behind the array's last element.
func appendElement(raw []byte, array rawjson.Span, value []byte) rawjson.Edit {
	if raw[rawjson.SkipSpace(raw, int(array.Off)+1)] != ']' {
		value = append([]byte{','}, value...)
	}
	return rawjson.Insert(array.End-1, value)
}

// saysText reports whether one of the content blocks is the text: servers repeat structured content for clients that do not
// know it.
func saysText(raw []byte, content rawjson.Span, text []byte) bool {
	for w := rawjson.WalkElements(raw, content); w.Next(); {
		said := rawjson.Member(raw, w.Value, "text").Of(raw)
		if len(said) >= len(text) && said[0] == '"' && rawjson.StringIs(said, string(text)) {
			return true
		}
	}
	return false
}
