package fabric

import (
	"context"
	"slices"
	"time"

	"goblin-actor/internal/bus"
)

// Node is the bus of one simulated node.
type Node struct {
	f    *Fabric
	name string
	done chan struct{} // closed when closed becomes true

	// The following fields are guarded by f.mu.
	closed        bool
	stalled       bool
	subscriptions []*subscription
	dropped       uint64
}

// subscription is a subscription of a node. Other nodes know of it a little later than its own.
type subscription struct {
	pattern string
	handle  func(bus.Message)
	known   bool // to the other nodes
	ended   bool
}

// Publish implements bus.Bus.
func (n *Node) Publish(subject string, payload []byte) {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	if n.closed {
		return
	}
	if bus.CheckSubject(subject, false) != nil || len(payload) > bus.MaxPayload {
		n.dropped++
		return
	}
	n.spread(subject, payload, nil)
}

// spread sends a message to all connected nodes with a subscription, and returns their number. respond is nil unless it is
// a question. The caller must hold mu.
func (n *Node) spread(subject string, payload []byte, respond func(answer []byte)) (listeners int) {
	for _, to := range n.f.nodes {
		if !n.f.isUp(n, to) || !to.listens(subject, n) {
			continue
		}
		listeners++
		dropped := n.f.send(n, to, func(to *Node) {
			var answer func([]byte)
			if respond != nil {
				answer = func(answer []byte) { to.answer(n, answer, respond) }
			}
			to.receive(subject, payload, answer)
		})
		if dropped {
			n.dropped++
		}
	}
	return listeners
}

// listens reports whether the node has a subscription that another node knows of. The caller must hold mu.
func (n *Node) listens(subject string, other *Node) bool {
	return slices.ContainsFunc(n.subscriptions, func(s *subscription) bool {
		return (s.known || n == other && !s.ended) && bus.Matches(s.pattern, subject)
	})
}

// receive calls the handlers of a message that has arrived. The caller must not hold mu.
func (n *Node) receive(subject string, payload []byte, respond func([]byte)) {
	n.f.mu.Lock()
	subscriptions := slices.Clone(n.subscriptions)
	n.f.mu.Unlock()
	for _, s := range subscriptions {
		n.f.mu.Lock()
		wanted := !n.closed && !s.ended && bus.Matches(s.pattern, subject)
		n.f.mu.Unlock()
		if wanted {
			s.handle(bus.NewMessage(subject, slices.Clone(payload), respond))
		}
	}
}

// answer sends the answer to a question back to the node that has asked.
func (n *Node) answer(to *Node, answer []byte, respond func([]byte)) {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	switch {
	case n.closed || to.closed:
	case len(answer) > bus.MaxPayload:
		n.dropped++
	default:
		if n.f.send(n, to, func(*Node) { respond(answer) }) {
			n.dropped++
		}
	}
}

// Subscribe implements bus.Bus. handle is called by the fabric's scheduler and must not block.
func (n *Node) Subscribe(subject string, handle func(bus.Message)) (func(), error) {
	if err := bus.CheckSubject(subject, true); err != nil {
		return nil, err
	}
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	if n.closed {
		return nil, bus.ErrClosed
	}
	s := &subscription{pattern: subject, handle: handle}
	n.subscriptions = append(n.subscriptions, s)
	n.f.after(n.f.upTo(interestDelay), func() {
		n.f.mu.Lock()
		defer n.f.mu.Unlock()
		s.known = true
	})
	return func() { n.cancel(s) }, nil
}

func (n *Node) cancel(s *subscription) {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	if s.ended || n.closed {
		return
	}
	s.ended = true
	n.f.after(n.f.upTo(interestDelay), func() {
		n.f.mu.Lock()
		defer n.f.mu.Unlock()
		n.subscriptions = slices.DeleteFunc(n.subscriptions, func(other *subscription) bool { return other == s })
	})
}

// Ask implements bus.Bus.
func (n *Node) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	if len(question) > bus.MaxQuestion {
		return nil, bus.ErrTooLarge
	}
	if err := bus.CheckSubject(subject, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answers := make(chan []byte, 1)
	n.f.mu.Lock()
	listeners := 0
	if !n.closed {
		listeners = n.spread(subject, question, func(answer []byte) {
			select {
			case answers <- answer:
			default: // it is not the first one
			}
		})
	}
	closed := n.closed
	n.f.mu.Unlock()
	switch {
	case closed:
		return nil, bus.ErrClosed
	case listeners == 0:
		return nil, bus.ErrNoListener
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.done:
		return nil, bus.ErrClosed
	}
}

// Status implements bus.Bus.
func (n *Node) Status() bus.Status {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	s := bus.Status{Engine: "simulated", Dropped: n.dropped}
	for _, other := range n.f.nodes {
		if other != n && !n.closed && n.f.isUp(n, other) {
			s.Nodes = append(s.Nodes, other.name)
		}
	}
	slices.Sort(s.Nodes)
	return s
}

// Close implements bus.Bus.
func (n *Node) Close() {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	if !n.closed {
		n.f.remove(n)
	}
}
