package protocol

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
	case equalsText(text, "complete"):
		return ResultComplete
	case equalsText(text, "input_required") && requires:
		return ResultInputRequired
	case equalsText(text, "task") && m == MethodToolsCall:
		return ResultTask
	}
	return ResultUnknown
}

// ToModernResult appends the edits that make a server's result, of either era, one for a modern client: resultType, in _meta
// serverInfo (raw JSON object; nil = none), ttlMs 0 and cacheScope private where the method wants them, content of a tool
// call. What is there stays. f is the result's frame, m the request's method. They touch the result's own members and
// _meta's; edits of id and inside content, contents and messages can be made in the same AppendEdited. With room for 12 more
// in edits nothing is allocated.
func ToModernResult(edits []Edit, m Method, f *Frame, r *ResultInfo, serverInfo []byte) []Edit {
	patches := [...]memberPatch{
		{name: "resultType", key: memberComplete, have: r.ResultType, want: wordComplete},
		{name: "ttlMs", key: memberTTL, have: r.TTL, want: zero},
		{name: "cacheScope", key: memberScope, have: r.CacheScope, want: wordPrivate},
		{name: "content", key: memberContent, have: r.Content, want: emptyArray},
		{name: "_meta", key: openServerInfo, have: r.Meta, want: serverInfo, tail: closeObject},
	}
	kind := r.KindOf(m, f)
	complete := kind == ResultComplete
	if kind == ResultInputRequired {
		patches[0].want = wordRequired
	}
	for i := range patches {
		w := &patches[i]
		switch {
		case w.have.Present():
			w.want = w.have.Of(f.Raw)
		case !complete && 1 <= i && i <= 3, (i == 1 || i == 2) && !m.is(cached), i == 3 && m != MethodToolsCall:
			w.want = nil
		}
	}
	edits, _ = applyPatches(edits, f.Raw, f.Result, r.large(), !r.Odd, patches[:])
	return putServerInfo(edits, f.Raw, r.Meta, serverInfo)
}

// putServerInfo puts serverInfo into the _meta that is there, unless it has one.
func putServerInfo(edits []Edit, raw []byte, meta Span, serverInfo []byte) []Edit {
	if !meta.Present() || raw[meta.Off] != '{' || serverInfo == nil {
		return edits
	}
	have := Member(raw, meta, keyMetaServerInfo)
	if have.Present() && raw[have.Off] != 'n' {
		return edits
	}
	edits, _ = applyPatches(edits, raw, meta, [2]Span{}, false, []memberPatch{{name: keyMetaServerInfo, key: memberServerInfo, want: serverInfo}})
	return edits
}

// large returns the members of a result that may be large.
func (r *ResultInfo) large() [2]Span {
	switch {
	case r.Contents.Present():
		return [2]Span{r.Contents, r.Meta}
	case r.Messages.Present():
		return [2]Span{r.Messages, r.Meta}
	}
	return [2]Span{r.Content, r.Structured}
}

// ToLegacyResult appends the edits that make a modern server's result one for a legacy client: without resultType, ttlMs,
// cacheScope and _meta's serverInfo, which legacy peers say once; a tool call's structured content that is no object becomes a text block, unless the content says the same
// already. The result must be complete (KindOf). Edits of id and inside content can be made in the same AppendEdited.
func ToLegacyResult(edits []Edit, m Method, f *Frame, r *ResultInfo) []Edit {
	edits, meta := dropServerInfo(edits, f.Raw, r.Meta)
	patches := [...]memberPatch{
		{name: "resultType", have: r.ResultType},
		{name: "ttlMs", have: r.TTL},
		{name: "cacheScope", have: r.CacheScope},
		{name: "_meta", have: r.Meta, want: meta},
		{name: "structuredContent", have: r.Structured, want: r.Structured.Of(f.Raw)},
		{name: "content", key: memberContent, have: r.Content, want: r.Content.Of(f.Raw)},
	}
	all := patches[:4]
	if m == MethodToolsCall {
		all = patches[:]
		text := f.Raw[:0]
		if r.Structured.Present() && f.Raw[r.Structured.Off] != '{' {
			patches[4].want, text = nil, r.Structured.Of(f.Raw)
		}
		switch {
		case !r.Content.Present() || len(text) > 0 && f.Raw[r.Content.Off] != '[':
			patches[5].want = textContent(text)
		case len(text) > 0 && !saysText(f.Raw, r.Content, text):
			edits = append(edits, appendElement(f.Raw, r.Content, textBlock(text)))
		}
	}
	edits, _ = applyPatches(edits, f.Raw, f.Result, r.large(), !r.Odd, all)
	return edits
}

// dropServerInfo takes serverInfo out of the _meta that is there, and returns what is to become of _meta: it stays where it
// is, or nothing was left in it.
func dropServerInfo(edits []Edit, raw []byte, meta Span) ([]Edit, []byte) {
	if !meta.Present() || raw[meta.Off] != '{' || !Member(raw, meta, keyMetaServerInfo).Present() {
		return edits, meta.Of(raw)
	}
	before := len(edits)
	edits, left := dropMembers(edits, raw, meta, [2]Span{}, func(key []byte) bool { return sameKey(key, keyMetaServerInfo) })
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
	return append(AppendQuoted(block, string(text)), '}')
}

// appendElement puts value behind the array's last element.
func appendElement(raw []byte, array Span, value []byte) Edit {
	if raw[skipSpace(raw, int(array.Off)+1)] != ']' {
		value = append([]byte{','}, value...)
	}
	return Insert(array.End-1, value)
}

// saysText reports whether one of the content blocks is the text: servers repeat structured content for clients that do not
// know it.
func saysText(raw []byte, content Span, text []byte) bool {
	for w := walkElements(raw, content); w.next(); {
		said := Member(raw, w.value, "text").Of(raw)
		if len(said) >= len(text) && said[0] == '"' && equalsText(said, string(text)) {
			return true
		}
	}
	return false
}
