package bus

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// closeTimeout limits each of the two waits of Close: until the queued messages are sent, and until the server knows that the
// node's subscriptions have ended. From then on, other nodes get ErrNoListener instead of no answer.
const closeTimeout = time.Second

// client is a connection to a NATS server: the node's own or an external one.
type client struct {
	conn   *nats.Conn
	prefix string // of all subjects; begins with the name of the cluster, since clusters may share an external server
	log    *slog.Logger

	repeated repeated // limits errors in the log
	dropped  atomic.Uint64
	lost     atomic.Pointer[time.Time] // since when the connection is lost; nil = it is not
	sending  *queue[outgoing]
	sent     chan struct{} // closed when the goroutine of send has ended
	done     chan struct{} // closed when closed becomes true
	records  *natsRecords  // nil = the cluster has no voters

	mu            sync.Mutex
	subscriptions []*nats.Subscription
	overrun       uint64 // messages that ended subscriptions have dropped
	closed        bool
}

// outgoing is a message that waits to be sent. The connection is written by one goroutine, because a write blocks while the
// server does not read.
type outgoing struct {
	subject string // with the prefix, or that of a question's answer
	payload []byte
}

func newClient(cluster string, log *slog.Logger) *client {
	c := &client{prefix: "goblin." + cluster + ".", log: log, sent: make(chan struct{}), done: make(chan struct{})}
	c.sending = newQueue(func(o outgoing) int { return len(o.payload) }, &c.dropped)
	return c
}

// options returns the options of the connection that the engines share.
func (c *client) options(node string) []nats.Option {
	return []nats.Option{
		nats.Name(node),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1),            // messages published while the connection is lost are dropped, because they would arrive much too late
		nats.FlusherTimeout(2 * time.Second), // limits a write
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.report(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.report(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.disconnected(err) }),
		nats.ReconnectHandler(func(*nats.Conn) { c.connected() }),
		nats.ConnectHandler(func(*nats.Conn) { c.connected() }),
	}
}

func (c *client) connected() {
	if since := c.lost.Swap(nil); since != nil {
		c.log.Info("connected to the NATS server", "server", c.conn.ConnectedAddr())
	}
}

func (c *client) disconnected(err error) {
	now := time.Now()
	if c.lost.CompareAndSwap(nil, &now) && err != nil {
		c.log.Warn("lost the connection to the NATS server", "error", err.Error())
	}
}

// report logs an error that no method returns. Dropped messages are counted instead.
func (c *client) report(err error) {
	if err == nil || errors.Is(err, nats.ErrSlowConsumer) {
		return
	}
	if skipped, ok := c.repeated.admit(err.Error(), time.Now()); ok {
		c.log.Warn("the connection to the NATS server has an error", "error", err.Error(), "skipped", skipped)
	}
}

// send sends what is queued until the queue is closed.
func (c *client) send() {
	defer close(c.sent)
	for {
		o, ok := c.sending.take()
		if !ok {
			return
		}
		if err := c.conn.Publish(o.subject, o.payload); err != nil {
			c.dropped.Add(1)
		}
	}
}

func (c *client) Publish(subject string, payload []byte) {
	if len(payload) > MaxPayload || CheckSubject(subject, false) != nil {
		c.dropped.Add(1)
		return
	}
	c.sending.put(outgoing{c.prefix + subject, payload})
}

func (c *client) Subscribe(subject string, handle func(Message)) (func(), error) {
	if err := CheckSubject(subject, true); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	sub, err := c.conn.Subscribe(c.prefix+subject, func(m *nats.Msg) { handle(c.received(m)) })
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(maxWaiting, maxWaitingBytes); err != nil {
		return nil, err
	}
	c.subscriptions = append(c.subscriptions, sub)
	return func() { c.cancel(sub) }, nil
}

// received returns a message as handlers see it.
func (c *client) received(m *nats.Msg) Message {
	out := Message{Subject: m.Subject[len(c.prefix):], Payload: m.Data}
	if m.Reply != "" {
		out.respond = func(answer []byte) {
			if len(answer) > MaxPayload {
				c.dropped.Add(1)
				return
			}
			c.sending.put(outgoing{m.Reply, answer})
		}
	}
	return out
}

func (c *client) cancel(sub *nats.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.subscriptions, sub)
	if i < 0 {
		return
	}
	c.subscriptions = slices.Delete(c.subscriptions, i, i+1)
	if n, err := sub.Dropped(); err == nil {
		c.overrun += uint64(n)
	}
	_ = sub.Unsubscribe() // fails only if the connection is closed
}

func (c *client) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	if err := checkQuestion(subject, question); err != nil {
		return nil, err
	}
	switch {
	case c.conn.IsClosed():
		return nil, ErrClosed
	case c.lost.Load() != nil:
		return nil, ErrOffline
	}
	ctx, cancel := context.WithTimeout(ctx, longestQuestion)
	defer cancel()
	answer, err := c.conn.RequestWithContext(ctx, c.prefix+subject, question)
	switch {
	case err == nil:
		return answer.Data, nil
	case errors.Is(err, nats.ErrNoResponders):
		return nil, ErrNoListener
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, err
}

func (c *client) Records() Records {
	if c.records == nil {
		return noRecords{}
	}
	return c.records
}

// status returns what the engines have in common.
func (c *client) status(engine string) Status {
	s := Status{Engine: engine, Dropped: c.drops()}
	if c.records != nil {
		if since := c.records.failing.Load(); since != nil {
			s.Records = *since
		}
	}
	return s
}

// drops returns the number of messages that were dropped.
func (c *client) drops() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.dropped.Load() + c.overrun
	for _, sub := range c.subscriptions {
		if of, err := sub.Dropped(); err == nil {
			n += uint64(of)
		}
	}
	return n
}

// close ends the subscriptions, sends what is queued and closes the connection. It returns false if it was closed already.
func (c *client) close() bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.closed = true
	close(c.done)
	for _, sub := range c.subscriptions {
		_ = sub.Unsubscribe()
	}
	c.subscriptions = nil
	c.mu.Unlock()
	c.sending.finish()
	select {
	case <-c.sent:
	case <-time.After(closeTimeout): // a write is blocked; closing the connection ends it
	}
	if c.conn.IsConnected() {
		_ = c.conn.FlushTimeout(closeTimeout)
	}
	c.conn.Close()
	<-c.sent
	return true
}
