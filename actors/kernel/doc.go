// Package kernel runs actors on the protoactor library. No other package imports protoactor.
//
// An actor is a [Logic]. Its Step changes the state and returns effects. The kernel performs the effects every actor needs, and
// passes the rest to Act. It calls both methods on one goroutine at a time, and provides messages, clock, restarts and stopping.
//
//	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: "session/1", Kind: "session"},
//		func(self kernel.Self) kernel.Logic { return newSession(self.Logger()) })
//	call := &Call{Reply: make(chan Answer, 1)} // Abandon sends to Reply too
//	ref.Tell(call)
//	select {
//	case answer := <-call.Reply:
//	case <-ctx.Done():
//	}
//
// # Ownership
//
//	cell         an actor over all its incarnations: name, counters, children; a Reference points to it
//	├─ mailbox   the queue; any goroutine may write to it under its mutex, the goroutine running the actor reads it
//	└─ shell     one incarnation: the Logic, its effects, the context of Self.Go
//	dispatcher   up to 128 goroutines that run mailboxes with messages; up to 64 idle ones are kept
//	chain        the mailboxes one goroutine runs: the first, and idle ones that received a message from an actor of the chain
//
// # Invariants
//
//   - Whatever fails, each message in a mailbox is either handled or discarded. Its Abandon, if it has one, is called
//     exactly once if it is discarded or its handler panics, and never otherwise. If TellWait returns an error, the
//     message was not sent.
//   - Each incarnation with a Logic receives Started first and Stopping last, and after a panic only Stopping. Timers and results of Self.Go
//     reach only the incarnation that requested them.
//   - Messages of one sender arrive in the order they were sent, in a fair mailbox within each lane. Exceptions: Urgent
//     messages overtake, and a State or Step message may replace a queued one with the same key.
//   - A parent stops after its children, restarts without them, and receives at most one ChildStopped for each child.
//   - Step, Act, Abandon and Key are called without holding a lock, so all of them may call Tell. Size, Sum and the Key of
//     Sum's result are called under a lock; they must only read their message.
//   - Once System.Stop has returned nil, no goroutine is left. A System may live in a synctest bubble.
//
// # Known limits
//
// The kernel does not limit the number of Outcome and Urgent messages. The work in flight must limit it. Messages that
// a peer can send unprompted have to be of class Step or LogLine, be Summarized State messages, or be sent with
// TellWait. A Step that loops forever cannot be interrupted, and System.Stop then waits until its context ends.
// Restarts are not delayed: an actor whose Started handler panics uses up its restarts within milliseconds, so work
// that may fail belongs in a later message.
package kernel
