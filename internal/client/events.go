package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// sink handles events of the link. The goroutines of the link call it.
func (c *Client) sink(_ context.Context, e upstream.Event) error {
	switch e := e.(type) {
	case upstream.Received:
		if isRefusal(&e) {
			c.settle(e.Ticket, outcome{err: c.refusal(&e)})
			return nil
		}
		c.received(&e.Frame)
	case upstream.Written:
		if !c.http {
			c.settleNote(e.Ticket)
		}
	case upstream.NotSent:
		c.settle(e.Ticket, outcome{err: c.unreachable(e.Err)})
	case upstream.Ended:
		c.ended(e)
	case upstream.SessionLost:
		c.settle(e.Ticket, outcome{err: ErrSessionLost})
		c.lost(ErrSessionLost)
	case upstream.ListenFailed:
		c.lost(e.Err)
	case upstream.Closed:
		c.end(e.Err)
	}
	return nil
}

// isRefusal reports whether e is an error response without the request's id. The gateway sends one if it did not parse
// the request, for example because it is too large or the path does not exist.
func isRefusal(e *upstream.Received) bool {
	return e.Ticket != 0 && e.Last && e.Frame.Kind == protocol.KindError && (!e.Frame.ID.Present() || string(e.Frame.IDBytes()) == "null")
}

// refusal returns the error of a response for which isRefusal is true. For HTTP 404, or if the response cannot be
// decoded, it wraps an *upstream.StatusError, otherwise it is an *RPCError.
func (c *Client) refusal(e *upstream.Received) error {
	rpc := &RPCError{}
	if e.Status == 404 || json.Unmarshal(e.Frame.ErrorBytes(), rpc) != nil {
		return fmt.Errorf("%s: %w", c.where, &upstream.StatusError{Code: e.Status, Body: e.Frame.Raw})
	}
	return rpc
}

// deniedBy returns the gateway's error about authentication or rate limits, or nil if err is something else. The link
// reports such a response as an HTTP status, because the request was rejected as a whole.
func deniedBy(err error) *RPCError {
	status, ok := errors.AsType[*upstream.StatusError](err)
	if !ok || status.Code != 401 && status.Code != 429 {
		return nil
	}
	var body struct {
		Error RPCError `json:"error"`
	}
	if json.Unmarshal(status.Body, &body) != nil || body.Error.Name() == "" {
		return nil
	}
	return &body.Error
}

func (c *Client) lost(err error) {
	if c.options.OnLost != nil {
		c.options.OnLost(err)
	}
}

func (c *Client) unreachable(err error) error {
	if errors.Is(err, upstream.ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%s: %w: %w", c.where, ErrUnreachable, err)
}

func (c *Client) ended(e upstream.Ended) {
	err := e.Err
	switch {
	case err == nil:
		c.settleNote(e.Ticket)
		err = upstream.ErrNoAnswer
	case errors.Is(err, upstream.ErrClosed):
		err = ErrClosed
	}
	if rpc := deniedBy(err); rpc != nil {
		c.settle(e.Ticket, outcome{err: rpc})
		return
	}
	c.settle(e.Ticket, outcome{err: fmt.Errorf("%s: %w", c.where, err)})
}

// settle completes the request or notification with that ticket. Later calls for the same ticket do nothing.
func (c *Client) settle(ticket uint64, o outcome) {
	c.mu.Lock()
	p := c.pending[ticket]
	delete(c.pending, ticket)
	c.mu.Unlock()
	if p != nil {
		p.done <- o
	}
}

// settleNote completes a notification. It does nothing for a request.
func (c *Client) settleNote(ticket uint64) {
	c.mu.Lock()
	p := c.pending[ticket]
	c.mu.Unlock()
	if p != nil && p.note {
		c.settle(ticket, outcome{})
	}
}

// end fails all pending requests, ends the open requests of the server, and reports the end to Options.OnLost.
func (c *Client) end(err error) {
	if err == nil {
		err = ErrClosed
	} else {
		err = fmt.Errorf("%s: %w: %w", c.where, ErrClosed, err)
	}
	c.mu.Lock()
	left, questions := maps.Clone(c.pending), maps.Clone(c.questions)
	clear(c.pending)
	clear(c.questions)
	c.over = err
	c.mu.Unlock()
	for _, p := range left {
		p.done <- outcome{err: err}
	}
	for _, cancel := range questions {
		cancel(err)
	}
	close(c.closed)
	c.lost(err)
}

func (c *Client) received(f *protocol.Frame) {
	switch f.Kind {
	case protocol.KindResult, protocol.KindError:
		c.answered(f)
	case protocol.KindRequest:
		c.asked(f)
	case protocol.KindNotification:
		switch {
		case f.Method == protocol.NotificationProgress:
			c.progressed(f)
		case f.Method == protocol.NotificationCancelled:
			c.withdrawn(f)
		case c.options.OnNotification != nil:
			c.options.OnNotification(f.MethodText(), f.ParamsBytes())
		}
	}
}

func (c *Client) answered(f *protocol.Frame) {
	id, err := strconv.ParseUint(string(f.IDBytes()), 10, 64)
	if err != nil {
		return // not the id of a request of this client
	}
	if f.Kind == protocol.KindResult {
		c.settle(id, outcome{result: f.ResultBytes()})
		return
	}
	rpc := &RPCError{}
	if err := decode.JSON(f.ErrorBytes(), "the error", rpc); err != nil {
		c.settle(id, outcome{err: fmt.Errorf("%s sent an invalid error: %w", c.where, err)})
		return
	}
	c.settle(id, outcome{err: rpc})
}

// progressed passes progress to the call with that token. Tokens are request ids.
func (c *Client) progressed(f *protocol.Frame) {
	var params protocol.Params
	if params.Scan(f) != nil {
		return
	}
	id, err := strconv.ParseUint(string(params.Token.Of(f.Raw)), 10, 64)
	if err != nil {
		return
	}
	var p Progress
	if json.Unmarshal(f.ParamsBytes(), &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock() // so that nothing is added after the call has returned
	if call := c.pending[id]; call != nil && call.steps != nil {
		call.steps.add(p)
	}
}
