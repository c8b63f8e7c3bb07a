package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// limits are not configurable; tests shorten them.
type limits struct {
	head    time.Duration // for the header of a response that depends on no server
	body    time.Duration // for each piece of a body, and of a request
	silence time.Duration // a stream has a comment every 15 seconds; after this time without one, its node is gone
}

var defaultLimits = limits{head: 15 * time.Second, body: 30 * time.Second, silence: time.Minute}

// earlyFor is how long to wait for the response to a request that could not be written completely.
const earlyFor = time.Second

// passing is a request that is passed on to another node. One goroutine at a time serves it.
type passing struct {
	relay       *Relay
	verb        string
	incarnation string
	origin      *downstream.Origin
	x           *downstream.Exchange    // nil = a stream
	stream      *downstream.EventStream // nil = an exchange
	through     *downstream.PassThrough
	again       cluster.Retry // of a request that was not executed

	target   Target       // of response
	response *response    // the event stream that is passed on; nil = none yet
	ids      bool         // events with ids were passed on
	heard    atomic.Int64 // when bytes of the stream arrived last, in Unix nanoseconds
	number   uint64       // of the stream in Relay.watched; 0 = it is not watched. Relay.mu guards it

	mu      sync.Mutex
	stop    func() // interrupts what the goroutine waits for; nil = it must not be interrupted
	left    bool   // the client has left
	parked  bool   // no goroutine runs, and the poller waits for the stream
	arrived bool   // the poller has found the stream readable since the goroutine has looked last
}

// outcome is what became of a request at another node.
type outcome uint8

const (
	ended       outcome = iota // the client has a response, or has left
	streaming                  // another goroutine passes on the event stream, and ends the request
	unreached                  // nothing of the request can have been executed
	misdirected                // the node serves another incarnation
	lost                       // it is unknown whether the request was executed
)

// run passes the request on and answers the client. If that fails and mayRetry permits it, the request's Retry decides again. Without a
// Retry, run resolves the target once more, and tries again if it has changed.
func (p *passing) run() {
	var end outcome
	var err error
	var last Target
	for attempt := range 2 {
		target, ok := p.relay.o.Resolve(p.incarnation)
		if !ok {
			if p.retry() {
				return
			}
			p.answerGone()
			break
		}
		if attempt == 0 || target != last {
			end, err = p.try(target)
			p.reportUnreached(end)
		}
		if last = target; end == streaming {
			return
		}
		if p.mayRetry(end) && p.retry() {
			return
		}
		if attempt == 1 || end == ended || end == lost {
			p.answerFailure(end, target, err)
			break
		}
	}
	p.relay.end(p)
}

// mayRetry reports whether the request can be passed on to another node: it was not executed, or executing it twice does no harm.
func (p *passing) mayRetry(end outcome) bool {
	return end == unreached || end == misdirected || end == lost && p.verb != http.MethodPost
}

// retry lets the caller of Post, Open or Delete decide again which node handles the request. It returns false if the caller has given
// no Retry, or the client has left.
func (p *passing) retry() bool {
	if p.again.Do == nil || p.hasLeft() {
		return false
	}
	p.pause(p.again.After)
	if p.relay.end(p); p.hasLeft() {
		p.through.Break()
		return true
	}
	p.through.Undo()
	p.again.Do()
	return true
}

// pause waits for d, until the client leaves, or until the node of the incarnation is known to be gone.
func (p *passing) pause(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if p.setStop(cancel) {
		<-ctx.Done()
	}
	p.setStop(nil)
}

// reportUnreached reports a node that has not answered.
func (p *passing) reportUnreached(end outcome) {
	if report := p.relay.o.Unreached; report != nil && (end == unreached || end == lost) && !p.hasLeft() {
		report(p.incarnation)
	}
}

// interrupt makes the goroutine stop waiting.
func (p *passing) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
	p.unpark()
}

// leave closes the relayed request, because its client has left.
func (p *passing) leave() {
	p.mu.Lock()
	p.left = true
	p.mu.Unlock()
	p.interrupt()
}

func (p *passing) hasLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// setStop sets the function that interrupts the goroutine, which must not block. setStop returns false if the client has left.
func (p *passing) setStop(stop func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = stop
	return !p.left
}

