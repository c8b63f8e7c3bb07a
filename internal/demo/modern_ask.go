package demo

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// stateLife is the lifetime of a requestState. It limits how long a client may take to answer.
const stateLife = 10 * time.Minute

// Questions in the modern era. MCP 2026-07-28, basic/patterns/mrtr.
//
// There are no requests to clients. A call with questions ends with input_required, and the client repeats it with the
// answers. The handler then runs again from the start, and askAll returns answered questions immediately. Nothing waits
// in between: answers of earlier rounds come back in the sealed requestState.

// inputRequired is the error by which a handler ends its call with unanswered questions.
type inputRequired struct{ open []question }

func (*inputRequired) Error() string { return "input required" }

// modern reports whether the client belongs to the modern era.
func (c *Call) modern() bool { return protocol.IsModern(c.session.version) }

// resume collects the client's answers: those in the request and those sealed in its requestState.
func (c *Call) resume() error {
	raw, p := c.x.Frame.Raw, &c.x.Params
	c.answers, c.told = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if p.RequestState.Present() {
		text, _ := rawjson.Unquote(p.RequestState.Of(raw))
		state, err := c.front.sealer.Open(text, time.Now())
		if err != nil || state.Check("", "", c.x.Frame.Method.String(), c.digest()) != nil || json.Unmarshal(state.Inner, &c.answers) != nil {
			return &Error{Code: codeInvalidParams, Message: "requestState: invalid or expired"}
		}
		c.resumed = true
	}
	if p.InputResponses.Present() {
		var answers map[string]json.RawMessage
		if json.Unmarshal(p.InputResponses.Of(raw), &answers) != nil || answers == nil {
			return &Error{Code: codeInvalidParams, Message: "inputResponses: expected an object"}
		}
		maps.Copy(c.answers, answers)
	}
	return nil
}

// digest returns the digest that binds a requestState to its request.
func (c *Call) digest() [32]byte {
	p := &c.x.Params
	target := p.Name
	if c.x.Frame.Method == protocol.MethodResourcesRead {
		target = p.URI
	}
	return seal.Digest(c.x.Frame.Method.String(), target.Of(c.x.Frame.Raw), p.Arguments.Of(c.x.Frame.Raw))
}

// requireInput returns the replies or, if some are missing, the error that ends the call. In a task it waits for them
// instead.
func (c *Call) requireInput(questions []question) ([]reply, error) {
	for {
		replies := make([]reply, len(questions))
		var open []question
		for i, q := range questions {
			answer, said := c.said(q.key)
			switch {
			case !c.canAnswer(q.needs):
				replies[i].Err = undeclared(q)
			case said && q.fits(answer):
				replies[i].Result = answer
			default:
				open = append(open, q)
			}
		}
		switch {
		case len(open) == 0:
			return replies, nil
		case c.task == nil:
			return nil, &inputRequired{open}
		}
		if err := c.task.wait(c.Context, open); err != nil {
			return nil, err
		}
	}
}

// said returns the client's answer to a question, and marks it as used.
func (c *Call) said(key string) (json.RawMessage, bool) {
	if c.task != nil {
		return c.task.answer(key)
	}
	answer, ok := c.answers[key]
	if ok {
		c.told[key] = answer
	}
	return answer, ok
}

// request renders the question as an element of inputRequests.
func (q question) request() (json.RawMessage, error) {
	return marshal(struct {
		Method string `json:"method"`
		Params any    `json:"params"`
	}{q.method.String(), q.params})
}

// fits reports whether an answer has a valid form for the question.
func (q question) fits(answer json.RawMessage) bool {
	params, err := json.Marshal(q.params)
	if err != nil {
		return false
	}
	return protocol.InputKindOf(params, q.method, rawjson.Span{End: uint32(len(params))}).ValidAnswer(bytes.TrimSpace(answer))
}

// ask returns the result with the open questions. It omits requestState if there is nothing to keep, unless the tool is
// stateful or the request had one.
func (c *Call) ask(asks *inputRequired) (any, error) {
	requests, err := inputRequests(asks.open)
	if err != nil {
		return nil, err
	}
	result := map[string]any{"resultType": "input_required", "inputRequests": requests}
	for _, q := range asks.open {
		delete(c.told, q.key) // asked again, because the answer was invalid
	}
	if len(c.told) == 0 && !c.resumed && !c.stateful {
		return result, nil
	}
	inner, err := json.Marshal(c.told)
	if err != nil {
		return nil, err
	}
	state := seal.State{Kind: seal.Parked, Method: c.x.Frame.Method.String(), Digest: c.digest(), Expiry: time.Now().Add(stateLife), Inner: inner}
	result["requestState"], err = c.front.sealer.Seal(&state)
	return result, err
}

// inputRequests renders questions by key.
func inputRequests(open []question) (map[string]json.RawMessage, error) {
	requests := map[string]json.RawMessage{}
	for _, q := range open {
		request, err := q.request()
		if err != nil {
			return nil, err
		}
		requests[q.key] = request
	}
	return requests, nil
}

// lacks returns the error for missing client capabilities.
func lacks(capabilities string) error {
	return &Error{
		Code: codeCapabilityRequired, Message: "the client has not declared a required capability",
		Data: slices.Concat([]byte(`{"requiredCapabilities":`), []byte(capabilities), []byte{'}'}),
	}
}
