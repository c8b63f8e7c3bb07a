package protocol

// Question is a kind of question by what a client must have declared to be asked it.
type Question uint8

const (
	QuestionUnknown     Question = iota // no question a client can be asked
	QuestionForm                        // elicitation/create, mode form
	QuestionURL                         // elicitation/create, mode url
	QuestionSample                      // sampling/createMessage
	QuestionSampleTools                 // sampling/createMessage with tools or toolChoice
	QuestionRoots                       // roots/list
)

// QuestionOf says what kind of question a server's request or an input request is; params may be absent.
func QuestionOf(raw []byte, m Method, params Span) Question { return QuestionUnknown }

// Capability returns the capability to be declared for the question, a raw JSON object as in Fault.Required.
func (q Question) Capability() []byte { return nil }

// ValidAnswer reports whether raw, any JSON, has the shape of an answer to the question.
func (q Question) ValidAnswer(raw []byte) bool { return false }

// InputRequest is one question of an input_required.
type InputRequest struct {
	Key   string
	Value []byte // raw JSON object {"method":…,"params":…}
}

// InputRequests calls each with the questions of an input_required until it returns false: the raw key with its quotes, the method, its params
// (absent when there are none). A question that is no object or has no method is ErrShape.
func InputRequests(raw []byte, requests Span, each func(key []byte, m Method, params Span) bool) error {
	return nil
}

// AppendInputRequest appends a legacy server's question as the value of an input request, without what has no meaning there:
// elicitationId, task, the progress token and the related task.
func AppendInputRequest(dst []byte, f *Frame) []byte { return dst }

// AppendInputRequired appends the answer that puts the questions to a modern client. state is not quoted; "" = none. serverInfo as in ToModernResult.
func AppendInputRequired(dst, rawID []byte, requests []InputRequest, state string, serverInfo []byte) []byte {
	return dst
}

// AppendQuestion appends an input request as a request to a legacy client. elicitationID is put into questions of mode url,
// which legacy clients want; "" = none.
func AppendQuestion(dst []byte, id uint64, raw []byte, m Method, params Span, elicitationID string) []byte {
	return dst
}

// URLElicitations calls each with the questions in a legacy server's error -32042, params of elicitation/create each, until it
// returns false; false when there is none. // MCP 2025-11-25, client/elicitation, URL elicitation required
func URLElicitations(f *Frame, each func(params Span) bool) bool { return false }
