// Package kernel is what actors stand on: protoactor behind names of our own. No other package imports protoactor.
//
// An actor is a Logic: Step changes its state and says what is to be done; what every actor does the kernel does, the rest Act. The kernel calls both on one
// goroutine at a time and brings the messages, the clock, restarts and the end.
//
//	ref := kernel.Spawn(system, kernel.SpawnOptions{Name: "session/1", Kind: "session"},
//		func(self kernel.Self) kernel.Logic { return newSession(self.Logger()) })
//	call := &Call{Reply: make(chan Answer, 1)} // Abandon answers into Reply as well
//	ref.Tell(call)
//	select {
//	case answer := <-call.Reply:
//	case <-ctx.Done():
//	}
//
// # Who owns what
//
//	cell         the actor over all its incarnations: name, counters, children; what a Reference points to
//	├─ mailbox   the queue; written by everybody under its mutex, read by the one goroutine that runs the actor
//	└─ shell     one incarnation: the Logic, the buffer of effects, the context of Self.Go
//	dispatcher   up to 64 warm goroutines that run whichever mailbox has work
//	chain        what one goroutine runs: a mailbox, and then those that were idle until an actor of the chain told them something
//
// # Invariants
//
//   - A message told is handled once or abandoned once (if it has Abandon), whatever dies; TellWait's error is the
//     third way: the message never left the sender. A message whose handling panicked is abandoned too.
//   - Each incarnation sees Started first and Stopping last, and after a panic nothing but Stopping. Timers and results
//     of Self.Go reach the incarnation that asked for them or none.
//   - Messages of one sender arrive in the order they were told, except that Urgent ones overtake, and that a State or
//     Step message takes the place of the queued one with its key.
//   - A parent stops after its children, restarts without them, and hears of each child's end at most once.
//   - Nothing foreign (Step, Act, Abandon, Key) is called with a lock held, so all of them may Tell. Size, Sum and the Key of
//     what Sum returns are: they only look at their message.
//   - After System.Stop no goroutine is left. Nothing is kept between systems, so one may live in a synctest bubble.
//
// # Known weaknesses
//
// Outcome and Urgent are not bounded here: who sends them must be bounded by work in flight. What a peer may say unasked
// is a message of class Step, a State that can be Summed, a LogLine, or waits in TellWait. A Logic.Step that loops for
// ever cannot be interrupted; it costs System.Stop its context. Supervision does not back off: an actor whose Started
// panics uses its restarts up in milliseconds, so what may fail belongs into a later message.
package kernel
