package protocol

// RelayInputRequired appends the edits that make a server's input_required one of ours: state (unquoted; "" = the server
// gave none) in place of its own, and nothing besides inputRequests, requestState, resultType and _meta.
func RelayInputRequired(edits []Edit, f *Frame, r *ResultInfo, state string, serverInfo []byte) []Edit {
	patches := [...]memberPatch{
		{name: "resultType", key: memberComplete, have: r.ResultType, want: wordRequired},
		{name: "requestState", key: memberState, have: r.RequestState},
		{name: "_meta", key: openServerInfo, want: serverInfo, tail: closeObject},
	}
	if state != "" {
		patches[1].want = Quote(state)
	}
	if r.Meta.Present() && f.Raw[r.Meta.Off] == '{' {
		patches[2].want = nil
	}
	// A go-sdk server writes "content":null beside the requests, which the TypeScript client refuses.
	known := [2]Span{r.InputRequests, r.Meta}
	edits, kept := dropMembers(edits, f.Raw, f.Result, known, func(key []byte) bool {
		switch {
		case patches[0].have.Present() && sameKey(key, "resultType"), r.InputRequests.Present() && sameKey(key, "inputRequests"):
			return false
		case patches[1].have.Present() && patches[1].want != nil && sameKey(key, "requestState"):
			return false
		}
		return !(patches[2].want == nil && r.Meta.Present() && sameKey(key, "_meta"))
	})
	for _, w := range patches[:2] {
		if w.have.Present() && w.want != nil {
			edits = append(edits, Edit{w.have, w.want})
		}
	}
	edits = insertPatches(edits, f.Result.Off+1, patches[:], kept)
	if patches[2].want != nil {
		return edits
	}
	return putServerInfo(edits, f.Raw, r.Meta, serverInfo)
}

// InputRequest is one question of an input_required.
type InputRequest struct {
	Key   string
	Value []byte // raw JSON object {"method":…,"params":…}
}

// AppendInputRequired appends the answer that puts the questions to a modern client. rawID as in AppendResult; state is
// not quoted, "" = none; serverInfo as in ToModernResult. // MCP 2026-07-28, schema, InputRequiredResult
func AppendInputRequired(dst, rawID []byte, requests []InputRequest, state string, serverInfo []byte) []byte {
	size := 160 + len(rawID) + len(state) + len(serverInfo)
	for _, q := range requests {
		size += len(q.Key) + len(q.Value) + 4
	}
	dst = grow(dst, size)
	dst = append(append(append(dst, head+`,"id":`...), rawID...), `,"result":{"resultType":"input_required"`...)
	for i, q := range requests {
		dst = append(dst, [...]string{`,"inputRequests":{`, `,`}[min(i, 1)]...)
		dst = append(append(AppendQuoted(dst, q.Key), ':'), q.Value...)
	}
	if len(requests) > 0 {
		dst = append(dst, '}')
	}
	if state != "" {
		dst = AppendQuoted(append(append(dst, ','), memberState...), state)
	}
	if serverInfo != nil {
		dst = append(append(append(append(dst, ','), openServerInfo...), serverInfo...), '}')
	}
	return append(dst, "}}"...)
}

// InputRequests calls each with the questions of an input_required until it returns false: the raw key with its quotes, the
// method, its params (absent when there are none). ErrShape: requests is no object, or a question is none or has no method;
// ErrDuplicate: two have the same key.
func InputRequests(raw []byte, requests Span, each func(key []byte, m Method, params Span) bool) error {
	if !requests.Present() || raw[requests.Off] != '{' {
		return fault(ErrShape, int(requests.Off), "inputRequests: want object")
	}
	seen := map[string]bool{}
	for w := walkMembers(raw, requests); w.next(); {
		quoted := raw[w.keyAt : w.keyAt+len(w.key)+2]
		key, _ := Unquote(quoted)
		if seen[key] {
			return fault(ErrDuplicate, w.keyAt, "inputRequests: a key stands there twice")
		}
		seen[key] = true
		name, ok := Unquote(Member(raw, w.value, "method").Of(raw))
		if !ok {
			return fault(ErrShape, int(w.value.Off), "inputRequests: want objects with a method")
		}
		params := Member(raw, w.value, "params")
		if params.Present() && raw[params.Off] == 'n' {
			params = Span{}
		} else if params.Present() && raw[params.Off] != '{' {
			return fault(ErrShape, int(params.Off), "inputRequests: params: want object")
		}
		if !each(quoted, ParseMethod([]byte(name)), params) {
			break
		}
	}
	return nil
}
