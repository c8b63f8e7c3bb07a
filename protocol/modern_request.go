package protocol

// ModernMeta is what a request to a modern server says besides what it asks. All but LogLevel are raw JSON, nil = none.
type ModernMeta struct {
	ClientInfo     []byte // an Implementation
	Capabilities   []byte // the client's capabilities; nil = {}
	LogLevel       string // "" = no log messages wanted
	Token          []byte // progress token of ours; nil leaves the client's
	InputResponses []byte // the object; tools/call, prompts/get and resources/read only
	RequestState   []byte // the string; likewise
}

// ToLegacyRequest appends the edits that make a client's request one for a legacy server: without _meta's io.modelcontextprotocol/ keys,
// inputResponses and requestState; token, raw JSON, takes the place of the progress token or is put in; nil leaves it.
// _meta goes when nothing is left in it. The edits touch params only, and there neither name, uri, ref nor arguments:
// edits of id and these can be made in the same AppendEdited.
func ToLegacyRequest(edits []Edit, f *Frame, p *Params, token []byte) []Edit { return edits }

// ToModernRequest appends the edits that make a client's request, of either era, one for a modern server: with meta in
// _meta and with exactly its InputResponses and RequestState; a tool call loses task. Otherwise as ToLegacyRequest.
func ToModernRequest(edits []Edit, f *Frame, p *Params, meta *ModernMeta) []Edit { return edits }

// AppendMeta appends the object _meta of a request of our own to a modern server.
func (meta *ModernMeta) AppendMeta(dst []byte) []byte { return dst }

// InputResponse is the answer to one of an input_required's requests.
type InputResponse struct{ Key, Result []byte } // the raw key with its quotes, as it came; raw JSON

// AppendInputResponses appends the object inputResponses.
func AppendInputResponses(dst []byte, responses []InputResponse) []byte { return dst }

// AppendRetry appends the client's request as one for a modern server once more, with the answers and the state (raw JSON
// string, nil = none) of its input_required; edits are those of id, name and URI.
func AppendRetry(dst []byte, f *Frame, p *Params, meta ModernMeta, responses []InputResponse, state []byte, edits ...Edit) []byte {
	return dst
}
