package fabric

import "time"

// link is one direction of the connection between two nodes, or that of a node to itself.
type link struct {
	from, to string           // names of nodes
	up       bool             // the connection exists; equal in both directions
	cut      bool             // see Cut
	queue    []func(to *Node) // messages on their way
	waiting  int              // of these, how many have arrived but are held up: the link is cut, or the receiver stalls
	epoch    int              // rises when the connection breaks
	troubles int              // how often the link was cut or the receiver stalled
}

// link returns one direction of a connection. The caller must hold mu.
func (f *Fabric) link(from, to string) *link {
	key := [2]string{from, to}
	l := f.links[key]
	if l == nil {
		l = &link{from: from, to: to, up: from == to}
		f.links[key] = l
	}
	return l
}

// isUp reports whether two nodes are connected. The caller must hold mu.
func (f *Fabric) isUp(a, b *Node) bool { return f.link(a.name, b.name).up }

// lose loses the messages on their way and breaks the connection, unless it is that of a node to itself.
func (l *link) lose() { l.queue, l.waiting, l.up, l.epoch = nil, 0, l.from == l.to, l.epoch+1 }

// send sends a message over a link. arrive is called at the receiver. send reports whether the message was dropped, because
// too many are on their way. The caller must hold mu.
func (f *Fabric) send(from, to *Node, arrive func(to *Node)) (dropped bool) {
	l := f.link(from.name, to.name)
	switch {
	case !l.up, from != to && f.happens(f.faults.Lost):
		return false
	case len(l.queue) >= maxQueued:
		return true
	}
	l.queue = append(l.queue, arrive)
	if n := len(l.queue); n > 1 && f.happens(f.faults.Reordered) {
		l.queue[n-1], l.queue[n-2] = l.queue[n-2], l.queue[n-1]
	}
	f.passFirst(l)
	return false
}

// passFirst lets the first message of the link arrive after a while. It is called once for each message. Messages
// arrive in order, in whatever order the scheduler makes its calls. The caller must hold mu.
func (f *Fabric) passFirst(l *link) {
	epoch := l.epoch
	f.after(f.delay(), func() {
		f.mu.Lock()
		to := f.node(l.to)
		if l.epoch != epoch || len(l.queue) == 0 || to == nil {
			f.mu.Unlock()
			return
		}
		if l.cut || to.stalled {
			l.waiting++
			f.mu.Unlock()
			return
		}
		arrive := l.queue[0]
		l.queue = l.queue[1:]
		f.mu.Unlock()
		arrive(to)
	})
}

// release lets messages arrive that were held up, unless there is another reason to hold them up. The caller must hold mu.
func (f *Fabric) release(l *link) {
	n := l.waiting
	l.waiting = 0
	for range n {
		f.passFirst(l)
	}
}

// troubled reports whether messages between the nodes are held up in one direction. The caller must hold mu.
func (f *Fabric) troubled(a, b *Node) bool {
	return a.stalled || b.stalled || f.link(a.name, b.name).cut || f.link(b.name, a.name).cut
}

// breakLater breaks the connection over a link that is held up from now on, unless it recovers in time. The caller must
// hold mu.
func (f *Fabric) breakLater(l *link) {
	l.troubles++
	troubles, a, b := l.troubles, f.node(l.from), f.node(l.to)
	if a == nil || b == nil {
		return
	}
	f.after(silenceMin+f.upTo(silenceMore), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.troubles == troubles && !a.closed && !b.closed && f.troubled(a, b) {
			f.link(a.name, b.name).lose()
			f.link(b.name, a.name).lose()
		}
	})
}

// repair connects two nodes within the time, unless something holds up messages between them. The caller must hold mu.
func (f *Fabric) repair(a, b *Node, within time.Duration) {
	f.after(f.upTo(within), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !a.closed && !b.closed && !f.troubled(a, b) {
			f.link(a.name, b.name).up = true
			f.link(b.name, a.name).up = true
		}
	})
}
