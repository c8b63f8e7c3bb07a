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
	maxMessageBytes = 256 << 20        // maximum size of a message from the gateway
	connectTime     = 15 * time.Second // time limit for the handshake
	closeGrace      = 2 * time.Second  // time limit for closing the connection
	cancelTime      = time.Second      // time limit for sending a cancellation
)

// Options configures a client. The zero value is usable.
type Options struct {
	Name, Version string // name and version of the program; without Name, they are goblin-actor and devel
	Project       string // project to use; "" for all servers
	Key           string // API key; "" for none. Errors never contain it
	// OnNotification receives notifications such as list_changed, updated and log messages: all except progress and
	// cancellations. The link's goroutines call it in the order of arrival. It stalls the connection while it runs.
	OnNotification func(method string, params json.RawMessage)
	// Capabilities is the JSON object to declare in initialize; nil for none.
	Capabilities json.RawMessage
	// Answer answers requests of the server other than pings. Capabilities must declare what it can answer. If Answer
	// is nil, these requests are refused.
	Answer Answerer
	// OnLost is called by the link's goroutines if the notification stream is refused or breaks (the link usually
	// reopens it), the gateway no longer knows the session, or the connection ends. It may be nil.
	OnLost func(err error)
}

// Client is one MCP session. Its methods may be called concurrently. A method that sends a request blocks until the
// response arrives, its context ends, or the connection ends.
type Client struct {
	options Options
	http    bool   // a notification is complete with its HTTP response; on a pipe, when it is written
	where   string // name of the gateway in errors: its URL without secrets, or "the gateway"

	link   upstream.Link
	linkMu sync.Mutex // serializes calls of link

	mu        sync.Mutex
	pending   map[uint64]*pending                // requests by id, which is also the link's ticket
	questions map[string]context.CancelCauseFunc // open requests of the server, by raw id
	lastID    uint64
	over      error         // why the link ended; nil while it is open
	closed    chan struct{} // closed when the link has ended
}

// pending is a sent request or notification. done receives at most one outcome.
type pending struct {
	done  chan outcome // capacity 1
	note  bool         // a notification or response, which is done when it is accepted
	steps *steps       // progress; nil if the caller passed no callback
}

type outcome struct {
	result json.RawMessage
	err    error
}

// Progress is the progress of a call. Total is 0 if unknown.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// Dial connects to the gateway at addr (see ParseAddress) and initializes a session. The error wraps ErrUnreachable if
// there is no gateway, addr is not an MCP endpoint, or the response to initialize is another HTTP error without a
// JSON-RPC message. After HTTP 401 it is an *RPCError.
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

// keyHeader returns the headers that send key, or nil if it is "".
func keyHeader(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

// OverPipe initializes a session with a server that reads lines from w and writes lines to r. The client owns r and w,
// and closes them when the connection ends.
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
	c.linkMu.Lock() // the link may send events before dial returns
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
				return &RPCError{Code: -31011, Message: c.where + " requires a valid credential (HTTP 401)", Data: json.RawMessage(`{"code":"UNAUTHENTICATED"}`)}
			}
			return &refusedError{c.where, status}
		}
		return err
	}
	var answer struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &answer) != nil || !protocol.IsLegacy(answer.ProtocolVersion) {
		return fmt.Errorf("initialize: %s uses protocol version %q, which is not supported", c.where, answer.ProtocolVersion)
	}
	c.linkMu.Lock()
	c.link.SetVersion(answer.ProtocolVersion)
	c.linkMu.Unlock()
	return c.notify(ctx, protocol.NotificationInitialized, nil)
}

// Listen opens the stream for notifications outside requests, which go to Options.OnNotification. On a pipe it is
// always open.
func (c *Client) Listen() {
	c.linkMu.Lock()
	defer c.linkMu.Unlock()
	c.link.Listen()
}

// Close ends the session and waits for its end, for at most about three seconds. Pending requests fail with ErrClosed.
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

// request sends a request and waits for the response. If ctx ends first, it cancels the request at the server.
func (c *Client) request(ctx context.Context, m protocol.Method, params []byte, onProgress func(Progress)) (json.RawMessage, error) {
	p := &pending{done: make(chan outcome, 1), steps: newSteps(ctx, onProgress)}
	defer p.steps.end(ctx)
	id, err := c.enter(p)
	if err != nil {
		return nil, err
	}
	if onProgress != nil { // the id is the token; params is an object that is not empty
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
		o := <-p.done // the response arrived first
		return o.result, o.err
	}
	if m != protocol.MethodInitialize {
		c.cancel(id)
	}
	return nil, context.Cause(ctx)
}

// cancel cancels a request at the server. MCP 2025-11-25, basic/utilities/cancellation.
func (c *Client) cancel(id uint64) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	// An error does not matter: a response is ignored either way.
	_ = c.notify(ctx, protocol.NotificationCancelled, fmt.Appendf(nil, `{"requestId":%d}`, id))
	c.linkMu.Lock()
	defer c.linkMu.Unlock()
	c.link.Cancel(id)
}

// notify sends a notification and waits until it is written to the pipe or accepted over HTTP, or until ctx ends.
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

// leave removes a pending entry. It returns false if its outcome has been, or is being, delivered.
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

// multiline reports whether frame contains raw line breaks, which only occur in arguments written by hand.
func multiline(frame []byte) bool {
	for _, b := range frame {
		if b == '\n' || b == '\r' {
			return true
		}
	}
	return false
}
