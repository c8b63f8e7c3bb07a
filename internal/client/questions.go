package client

import (
	"context"
	"encoding/json"
	"errors"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// maxQuestions is the maximum number of open requests of the server. More are refused.
const maxQuestions = 64

// Error codes of responses. The first is from MCP 2025-11-25, client/sampling, error handling.
const (
	CodeRejected       = -1 // the user declined to answer
	codeMethodNotFound = -32601
	codeInternal       = -32603
)

// Answerer answers a request of the server (elicitation/create, sampling/createMessage or roots/list) with a raw
// result. An *RPCError is sent to the server unchanged, any other error as an internal error. ctx ends if the server
// withdraws the request or the connection ends; the result is then dropped. Each request has its own goroutine, so
// calls may overlap.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

var errWithdrawn = errors.New("the server has withdrawn its request")

// asked answers a request of the server. It answers pings itself, and passes others to Options.Answer.
func (c *Client) asked(f *protocol.Frame) {
	id := f.IDBytes()
	switch {
	case f.Method == protocol.MethodPing:
		c.reply(protocol.AppendResult(nil, id, []byte("{}")))
		return
	case c.options.Answer == nil:
		c.reply(protocol.AppendError(nil, id, codeMethodNotFound, "this client does not answer requests", nil))
		return
	}
	ctx, ok := c.openQuestion(string(id))
	if !ok {
		c.reply(protocol.AppendError(nil, id, codeInternal, "too many open requests, or the id is already in use", nil))
		return
	}
	method, params := f.MethodText(), f.ParamsBytes()
	go func() {
		result, err := c.options.Answer(ctx, method, params)
		if !c.closeQuestion(string(id)) {
			return // withdrawn
		}
		c.reply(answerFrame(id, result, err))
	}()
}

// answerFrame renders the response to a request.
func answerFrame(id []byte, result json.RawMessage, err error) []byte {
	if err == nil && protocol.Valid(result) != nil {
		err = errors.New("the answer is not valid JSON")
	}
	if err == nil {
		return protocol.AppendResult(nil, id, result)
	}
	if rpc, ok := errors.AsType[*RPCError](err); ok {
		return protocol.AppendError(nil, id, rpc.Code, rpc.Message, rpc.Data)
	}
	return protocol.AppendError(nil, id, codeInternal, err.Error(), nil)
}

// reply sends a response without waiting. It uses a new goroutine, because the link's goroutines must not block.
func (c *Client) reply(frame []byte) {
	ticket, err := c.enter(&pending{done: make(chan outcome, 1), note: true})
	if err == nil {
		go c.send(upstream.Outgoing{Ticket: ticket, Frame: frame, Newline: multiline(frame)})
	}
}

func (c *Client) openQuestion(id string) (context.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.questions[id]; twice || c.over != nil || len(c.questions) >= maxQuestions {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c.questions[id] = cancel
	return ctx, true
}

// closeQuestion removes a request of the server. It returns false if it is no longer open.
func (c *Client) closeQuestion(id string) bool {
	return c.endQuestion(id, context.Canceled)
}

func (c *Client) endQuestion(id string, cause error) bool {
	c.mu.Lock()
	cancel, ok := c.questions[id]
	delete(c.questions, id)
	c.mu.Unlock()
	if ok {
		cancel(cause)
	}
	return ok
}

// withdrawn ends the request that the server cancels. MCP 2025-11-25, basic/utilities/cancellation.
func (c *Client) withdrawn(f *protocol.Frame) {
	var params protocol.Params
	if params.Scan(f) == nil {
		c.endQuestion(string(params.RequestID.Of(f.Raw)), errWithdrawn)
	}
}
