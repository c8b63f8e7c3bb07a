package client

import (
	"context"
	"encoding/json"
	"errors"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// maxQuestions is how many questions of the server may be open at once; more are refused.
const maxQuestions = 64

// Codes of refusals. MCP 2025-11-25, client/sampling, error handling, for the first.
const (
	CodeRejected       = -1 // the user does not want to answer
	codeMethodNotFound = -32601
	codeInternal       = -32603
)

// Answerer answers a request of the server, elicitation/create, sampling/createMessage or roots/list, with a raw
// result. An *RPCError goes to the server as it is, any other error as an internal one. ctx ends when the server
// withdraws its question or the connection ends; what is returned then goes nowhere. Called in a goroutine of its
// own for each question, several at once.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

var errWithdrawn = errors.New("the server has withdrawn its question")

// asked answers a request of the server: pings by itself, the rest by Options.Answer.
func (c *Client) asked(f *protocol.Frame) {
	id := f.IDBytes()
	switch {
	case f.M == protocol.MethodPing:
		c.reply(protocol.AppendResult(nil, id, []byte("{}")))
		return
	case c.options.Answer == nil:
		c.reply(protocol.AppendError(nil, id, codeMethodNotFound, "this client answers no questions", nil))
		return
	}
	ctx, ok := c.openQuestion(string(id))
	if !ok {
		c.reply(protocol.AppendError(nil, id, codeInternal, "too many questions at once, or this id is in use", nil))
		return
	}
	method, params := f.MethodText(), f.ParamsBytes()
	go func() {
		result, err := c.options.Answer(ctx, method, params)
		if !c.closeQuestion(string(id)) {
			return // withdrawn: an answer would be one to nothing
		}
		c.reply(answerFrame(id, result, err))
	}()
}

// answerFrame renders the answer to a question.
func answerFrame(id []byte, result json.RawMessage, err error) []byte {
	if err == nil && protocol.Valid(result) != nil {
		err = errors.New("the answer is no JSON")
	}
	if err == nil {
		return protocol.AppendResult(nil, id, result)
	}
	if rpc, ok := errors.AsType[*RPCError](err); ok {
		return protocol.AppendError(nil, id, rpc.Code, rpc.Message, rpc.Data)
	}
	return protocol.AppendError(nil, id, codeInternal, err.Error(), nil)
}

// reply sends an answer nobody waits for, and not from the link's own goroutine, which must not block.
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

// closeQuestion forgets a question; false when it is not open any more.
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

// withdrawn ends the question the server cancels. MCP 2025-11-25, basic/utilities/cancellation.
func (c *Client) withdrawn(f *protocol.Frame) {
	var params protocol.Params
	if params.Scan(f) == nil {
		c.endQuestion(string(params.RequestID.Of(f.Raw)), errWithdrawn)
	}
}
