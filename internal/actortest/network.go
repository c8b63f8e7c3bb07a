package actortest

import (
	"bytes"
	"context"
	"sync"
)

// Network connects the buses of nodes in one process. Messages arrive at once, before Publish returns.
type Network struct {
	noNode error // what Ask returns if no node listens

	mu     sync.Mutex
	last   int
	subs   map[int]networkSub // by number, in the order of subscription
	parted map[string]bool    // nodes that reach no other one
}

type networkSub struct {
	node, subject string
	handle        func(payload []byte, answer func([]byte))
}

// NewNetwork returns a network without nodes. noNode is the error of Ask if no node listens.
func NewNetwork(noNode error) *Network {
	return &Network{noNode: noNode, subs: map[int]networkSub{}, parted: map[string]bool{}}
}

// Part cuts a node off from all others, or connects it again.
func (n *Network) Part(node string, parted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parted[node] = parted
}

// Subscriptions returns the number of subscriptions.
func (n *Network) Subscriptions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.subs)
}

// Bus returns the bus of a node. It implements actors.Bus.
func (n *Network) Bus(node string) *NetworkBus { return &NetworkBus{n, node} }

// NetworkBus is the bus of one node.
type NetworkBus struct {
	network *Network
	node    string
}

// to returns the subscriptions to a subject that the node reaches.
func (b *NetworkBus) to(subject string) (list []networkSub) {
	n := b.network
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.last + 1 {
		s, ok := n.subs[i]
		if ok && s.subject == subject && (s.node == b.node || !n.parted[s.node] && !n.parted[b.node]) {
			list = append(list, s)
		}
	}
	return list
}

// Publish delivers a message.
func (b *NetworkBus) Publish(subject string, payload []byte) {
	for _, s := range b.to(subject) {
		s.handle(bytes.Clone(payload), func([]byte) {})
	}
}

// Subscribe calls handle for each message to the subject until cancel is called.
func (b *NetworkBus) Subscribe(subject string, handle func(payload []byte, answer func([]byte))) (cancel func(), err error) {
	n := b.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	number := n.last
	n.subs[number] = networkSub{b.node, subject, handle}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs, number)
	}, nil
}

// Ask delivers a question and returns the first answer.
func (b *NetworkBus) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	to := b.to(subject)
	if len(to) == 0 {
		return nil, b.network.noNode
	}
	answers := make(chan []byte, len(to))
	for _, s := range to {
		var once sync.Once
		s.handle(bytes.Clone(question), func(answer []byte) { once.Do(func() { answers <- answer }) })
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
