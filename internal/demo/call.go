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

// Call is a request that a handler processes. Its methods may be called until the handler returns.
type Call struct {
	// Context ends when the client cancels the request, its session ends, or the server stops.
	Context   context.Context
	Name      string          // name of the tool or prompt, or URI of the resource
	Arguments json.RawMessage // as sent by the client; nil = none

	front   *front
	session *session // for a modern call: a session of its own, with the client's data from the request
	x       *downstream.Exchange

	answers  map[string]json.RawMessage // modern: answers from the client, by key of the question
	told     map[string]json.RawMessage // modern: answers that the handler has used; they go into the next requestState
	resumed  bool                       // modern: the request has a valid requestState
	asked    int32                      // number of questions asked by Ask, from which their keys are derived; atomic, because questions may be asked concurrently
	stateful bool                       // modern: every question comes with a requestState
	task     *task                      // the task that the call continues in; nil = none
}

// Bind decodes the arguments into v, a pointer to a struct. Unknown fields and type mismatches are errors that name the
// argument. Without arguments, v stays unchanged.
func (c *Call) Bind(v any) error {
	if len(c.Arguments) == 0 || string(c.Arguments) == "null" {
		return nil
	}
	return decode.Strict(c.Arguments, "arguments", v)
}

// Progress reports the call's progress if the client requested it. done must increase with each report; total 0 =
// unknown. message is omitted for clients whose version lacks it. MCP 2025-11-25, basic/utilities/progress.
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

// Log sends a log message if the session's level admits it. level is one of the eight syslog
// levels. MCP 2025-11-25, server/utilities/logging.
func (c *Call) Log(level, logger string, data any) {
	if !c.session.logs(level) || c.Context.Err() != nil {
		return
	}
	params, err := json.Marshal(map[string]any{"level": level, "logger": logger, "data": data})
	if err != nil {
		return // data that is not valid JSON is not logged
	}
	c.x.Notify(protocol.Message{Frame: protocol.AppendNotification(nil, protocol.NotificationMessage.String(), params)}, downstream.WeightLog, "")
}

// notify sends a notification on the call's stream before its answer.
func (c *Call) notify(m protocol.Method, params map[string]string) {
	raw, err := json.Marshal(params)
	if err != nil {
		return // strings always marshal
	}
	c.x.Notify(protocol.Message{Frame: protocol.AppendNotification(nil, m.String(), raw)}, downstream.WeightAnswer, "")
}

// Ask sends a request to a legacy client on the call's stream and waits for the answer or the end of Context. It does
// not check whether the client declared the capability. An error from the client is returned as an *Error. For a
// modern call, Ask is askAll with one question.
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

// pose sends a question to a legacy client on the call's stream. The caller must call wait, which waits for the answer or
// the end of Context. An error from the client is returned as an *Error.
func (c *Call) pose(q question) (wait func() (json.RawMessage, error), err error) {
	raw, err := json.Marshal(q.params)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", q.method, err)
	}
	if raw[0] == '{' { // a gateway may need the key to pass the question to a modern client
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

// Client returns the capabilities that the client declared, in initialize or in the request.
func (c *Call) Client() json.RawMessage { return c.session.capabilities }
