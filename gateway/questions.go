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

// Questions answers the requests that servers send to clients. If a function is nil, the program does not declare the
// capability, and requests for it are refused. The context of a function ends when the server cancels its request or the
// call ends. If a function returns an error, the server receives it.
type Questions struct {
	// Elicit asks the user to fill in a form or to visit a web page.
	Elicit func(ctx context.Context, e Elicitation) (Answer, error)
	// Sample asks the program's model. It takes the params of sampling/createMessage and returns its result.
	Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	// Roots returns the directories servers may work in.
	Roots func(ctx context.Context) ([]Root, error)
}

// Elicitation is a request for input from the user.
type Elicitation struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // schema of the form; nil if URL is set
	URL     string          `json:"url"`             // address of the page; "" for a form
}

// Answer is the user's response.
type Answer struct {
	Action  string `json:"action"`            // accept, decline or cancel
	Content any    `json:"content,omitempty"` // data of an accepted form; encoding/json must encode it as an object
}

// Root is a directory or other resource that servers may work in.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// capabilities returns the client capabilities that the non-nil functions provide, as a JSON object.
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

// errNotAnswered refuses a request for which there is no function.
var errNotAnswered = &client.RPCError{Code: -32601, Message: "this client does not support that request"}

// answer answers a server's request. It is used as client.Options.Answer.
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
			return nil, errors.New("the answer's action must be accept, decline or cancel")
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
