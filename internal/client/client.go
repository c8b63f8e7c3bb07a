package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"goblin-actor/internal/secret"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

const (
	maxMessageBytes = 256 << 20        // largest message taken from the gateway
	connectTime     = 15 * time.Second // for the handshake, unless the caller's context ends earlier
	closeGrace      = 2 * time.Second  // for the end of the connection
	cancelTime      = time.Second      // for telling the server that a call is cancelled
)

// Options say who the client is and what it wants to hear of. The zero value is good.
type Options struct {
	Name, Version string // of the program; "" = goblin-actor, devel
	Project       string // what of the gateway it sees; "" = everything
	Key           string // the API key it shows; "" = none. Never in an error
	// OnNotification is told what belongs to no request: list_changed, updated, log lines. Called from the link's
	// goroutines, in the order of arrival; a slow one stalls the connection.
	OnNotification func(method string, params json.RawMessage)
	// Capabilities is the raw JSON object declared in initialize; nil = none.
	Capabilities json.RawMessage
	// Answer answers what the server asks; nil = every question is refused. Only what Capabilities declare is asked.
	Answer Answerer
	// OnLost is told, from the link's goroutines, when the stream for notifications broke (the link opens it again by
	// itself), the session was forgotten, or the connection has ended. nil = not asked for.
	OnLost func(err error)
}

// Client is one MCP session. Its methods may be called from any goroutine; each blocks until its answer is there,
// its context ends, or the connection does.
type Client struct {
	options Options
	http    bool   // notifications are accepted with an HTTP answer; elsewhere being written is all
	where   string // for error messages: the URL without secrets, or "the gateway"

	link   upstream.Link
	linkMu sync.Mutex // a Link is called from one goroutine at a time

	mu        sync.Mutex
	pending   map[uint64]*pending                // by id, which is also the link's ticket
	questions map[string]context.CancelCauseFunc // open questions of the server, by their raw id
	lastID    uint64
	over      error         // why the link ended; nil while it lives
	closed    chan struct{} // closed once the link is over
}

// pending is a request or notification under way. done gets exactly one outcome.
type pending struct {
	done  chan outcome // capacity 1
	note  bool         // a notification: no answer, it is over when it was accepted
	steps *steps       // its progress; nil = nobody asked
}

type outcome struct {
	result json.RawMessage
	err    error
}

// Progress is how far a call is. Total 0 = unknown.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// Dial connects to the gateway at addr (see ParseAddress) and shakes hands. The error wraps ErrUnreachable when
// nobody is there.
func Dial(ctx context.Context, addr string, o Options) (*Client, error) {
	u, err := EndpointOf(addr, o.Project)
	if err != nil {
		return nil, err
	}
	c := newClient(o, secret.URL(u.String()))
	c.http = true
	return c.open(ctx, func(sink upstream.Sink) upstream.Link {
		return remote.OpenHTTP(remote.Options{URL: u.String(), Headers: keyHeader(o.Key), MaxMessageBytes: maxMessageBytes}, sink)
	})
}

// keyHeader is how a key is sent; nil without one.
func keyHeader(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

// OverPipe shakes hands with a server that reads lines from w and writes lines to r. The client owns both and
// closes them at its end.
func OverPipe(ctx context.Context, r io.ReadCloser, w io.WriteCloser, o Options) (*Client, error) {
	c := newClient(o, "the gateway")
	return c.open(ctx, func(sink upstream.Sink) upstream.Link { return openLines(r, w, sink) })
}

func newClient(o Options, where string) *Client {
	return &Client{
		options: o, where: where, pending: map[uint64]*pending{},
		questions: map[string]context.CancelCauseFunc{}, closed: make(chan struct{}),
	}
}

// open opens the link and initializes the session. MCP 2025-11-25, basic/lifecycle.
func (c *Client) open(ctx context.Context, dial func(upstream.Sink) upstream.Link) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	c.linkMu.Lock() // what the link tells may come before we have it
	c.link = dial(c.sink)
	c.linkMu.Unlock()
	if err := c.initialize(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) initialize(ctx context.Context) error {
	name, version := c.options.Name, c.options.Version
	if name == "" {
		name, version = "goblin-actor", "devel"
	}
	capabilities := c.options.Capabilities
	if capabilities == nil {
		capabilities = json.RawMessage("{}")
	}
	params, err := json.Marshal(map[string]any{
		"protocolVersion": protocol.LatestLegacy,
		"capabilities":    capabilities,
		"clientInfo":      map[string]string{"name": name, "version": version},
	})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	result, err := c.request(ctx, protocol.MethodInitialize, params, nil)
	if err != nil {
		if status, ok := errors.AsType[*upstream.StatusError](err); ok {
			if status.Code == 401 {
				return &RPCError{Code: -31011, Message: c.where + " wants another credential (HTTP 401)", Data: json.RawMessage(`{"code":"UNAUTHENTICATED"}`)}
			}
			return fmt.Errorf("%s is no MCP endpoint: %w: %w", c.where, err, ErrUnreachable)
		}
		return err
	}
	var answer struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &answer) != nil || !protocol.IsLegacy(answer.ProtocolVersion) {
		return fmt.Errorf("initialize: %s speaks protocol version %q, which is not known here", c.where, answer.ProtocolVersion)
	}
	c.linkMu.Lock()
	c.link.SetVersion(answer.ProtocolVersion)
	c.linkMu.Unlock()
	return c.notify(ctx, protocol.NotificationInitialized, nil)
}

