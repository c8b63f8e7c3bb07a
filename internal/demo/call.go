package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Call is one request in a handler's hand. Its methods may be called until the handler returns.
type Call struct {
	// Context ends when the client cancels the request, leaves its session, or the server stops.
	Context   context.Context
	Name      string          // of the tool or prompt; the URI of a resource
	Arguments json.RawMessage // as the client sent them; nil = none

	front   *front
	session *session // of a modern call: one of its own, with what the request says of its client
	x       *downstream.Exchange

	answers  map[string]json.RawMessage // modern: what the client brought, by key of the question
	told     map[string]json.RawMessage // modern: those the handler has looked at; the next requestState keeps them
	resumed  bool                       // modern: with a requestState of ours
	asked    int32                      // questions of Ask, which have no keys of their own; atomic, for some are asked at once
	stateful bool                       // modern: a requestState goes with every question
	task     *task                      // it goes on after its answer; nil = it does not
}

// Bind decodes the arguments into v, a pointer to a struct. Unknown members are an error, like every other
// mismatch; it names the argument.
func (c *Call) Bind(v any) error {
	if len(c.Arguments) == 0 || string(c.Arguments) == "null" {
		return nil
	}
	return decode.Strict(c.Arguments, "arguments", v)
}

// Progress tells the client how far the call is, if it asked to be told. done must grow from call to call;
// total 0 = unknown. message is left out for clients too old to know it. MCP 2025-11-25, basic/utilities/progress.
func (c *Call) Progress(done, total float64, message string) {
	token := c.x.Params.ProgressToken.Of(c.x.Frame.Raw)
	if token == nil || c.Context.Err() != nil {
		return
	}
	params := append([]byte(`{"progressToken":`), token...)
	params = append(params, `,"progress":`...)
	params = strconv.AppendFloat(params, done, 'g', -1, 64)
	if total > 0 {
		params = append(params, `,"total":`...)
		params = strconv.AppendFloat(params, total, 'g', -1, 64)
	}
	if message != "" && c.session.knows(protocol.Version20250326) {
		params = append(params, `,"message":`...)
		params = rawjson.AppendQuoted(params, message)
	}
	frame := protocol.AppendNotification(nil, protocol.NotificationProgress.String(), append(params, '}'))
	c.x.Notify(protocol.Message{Frame: frame}, downstream.WeightProgress, "progress")
}

// Log sends a log line of this call, if the session's level lets it pass. level is one of the eight syslog
// words. MCP 2025-11-25, server/utilities/logging.
func (c *Call) Log(level, logger string, data any) {
	if !c.session.logs(level) || c.Context.Err() != nil {
		return
	}
	params, err := json.Marshal(map[string]any{"level": level, "logger": logger, "data": data})
	if err != nil {
		return // a handler that logs what is no JSON has nothing to say
	}
	c.x.Notify(protocol.Message{Frame: protocol.AppendNotification(nil, protocol.NotificationMessage.String(), params)}, downstream.WeightLog, "")
}

// notify sends another notification of this call, ahead of its answer.
func (c *Call) notify(m protocol.Method, params map[string]string) {
	raw, err := json.Marshal(params)
	if err != nil {
		return // strings always are JSON
	}
	c.x.Notify(protocol.Message{Frame: protocol.AppendNotification(nil, m.String(), raw)}, downstream.WeightAnswer, "")
}

// Ask sends a legacy client a request on this call's stream and waits for the answer or the end of Context; whether
// it has declared that it answers such is not looked at. Its refusal comes back as an *Error. In a modern call it is
// askAll with one question.
func (c *Call) Ask(method string, params any) (json.RawMessage, error) {
	q := question{key: "ask" + strconv.Itoa(int(atomic.AddInt32(&c.asked, 1))), method: protocol.ParseMethod([]byte(method)), params: params}
	if !c.modern() {
		wait, err := c.pose(q)
		if err != nil {
			return nil, err
		}
		return wait()
	}
	q.needs = map[protocol.Method]string{
		protocol.MethodElicitationCreate: needsForm, protocol.MethodSamplingCreateMessage: needsSampling, protocol.MethodRootsList: needsRoots,
	}[q.method]
	replies, err := c.askAll(q)
	if err != nil {
		return nil, err
	}
	return replies[0].Result, replies[0].Err
}

// pose sends a question to a legacy client, on this call's stream; wait, which must be called, waits for its answer or
// the end of Context. The client's refusal comes back as an *Error.
func (c *Call) pose(q question) (wait func() (json.RawMessage, error), err error) {
	raw, err := json.Marshal(q.params)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", q.method, err)
	}
	if raw[0] == '{' { // a gateway may have to name the question to a modern client
		key := append([]byte(`"_meta":{"goblin-actor/key":`), rawjson.Quote(q.key)...)
		raw = rawjson.AppendEdited(nil, raw, rawjson.InsertMember(raw, rawjson.Span{End: uint32(len(raw))}, append(key, '}')))
	}
	id, answer := c.session.asking()
	c.x.Notify(protocol.Message{Frame: protocol.AppendRequest(nil, id, q.method.String(), raw)}, downstream.WeightAnswer, "")
	return func() (json.RawMessage, error) {
		defer c.session.asked(id)
		select {
		case a := <-answer:
			return a.result, a.err
		case <-c.Context.Done():
			return nil, context.Cause(c.Context)
		}
	}, nil
}

// Client returns the capabilities the client declared, in initialize or in the request.
func (c *Call) Client() json.RawMessage { return c.session.capabilities }
