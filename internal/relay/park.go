package relay

import (
	"errors"
	"net"
	"time"

	"goblin-actor/internal/poll"
)

// An idle stream has no goroutine: it is parked, and the poller wakes it when something arrives from the other node. On
// systems without a poller, streams are never parked.

// errIdle says that nothing more of a stream has arrived, and that the poller waits for it.
var errIdle = errors.New("the stream is idle")

func isTimeout(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// park marks a stream as parked, so that its goroutine can end. It returns false if something has arrived meanwhile.
func (p *passing) park() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.arrived {
		p.arrived = false
		return false
	}
	p.parked = true
	return true
}

// unpark continues with the stream in a new goroutine if it is parked. The caller must hold mu.
func (p *passing) unpark() {
	if p.parked {
		p.parked = false
		go p.resume()
	}
}

// wake says that something has arrived for a stream, or that its connection has ended.
func (p *passing) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived = !p.parked
	p.unpark()
}

// watch makes the poller wake a stream. It returns false if that is not possible.
func (r *Relay) watch(p *passing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.number != 0 {
		return true
	}
	socket, ok := p.response.conn.raw()
	if !ok {
		return false
	}
	if r.poller == nil {
		if r.poller = poll.New(r.wake); r.poller == nil {
			return false
		}
		r.silence = time.AfterFunc(r.limits.silence/4, r.endSilent)
	}
	if !r.poller.Watch(socket, r.numbered+1) {
		return false
	}
	r.numbered++
	p.number = r.numbered
	r.watched[p.number] = p
	return true
}

// unwatch forgets a stream that has ended. The caller must hold mu.
func (r *Relay) unwatch(p *passing) {
	if p.number == 0 {
		return
	}
	if delete(r.watched, p.number); len(r.watched) == 0 {
		r.poller.Close()
		r.poller = nil
		r.silence.Stop()
	}
}

// wake is called by the poller.
func (r *Relay) wake(number uint64) {
	r.mu.Lock()
	p := r.watched[number]
	r.mu.Unlock()
	if p != nil {
		p.wake()
	}
}

// endSilent ends streams on which nothing has arrived for limits.silence: a node that lives would have sent a comment. It runs in
// the timer's goroutine.
func (r *Relay) endSilent() {
	r.mu.Lock()
	var silent []*passing
	limit := time.Now().Add(-r.limits.silence).UnixNano()
	for _, p := range r.watched {
		if p.heard.Load() < limit {
			silent = append(silent, p)
		}
	}
	if len(r.watched) > 0 {
		r.silence.Reset(r.limits.silence / 4)
	}
	r.mu.Unlock()
	for _, p := range silent {
		p.interrupt()
	}
}
