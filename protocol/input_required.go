package protocol

import "goblin-actor/protocol/rawjson"

// RelayInputRequired appends the edits that turn a server's input_required result into the gateway's. They set
// requestState to state (unquoted), or remove it if state is "". They remove all members except inputRequests,
// requestState, resultType and _meta. See ToModernResult for serverInfo.
func RelayInputRequired(edits []rawjson.Edit, f *Frame, r *ResultInfo, state string, serverInfo []byte) []rawjson.Edit {
	patches := [...]rawjson.Patch{
		{Name: "resultType", Key: memberComplete, Have: r.ResultType, Want: wordRequired},
		{Name: "requestState", Key: memberState, Have: r.RequestState},
		{Name: "_meta", Key: openServerInfo, Want: serverInfo, Tail: closeObject},
	}
	if state != "" {
		patches[1].Want = rawjson.Quote(state)
	}
	if r.Meta.Present() && f.Raw[r.Meta.Off] == '{' {
		patches[2].Want = nil
	}
	// A go-sdk server also sends "content":null, which the TypeScript client refuses.
	known := [2]rawjson.Span{r.InputRequests, r.Meta}
	edits, kept := rawjson.DropMembers(edits, f.Raw, f.Result, known, func(key []byte) bool {
		switch {
		case patches[0].Have.Present() && rawjson.KeyIs(key, "resultType"), r.InputRequests.Present() && rawjson.KeyIs(key, "inputRequests"):
			return false
		case patches[1].Have.Present() && patches[1].Want != nil && rawjson.KeyIs(key, "requestState"):
			return false
		}
		return !(patches[2].Want == nil && r.Meta.Present() && rawjson.KeyIs(key, "_meta"))
	})
	for _, w := range patches[:2] {
		if w.Have.Present() && w.Want != nil {
			edits = append(edits, rawjson.Edit{Span: w.Have, With: w.Want})
		}
	}
	edits = rawjson.InsertPatches(edits, f.Result.Off+1, patches[:], kept)
	if patches[2].Want != nil {
		return edits
	}
	return putServerInfo(edits, f.Raw, r.Meta, serverInfo)
}

// InputRequest is one request of an input_required result.
type InputRequest struct {
	Key   string // chosen by the sender; the response has the same key
	Value []byte // raw JSON object {"method":…,"params":…}
}

// AppendInputRequired appends the response that sends the requests to a modern client. See AppendResult for rawID and
// ToModernResult for serverInfo. state is unquoted; "" means none. MCP 2026-07-28, schema, InputRequiredResult
func AppendInputRequired(dst, rawID []byte, requests []InputRequest, state string, serverInfo []byte) []byte {
	size := 160 + len(rawID) + len(state) + len(serverInfo)
	for _, q := range requests {
		size += len(q.Key) + len(q.Value) + 4
	}
	dst = rawjson.Grow(dst, size)
	dst = append(append(append(dst, head+`,"id":`...), rawID...), `,"result":{"resultType":"input_required"`...)
	for i, q := range requests {
		dst = append(dst, [...]string{`,"inputRequests":{`, `,`}[min(i, 1)]...)
		dst = append(append(rawjson.AppendQuoted(dst, q.Key), ':'), q.Value...)
	}
	if len(requests) > 0 {
		dst = append(dst, '}')
	}
	if state != "" {
		dst = rawjson.AppendQuoted(append(append(dst, ','), memberState...), state)
	}
	if serverInfo != nil {
		dst = append(append(append(append(dst, ','), openServerInfo...), serverInfo...), '}')
	}
	return append(dst, "}}"...)
}

// InputRequests calls each with the requests of an input_required result until each returns false. key includes its quotes;
// params may be absent. InputRequests fails with ErrShape if requests is not an object, or if one of its values has no method
// or has params that are neither an object nor null. It fails with ErrDuplicate if two requests have the same key.
func InputRequests(raw []byte, requests rawjson.Span, each func(key []byte, m Method, params rawjson.Span) bool) error {
	if !requests.Present() || raw[requests.Off] != '{' {
		return fault(ErrShape, int(requests.Off), "inputRequests: want object")
	}
	seen := map[string]bool{}
	for w := rawjson.WalkMembers(raw, requests); w.Next(); {
		quoted := raw[w.KeyAt : w.KeyAt+len(w.Key)+2]
		key, _ := rawjson.Unquote(quoted)
		if seen[key] {
			return fault(ErrDuplicate, w.KeyAt, "inputRequests: a key occurs twice")
		}
		seen[key] = true
		name, ok := rawjson.Unquote(rawjson.Member(raw, w.Value, "method").Of(raw))
		if !ok {
			return fault(ErrShape, int(w.Value.Off), "inputRequests: want objects with a method")
		}
		params := rawjson.Member(raw, w.Value, "params")
		if params.Present() && raw[params.Off] == 'n' {
			params = rawjson.Span{}
		} else if params.Present() && raw[params.Off] != '{' {
			return fault(ErrShape, int(params.Off), "inputRequests: params: want object")
		}
		if !each(quoted, ParseMethod([]byte(name)), params) {
			break
		}
	}
	return nil
}
