package kernel

import (
	"cmp"
	"slices"
)

// Info is what can be seen of an actor from outside.
type Info struct {
	Name, Kind string
	Depth      int    // messages queued now
	Waiting    int    // goroutines in TellWait now
	Handled    uint64 // messages handed to the logic; the kernel's own (Started, …) and Glances not counted
	Refused    uint64 // Work abandoned because the mailbox was full
	Dropped    uint64 // LogLines dropped
	Panics     uint64
	Restarts   int
	Last       string // type of the last message handed to the logic, like "message.Dispatch"; "" before the first
}

// Actors returns what is known of every actor that is not gone, by name. Each is read at a slightly different moment.
// It is meant to be polled some times a second.
func (s *System) Actors() []Info {
	var list []Info
	s.cells.Range(func(_, c any) bool {
		list = append(list, c.(*cell).info())
		return true
	})
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (c *cell) info() Info {
	m := &c.box
	m.mu.Lock()
	defer m.mu.Unlock()
	i := Info{
		Name: c.name, Kind: c.kind, Depth: m.urgent.len() + m.depth, Waiting: m.waiters.len,
		Handled: m.counts.handled, Refused: m.counts.refused, Dropped: m.counts.dropped, Panics: m.counts.panics, Restarts: c.restarted,
	}
	if m.counts.last != nil {
		i.Last = m.counts.last.String()
	}
	return i
}

// DeadLetters returns how many messages protoactor could not deliver. Ours are abandoned by the mailbox before it
// sees them, so these are orders of its supervision that came too late.
func (s *System) DeadLetters() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Mailbox is how full a mailbox is.
type Mailbox struct {
	Name         string
	Depth, Limit int
}

// Mailboxes returns how full all mailboxes are, in no order.
func (s *System) Mailboxes() []Mailbox {
	var list []Mailbox
	s.cells.Range(func(_, each any) bool {
		c := each.(*cell)
		c.box.mu.Lock()
		defer c.box.mu.Unlock()
		list = append(list, Mailbox{c.name, c.box.urgent.len() + c.box.depth, c.box.limit + keyLimit + logLimit})
		return true
	})
	return list
}
