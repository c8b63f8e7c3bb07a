package protocol

// ResultKind is what a result means to the call it answers.
type ResultKind uint8

const (
	ResultUnknown       ResultKind = iota // a resultType nobody knows: the call fails
	ResultComplete                        // complete or, from a legacy server, nothing
	ResultInputRequired                   // input_required, also from a legacy server that leaves the word out (go-sdk)
	ResultTask                            // task, of the extension
)

// KindOf says what the result of a request means. input_required counts where it is allowed only: tools/call, prompts/get and resources/read.
func (r *ResultInfo) KindOf(m Method, f *Frame) ResultKind { return ResultComplete }

// ToModernResult appends the edits that make a server's result, of either era, one for a modern client: resultType, in _meta serverInfo (raw JSON
// object; nil = none), ttlMs 0 and cacheScope private where the method wants them, content of a tool call. What is there stays.
// f is the result's frame, m the request's method.
func ToModernResult(edits []Edit, m Method, f *Frame, r *ResultInfo, serverInfo []byte) []Edit {
	return edits
}

// ToLegacyResult appends the edits that make a modern server's result one for a legacy client: without resultType, ttlMs and cacheScope;
// structured content that is no object becomes a text block. The result must be complete (KindOf).
func ToLegacyResult(edits []Edit, m Method, f *Frame, r *ResultInfo) []Edit { return edits }

// RelayInputRequired appends the edits that make a server's input_required one of ours: state (unquoted; "" = the server gave none)
// in place of its own, and nothing besides inputRequests, requestState, resultType and _meta.
func RelayInputRequired(edits []Edit, f *Frame, r *ResultInfo, state string, serverInfo []byte) []Edit {
	return edits
}
