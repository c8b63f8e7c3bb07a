package kernel

import "context"

// Reference names an actor, alive or dead. It is a small comparable value, safe for every goroutine;
// the zero Reference is an actor that never was. A restart keeps the Reference.
type Reference struct{ cell *cell }

// Tell puts msg into the actor's mailbox according to its Class. It never blocks. A message that will not
// be handled is abandoned, here or later. The sender gives up every slice and map inside msg.
func (r Reference) Tell(msg any) {
	if r.cell == nil {
		abandon(msg, Gone)
		return
	}
	r.cell.box.tell(msg)
}

// tellFrom is Tell by the actor whose mailbox from is, while it is run.
func (r Reference) tellFrom(from *mailbox, msg any) {
	if r.cell == nil {
		abandon(msg, Gone)
		return
	}
	r.cell.box.tellFrom(from, msg)
}

// TellHere is Tell for goroutines that have nothing better to do, such as one that waits for the answer next: if the actor is
// idle it handles msg on this goroutine before TellHere returns, and those it tells do likewise, within a share; what comes of
// msg may make use of the goroutine after that (Self.Lend). The caller holds no lock that an actor may want; actors must not call it.
func (r Reference) TellInline(msg any) {
	if r.cell == nil {
		abandon(msg, Gone)
		return
	}
	r.cell.box.tellHere(msg)
}

// TellWait is TellHere for goroutines that can wait, such as readers of sockets; actors must not call it.
// Work and Outcome wait, first come first served, until the mailbox has room; other classes do not wait.
// It returns ctx's cause when ctx ends, ErrGone when the actor stops first. With an error the message has not been
// taken and is still the caller's: Abandon is not called.
func (r Reference) TellWait(ctx context.Context, msg any) error {
	if r.cell == nil {
		return ErrGone
	}
	return r.cell.box.tellWait(ctx, msg)
}

// Name returns the full name of the actor, "" for the zero Reference. A child's name is its parent's, a slash, its own.
func (r Reference) Name() string {
	if r.cell == nil {
		return ""
	}
	return r.cell.name
}

// String returns the name, for logs.
func (r Reference) String() string { return r.Name() }

// IsZero reports whether r is the zero Reference.
func (r Reference) IsZero() bool { return r.cell == nil }

// age orders actors by when they were spawned; those that never were come first.
func (r Reference) age() uint64 {
	if r.cell == nil {
		return 0
	}
	return r.cell.order
}
