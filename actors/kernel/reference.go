package kernel

import "context"

// Reference identifies an actor, running or stopped. It is a small comparable value and safe for concurrent use. The
// zero Reference identifies no actor. A restart keeps the Reference.
type Reference struct{ cell *cell }

// Tell sends msg to the actor's mailbox according to its Class. It never blocks. A message that will not be handled is
// abandoned, now or later. The sender must not use slices and maps in msg afterwards.
func (r Reference) Tell(msg any) {
	if r.cell == nil {
		abandon(msg, NotRunning)
		return
	}
	r.cell.box.tell(msg)
}

// tellFrom implements Tell for a sender that is the running actor whose mailbox is from.
func (r Reference) tellFrom(from *mailbox, msg any) {
	if r.cell == nil {
		abandon(msg, NotRunning)
		return
	}
	r.cell.box.tellFrom(from, msg)
}

// TellInline is Tell for a goroutine that will wait for the answer anyway. If the actor is idle, it handles msg on the
// calling goroutine before TellInline returns, and so do the idle actors it sends messages to, up to maxInline messages.
// They may then use the goroutine for a job (Self.RunInline). The caller must not hold a lock that an actor may need.
// Actors must not call it.
func (r Reference) TellInline(msg any) {
	if r.cell == nil {
		abandon(msg, NotRunning)
		return
	}
	r.cell.box.tellInline(msg)
}

// TellWait is TellInline for goroutines that can block, such as readers of sockets, but its goroutine does no jobs.
// Messages of the classes Work and Outcome wait, in order, until the mailbox has room; those without a Size do not
// wait for the limit of bytes, and may overtake messages that do. Other classes do not wait. TellWait returns ctx's
// cause if ctx ends, and ErrGone if the actor stops first. If it returns an error, the message was not accepted and
// is not abandoned: it still belongs to the caller. Actors must not call it.
func (r Reference) TellWait(ctx context.Context, msg any) error {
	if r.cell == nil {
		return ErrGone
	}
	return r.cell.box.tellWait(ctx, msg)
}

// Name returns the actor's full name, or "" for the zero Reference. A child's full name is its parent's name, a slash
// and its own name.
func (r Reference) Name() string {
	if r.cell == nil {
		return ""
	}
	return r.cell.name
}

// String returns the name.
func (r Reference) String() string { return r.Name() }

// IsZero reports whether r is the zero Reference.
func (r Reference) IsZero() bool { return r.cell == nil }

// age orders actors by their spawning. Actors that were never spawned have age 0.
func (r Reference) age() uint64 {
	if r.cell == nil {
		return 0
	}
	return r.cell.order
}