// connect returns a connection to the target.
func (p *passing) connect(target Target) (*conn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !p.setStop(cancel) {
		return nil, context.Canceled
	}
	c, err := p.relay.pool(target).get(ctx)
	if err != nil {
		p.setStop(nil)
		return nil, err
	}
	if !p.setStop(c.cut) {
		c.cut()
		return nil, context.Canceled
	}
	return c, nil
}

// try sends the request to a node and passes its response on.
func (p *passing) try(target Target) (outcome, error) {
	r, err := newRequest(p.verb, target.Node, p.origin, p.x)
	if err != nil {
		return unreached, err
	}
	for {
		c, err := p.connect(target)
		if err != nil {
			return unreached, err
		}
		if err = c.send(&r, p.relay.limits.body); err != nil && c.used { // the node has closed the idle connection meanwhile
			p.setStop(nil)
			c.cut()
			continue
		}
		return p.receive(target, c, err)
	}
}

// send writes a request. Each piece must be written within pace. After an error the node has not received all of it, and so cannot execute it.
func (c *conn) send(r *request, pace time.Duration) error {
	for _, part := range [][]byte{r.first, r.rest} {
		for len(part) > 0 {
			n := min(len(part), pieceBytes)
			if err := c.SetWriteDeadline(time.Now().Add(pace)); err != nil {
				return err
			}
			if _, err := c.Write(part[:n]); err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return nil
}

// receive reads the response to a request. sendErr says why the request was not written completely.
func (p *passing) receive(target Target, c *conn, sendErr error) (outcome, error) {
	r, err := p.readHead(c, sendErr)
	if err != nil {
		p.setStop(nil)
		c.cut()
		_, refused := errors.AsType[tls.AlertError](err)
		switch {
		case sendErr != nil:
			return unreached, sendErr
		case refused && !c.used: // TLS 1.3: the refusal of a certificate arrives after the handshake
			return unreached, err
		}
		return lost, err
	}
	r.keep = r.keep && sendErr == nil
	if r.isStream() && p.mayStream() {
		go p.copyStream(target, r) // in a new goroutine, because a handshake has made the stack of this one large
		return streaming, nil
	}
	pieces, err := p.readWhole(r)
	p.release(target, r, err)
	switch {
	case err != nil && p.answerTooLarge(err):
	case err != nil:
		return lost, err
	case r.status == http.StatusMisdirectedRequest:
		return misdirected, nil
	default:
		return p.answer(r, pieces)
	}
	return ended, nil
}

// readHead reads the header of a response.
func (p *passing) readHead(c *conn, sendErr error) (*response, error) {
	switch {
	case sendErr != nil: // the node may have refused the request before it was complete
		_ = c.SetReadDeadline(time.Now().Add(earlyFor))
	case p.x == nil || p.x.Batch == nil && p.x.Frame.Kind != protocol.KindRequest:
		_ = c.SetReadDeadline(time.Now().Add(p.relay.limits.head))
	default: // a request takes as long as its server
		_ = c.SetReadDeadline(time.Time{})
	}
	return readResponse(c)
}

// mayStream reports whether the client can get an event stream.
func (p *passing) mayStream() bool {
	return p.stream != nil || p.verb == http.MethodPost && !p.origin.JSONOnly
}

// readWhole reads a body that is not a stream. The budget counts its bytes only until readWhole returns, because the exchange
// counts its answer itself.
func (p *passing) readWhole(r *response) (pieces [][]byte, err error) {
	counted := 0
	defer func() { p.relay.o.Budget.Give(counted) }()
	return r.readWhole(int64(p.relay.o.MaxMessageBytes+stream.Slack), func(n int) bool {
		if !p.relay.o.Budget.Take(n) {
			return false
		}
		counted += n
		return r.conn.SetReadDeadline(time.Now().Add(p.relay.limits.body)) == nil
	})
}

// release ends the use of a response's connection. err says why its body was not read to its end.
func (p *passing) release(target Target, r *response, err error) {
	p.setStop(nil)
	keep := err == nil && r.keep && (r.reader == nil || r.reader.Buffered() == 0)
	if r.release(); keep {
		p.relay.pool(target).put(r.conn)
	} else {
		r.conn.cut()
	}
}
