package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"goblin-actor/internal/client"
	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
)

// Questions answers what servers ask in the middle of a call. What is nil is not offered to servers, and refused. A context ends when
// the server withdraws its question, or the call is over. An error is told to the server.
type Questions struct {
	// Elicit asks the user: for a form to be filled in, or for a page to be visited.
	Elicit func(ctx context.Context, e Elicitation) (Answer, error)
	// Sample asks the model: the parameters of sampling/createMessage, and its result.
	Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	// Roots says where servers may work.
	Roots func(ctx context.Context) ([]Root, error)
}

// Elicitation is a question to the user.
type Elicitation struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // of the form; nil = none, it is a page
	URL     string          `json:"url"`             // of the page; "" = none, it is a form
}

// Answer is what the user did.
type Answer struct {
	Action  string `json:"action"`            // accept, decline or cancel
	Content any    `json:"content,omitempty"` // of an accepted form: what encoding/json makes an object of
}

// Root is a place where servers may work.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// capabilities are what a client with these declares.
func (q *Questions) capabilities() json.RawMessage {
	var has []string
	if q.Elicit != nil {
		has = append(has, `"elicitation":{"form":{},"url":{}}`)
	}
	if q.Sample != nil {
		has = append(has, `"sampling":{}`)
	}
	if q.Roots != nil {
		has = append(has, `"roots":{}`)
	}
	return json.RawMessage("{" + strings.Join(has, ",") + "}")
}

// errNotAnswered refuses what was never offered.
var errNotAnswered = &client.RPCError{Code: -32601, Message: "this client does not answer that"}

// answer is a client.Answerer.
func (q *Questions) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch m := protocol.ParseMethod([]byte(method)); {
	case m == protocol.MethodElicitationCreate && q.Elicit != nil:
		var e Elicitation
		if err := decode.JSON(params, "the params of "+method, &e); err != nil {
			return nil, err
		}
		a, err := q.Elicit(ctx, e)
		if err != nil {
			return nil, err
		}
		if a.Action == "" {
			return nil, errors.New("the answer says neither accept nor decline nor cancel")
		}
		return json.Marshal(a)
	case m == protocol.MethodSamplingCreateMessage && q.Sample != nil:
		return q.Sample(ctx, params)
	case m == protocol.MethodRootsList && q.Roots != nil:
		roots, err := q.Roots(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(struct {
			Roots []Root `json:"roots"`
		}{append([]Root{}, roots...)})
	}
	return nil, errNotAnswered
}
