package clientcalls

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Held is a call and what every holder needs to answer it. A holder embeds it in its own type of call.
type Held struct {
	call.Call
	View     *catalog.View   // the view the item was found in; public names in the result are made from it
	Upstream *catalog.Server // the server whose pool has the call
	record   *audit.Record   // for the audit log; nil = the log wants none
}

// Base returns h itself. It lets Calls reach the Held inside a holder's own type.
func (h *Held) Base() *Held { return h }

// Entry is a holder's own type of call: a pointer to a struct that embeds Held.
type Entry interface {
	comparable
	Base() *Held
}

// Holder is the actor that holds the calls. It writes to its client; Calls does the rest.
type Holder[H Entry, R any] interface {
	// CallName returns the name under which people see a call.
	CallName(seq uint64) string
	// Answered takes the server's answer. Usually it applies call.Answered.
	Answered(now time.Time, h H, m message.Done, out []kernel.Effect) []kernel.Effect
	// Intercept executes an effect of a call that is not the client's own, and reports whether it was one.
	Intercept(h H, e *call.Effect, out []kernel.Effect) ([]kernel.Effect, bool)
	// Deliver writes the server's answer to the client.
	Deliver(now time.Time, h H, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect
	// Fail writes a gateway error to the client.
	Fail(now time.Time, h H, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect
	// Withdrawn ends the exchange of a call that its client has cancelled or left.
	Withdrawn(h H, out []kernel.Effect) []kernel.Effect
	// Ending runs when a call has ended, before the effects of its end.
	Ending(h H, out []kernel.Effect) []kernel.Effect
	// Ended runs when a call has been removed.
	Ended(h H, out []kernel.Effect) []kernel.Effect
	// Progress passes the server's progress on to the client.
	Progress(now time.Time, h H, m message.Progress, out []kernel.Effect) []kernel.Effect
	// LogLine passes the server's log line on to the client.
	LogLine(now time.Time, h H, m message.Log, out []kernel.Effect) []kernel.Effect
	// Question passes the server's request on to the client.
	ServerRequest(now time.Time, h H, m message.ServerRequest, out []kernel.Effect) []kernel.Effect
	// QuestionCanceled drops a request that the server has cancelled.
	QuestionCanceled(now time.Time, h H, m message.ServerRequestCanceled, out []kernel.Effect) []kernel.Effect
	// Repeat handles a request again whose lookup has ended.
	Repeat(now time.Time, request R, out []kernel.Effect) []kernel.Effect
	// AuditWritten runs when replies that waited for the audit log have been sent.
	AuditWritten(out []kernel.Effect) []kernel.Effect
}

// Calls holds the calls of a holder's clients: by number, and by the key K under which a client names its request.
// R is a request that waits for a lookup. Create it with New.
type Calls[H Entry, K comparable, R any] struct {
	holder    Holder[H, R]
	self      kernel.Reference
	held      map[uint64]H
	byRequest map[K]uint64
	last      uint64 // number given last
	clock     clock
	lookups   lookups[R]
	scratch   []call.Effect
	auditing  audit.Flags
	unsent    int // replies that wait for the audit log
}

// New returns the calls of holder, which is the actor self.
func New[H Entry, K comparable, R any](holder Holder[H, R], self kernel.Reference) Calls[H, K, R] {
	return Calls[H, K, R]{holder: holder, self: self}
}

// Len returns the number of calls.
func (c *Calls[H, K, R]) Len() int { return len(c.held) }

// Busy reports whether there are calls, or replies that wait for the audit log.
func (c *Calls[H, K, R]) Busy() bool { return len(c.held)+c.unsent > 0 }

// Unsent returns the number of replies that wait for the audit log.
func (c *Calls[H, K, R]) Unsent() int { return c.unsent }

// Held returns the call with that number, or nil if it has ended.
func (c *Calls[H, K, R]) Held(seq uint64) H { return c.held[seq] }

// All returns the calls in random order. The caller must not modify the map.
func (c *Calls[H, K, R]) All() map[uint64]H { return c.held }

// Numbers returns the numbers of the calls in ascending order.
func (c *Calls[H, K, R]) Numbers() []uint64 { return kernel.SortedKeys(c.held) }

// Next returns a new number. Calls and whatever else waits for an answer share the numbers.
func (c *Calls[H, K, R]) Next() uint64 {
	c.last++
	return c.last
}

// Last returns the number that Next returned last.
func (c *Calls[H, K, R]) Last() uint64 { return c.last }

// Ref names a call to pools.
func (c *Calls[H, K, R]) Ref(seq uint64) message.CallRef {
	return message.CallRef{Holder: c.self, Seq: seq}
}

// Find returns the number of the call that a client's request became.
func (c *Calls[H, K, R]) Find(key K) (seq uint64, ok bool) {
	seq, ok = c.byRequest[key]
	return seq, ok
}

// Indexed returns the number of requests that Find finds.
func (c *Calls[H, K, R]) Indexed() int { return len(c.byRequest) }

// Index records that the client's request key waits for the call seq.
func (c *Calls[H, K, R]) Index(key K, seq uint64) {
	if c.byRequest == nil {
		c.byRequest = map[K]uint64{}
	}
	c.byRequest[key] = seq
}

// Unindex removes the client's request key, unless another call has it by now.
func (c *Calls[H, K, R]) Unindex(key K, seq uint64) {
	if c.byRequest[key] == seq {
		delete(c.byRequest, key)
	}
}

// Hold adds a call and starts its timer.
func (c *Calls[H, K, R]) Hold(now time.Time, h H, out []kernel.Effect) []kernel.Effect {
	if c.held == nil {
		c.held = map[uint64]H{}
	}
	b := h.Base()
	c.held[b.Seq] = h
	return c.clock.by(now, b.Deadline(), out)
}

// Begin holds the call that the client's request x becomes, tells the audit log, and sends r to the server's pool.
func (c *Calls[H, K, R]) Begin(now time.Time, h H, x *downstream.Exchange, project string, denied *admission.Denied, r *message.Request, out []kernel.Effect) []kernel.Effect {
	b := h.Base()
	b.record = recordOfCall(c.auditing, x, &b.Call, project, denied)
	if b.record != nil && c.auditing.Has(audit.Both) {
		out = auditBegin(b.record, c.holder.CallName(b.Seq), out)
	}
	out = c.Hold(now, h, out)
	return append(out, kernel.Tell(b.Upstream.Pool, message.Dispatch{Call: c.Ref(b.Seq), Request: r}))
}

// Timer returns the message of the newest timer for deadlines.
func (c *Calls[H, K, R]) Timer() any { return deadlineDue{c.clock.gen} }

// Watch makes sure that the timer fires by the call's deadline.
func (c *Calls[H, K, R]) Watch(now time.Time, h H, out []kernel.Effect) []kernel.Effect {
	return c.clock.by(now, h.Base().Deadline(), out)
}

// Change applies an event that cannot end the call, and returns its effects, which are valid until the next change. It neither
// executes them nor sets the timer.
func (c *Calls[H, K, R]) Change(now time.Time, h H, event any) []call.Effect {
	return h.Base().Step(now, event, c.scratch[:0])
}

// Apply applies an event to a call and executes its effects. It ignores a call that has ended already.
func (c *Calls[H, K, R]) Apply(now time.Time, seq uint64, event any, out []kernel.Effect) []kernel.Effect {
	h, ok := c.held[seq]
	if !ok {
		return out
	}
	b := h.Base()
	c.scratch = b.Step(now, event, c.scratch[:0])
	if b.State == call.Ended {
		out = c.holder.Ending(h, out)
	}
	for i := range c.scratch {
		out = c.execute(now, h, &c.scratch[i], out)
	}
	clear(c.scratch) // no frame outlives its delivery here
	if b.State == call.Ended {
		delete(c.held, seq)
		return c.holder.Ended(h, out)
	}
	return c.clock.by(now, b.Deadline(), out)
}

// execute executes an effect of a call. The outcome is counted before the client has its answer, as the client may read the
// metrics at once.
func (c *Calls[H, K, R]) execute(now time.Time, h H, e *call.Effect, out []kernel.Effect) []kernel.Effect {
	if out, done := c.holder.Intercept(h, e, out); done {
		return out
	}
	b := h.Base()
	first := len(out)
	switch e.Kind {
	case call.Deliver:
		out = append(logRefusedRead(&b.Call, &e.Frame, out), countAnswered(now, &b.Call, &e.Frame))
		return c.auditEnd(b, nil, first, c.holder.Deliver(now, h, &e.Frame, out))
	case call.Fail:
		e.Fault = namingTool(e.Fault, &b.Call)
		out = append(out, countUnanswered(now, &b.Call, outcomeOf(e.Fault)))
		return c.auditEnd(b, e.Fault, first, c.holder.Fail(now, h, e.Fault, out))
	case call.Cancel:
		return append(out, c.cancel(b, e.Reason, e.TimedOut))
	case call.Forget:
		out = append(out, countUnanswered(now, &b.Call, status.OutcomeCancelled))
		return c.auditEnd(b, nil, first, c.holder.Withdrawn(h, out))
	}
	return out
}

// Cancel tells the server's pool to cancel a call.
func (c *Calls[H, K, R]) Cancel(h H, reason string, timedOut bool) kernel.Effect {
	return c.cancel(h.Base(), reason, timedOut)
}

func (c *Calls[H, K, R]) cancel(b *Held, reason string, timedOut bool) kernel.Effect {
	return kernel.Tell(b.Upstream.Pool, message.Cancel{Call: c.Ref(b.Seq), Reason: reason, TimedOut: timedOut})
}

// End cancels a call at its server and answers its client with fault.
func (c *Calls[H, K, R]) End(now time.Time, h H, reason string, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	b := h.Base()
	return c.Apply(now, b.Seq, call.Broken{Fault: fault}, append(out, c.cancel(b, reason, false)))
}

// EndAll ends every call that match selects.
func (c *Calls[H, K, R]) EndAll(now time.Time, match func(H) bool, reason string, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for _, seq := range c.Numbers() {
		if h, ok := c.held[seq]; ok && match(h) {
			out = c.End(now, h, reason, faultOfCall(fault, &h.Base().Call), out)
		}
	}
	return out
}

// Report returns the calls as people see them. session names their holder, and who the principal of each.
func (c *Calls[H, K, R]) Report(session string, who func(H) string) (all []status.Call) {
	for _, seq := range c.Numbers() {
		h := c.held[seq]
		b := h.Base()
		all = append(all, status.Call{
			ID: c.holder.CallName(seq), Session: session, Client: b.Client, Who: who(h), Server: b.Server, Method: b.Method.String(), Item: b.Item, Public: b.Public,
			State: string(b.State), Began: b.Began, Deadline: b.Ends(),
		})
	}
	return all
}
