package kernel

import (
	"cmp"
	"slices"
	"time"
)

// Info describes an actor.
type Info struct {
	Name, Kind string
	Depth      int    // messages queued now
	Waiting    int    // goroutines blocked in TellWait now
	Handled    uint64 // messages passed to the Logic, except the kernel's own (Started, …), those of Self.Next, and Observations
	Refused    uint64 // Work messages abandoned because the mailbox or their lane was full
	Dropped    uint64 // LogLine and Step messages abandoned because too many messages or bytes were queued
	Panics     uint64
	Restarts   int
	Recorded   time.Time // when the recording of its messages is due to end; zero = they are not recorded
	Last       string    // type of the last message counted in Handled, such as "message.Dispatch"; "" = none yet
}

// Actors returns the Info of every actor that has not stopped, sorted by name. Each Info is taken at a slightly
// different moment. Actors is meant to be called a few times a second at most.
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
	var recorded time.Time
	if r := c.recorder.Load(); r != nil {
		recorded = r.Until()
	}
	m := &c.box
	m.mu.Lock()
	defer m.mu.Unlock()
	i := Info{
		Name: c.name, Kind: c.kind, Recorded: recorded, Depth: m.urgent.len() + m.depth, Waiting: m.waiters.len,
		Handled: m.counts.handled, Refused: m.counts.refused, Dropped: m.counts.dropped, Panics: m.counts.panics, Restarts: c.restarted,
	}
	if m.counts.last != nil {
		i.Last = m.counts.last.String()
	}
	return i
}

// DeadLetters returns the number of messages protoactor could not deliver. The mailbox abandons our own messages before
// protoactor sees them, so these are late supervision commands.
func (s *System) DeadLetters() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadLetters
}

// Mailbox describes how full a mailbox is.
type Mailbox struct {
	Name  string
	Depth int // messages queued now, except protoactor's own
	Limit int // a rough limit of Depth, which Outcome and Urgent messages and several lanes can exceed
}

// Mailboxes returns how full the mailboxes of all actors that have not stopped are, in no particular order.
func (s *System) Mailboxes() []Mailbox {
	var list []Mailbox
	s.cells.Range(func(_, each any) bool {
		c := each.(*cell)
		c.box.mu.Lock()
		defer c.box.mu.Unlock()
		if c.box.phase != gone { // a stopped child keeps its name until its parent knows of its end
			list = append(list, Mailbox{c.name, c.box.urgent.len() + c.box.depth, c.box.limit + keyLimit + logLimit})
		}
		return true
	})
	return list
}