// Listen opens the stream for what belongs to no request, so that Options.OnNotification hears of it. On a pipe it
// is open anyway.
func (c *Client) Listen() {
	c.linkMu.Lock()
	defer c.linkMu.Unlock()
	c.link.Listen()
}

// Close ends the session and waits for its end, at most about two seconds. Everything pending fails with ErrClosed.
func (c *Client) Close() {
	c.linkMu.Lock()
	c.link.Close(closeGrace)
	c.linkMu.Unlock()
	timer := time.NewTimer(closeGrace + time.Second)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
	}
}

// request sends a request and waits for its answer. When ctx ends first the server is told to cancel it.
func (c *Client) request(ctx context.Context, m protocol.Method, params []byte, onProgress func(Progress)) (json.RawMessage, error) {
	p := &pending{done: make(chan outcome, 1), steps: newSteps(ctx, onProgress)}
	defer p.steps.end(ctx)
	id, err := c.enter(p)
	if err != nil {
		return nil, err
	}
	if onProgress != nil { // the id serves as token; params is an object with a member
		params = append(fmt.Appendf(nil, `{"_meta":{"progressToken":%d},`, id), params[1:]...)
	}
	frame := protocol.AppendRequest(nil, id, m.String(), params)
	c.send(upstream.Outgoing{Ticket: id, Frame: frame, Newline: multiline(frame), Request: true, Method: m.String()})
	select {
	case o := <-p.done:
		return o.result, o.err
	case <-ctx.Done():
	}
	if !c.leave(id) {
		o := <-p.done // the answer won the race
		return o.result, o.err
	}
	if m != protocol.MethodInitialize {
		c.cancel(id)
	}
	return nil, context.Cause(ctx)
}

// cancel tells the server that the request is of no interest any more. MCP 2025-11-25, basic/utilities/cancellation.
func (c *Client) cancel(id uint64) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	// Nothing is to be done about a failure: the answer, should it come, is ignored either way.
	_ = c.notify(ctx, protocol.NotificationCancelled, fmt.Appendf(nil, `{"requestId":%d}`, id))
	c.linkMu.Lock()
	defer c.linkMu.Unlock()
	c.link.Cancel(id)
}

// notify sends a notification and waits until it was taken: written to a pipe, accepted over HTTP.
func (c *Client) notify(ctx context.Context, m protocol.Method, params []byte) error {
	p := &pending{done: make(chan outcome, 1), note: true}
	id, err := c.enter(p)
	if err != nil {
		return err
	}
	c.send(upstream.Outgoing{Ticket: id, Frame: protocol.AppendNotification(nil, m.String(), params), Method: m.String()})
	select {
	case o := <-p.done:
		return o.err
	case <-ctx.Done():
		c.leave(id)
		return context.Cause(ctx)
	}
}

func (c *Client) enter(p *pending) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return 0, c.over
	}
	c.lastID++
	c.pending[c.lastID] = p
	return c.lastID, nil
}

// leave removes what is pending; false when its outcome is there already or being delivered.
func (c *Client) leave(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[id]
	delete(c.pending, id)
	return ok
}

func (c *Client) send(o upstream.Outgoing) {
	c.linkMu.Lock()
	defer c.linkMu.Unlock()
	c.link.Send(o)
}

// multiline reports raw line breaks, which only arguments written by hand have.
func multiline(frame []byte) bool {
	for _, b := range frame {
		if b == '\n' || b == '\r' {
			return true
		}
	}
	return false
}
