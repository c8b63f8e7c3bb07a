package clientcalls

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Held is a call with everything that any holder needs to answer it. Each holder embeds it in its own type of call.
type Held struct {
	call.Call
	View     *catalog.View   // the view in which the item was found; the result's public names are made from it
	Upstream *catalog.Server // the server whose pool executes the call
	Entry    *catalog.Entry  // the item; nil = it is not listed, or the call uses none
	record   *audit.Record   // for the audit log; nil = none is wanted
	who      string          // name of the principal; "" = not authenticated
	version  string          // protocol version of the client
	in       int             // bytes of the request
	route    *status.Route   // the connection that carries the call; nil = none yet
	trace    *trace.Request  // nil = the request is not sampled
	usage    *identity.Usage // counts of the client's principal; nil = those of identity.Local

	keeping *message.Keeping // keeps the call's payloads; nil = none does
}

// Base returns h itself. It lets Calls reach the Held inside a holder's own type.
func (h *Held) Base() *Held { return h }

// Entry is a holder's own type of call: a pointer to a struct that embeds Held.
type Entry interface {
	comparable
	Base() *Held
}

// Holder is the actor that holds the calls. It writes to its clients; Calls does the rest.
type Holder[H Entry, R any] interface {
	// CallName returns the call's name for logs and the status.
	CallName(seq uint64) string
	// Answered takes the server's answer. Usually it applies call.Answered.
	Answered(now time.Time, h H, m message.Done, out []kernel.Effect) []kernel.Effect
	// Intercept executes an effect that must not reach the client, and reports whether it did.
	Intercept(h H, e *call.Effect, out []kernel.Effect) ([]kernel.Effect, bool)
	// Deliver writes the server's answer to the client.
	Deliver(now time.Time, h H, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect
	// Fail writes a gateway error to the client.
	Fail(now time.Time, h H, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect
	// Withdrawn ends the exchange of a call that its client has canceled, or whose client has left.
	Withdrawn(h H, out []kernel.Effect) []kernel.Effect
	// Ending runs when a call has ended, before the resulting effects are executed.
	Ending(h H, out []kernel.Effect) []kernel.Effect
	// Ended runs after a call has been removed.
	Ended(h H, out []kernel.Effect) []kernel.Effect
	// Progress passes the server's progress on to the client.
	Progress(now time.Time, h H, m message.Progress, out []kernel.Effect) []kernel.Effect
	// LogLine passes the server's log line on to the client.
	LogLine(now time.Time, h H, m message.Log, out []kernel.Effect) []kernel.Effect
	// ServerRequest passes the server's request on to the client.
	ServerRequest(now time.Time, h H, m message.ServerRequest, out []kernel.Effect) []kernel.Effect
	// QuestionCanceled drops a request that the server has canceled.
	QuestionCanceled(now time.Time, h H, m message.ServerRequestCanceled, out []kernel.Effect) []kernel.Effect
	// Repeat handles a request again after its lookup has ended.
	Repeat(now time.Time, request R, out []kernel.Effect) []kernel.Effect
	// AuditWritten runs when replies that waited for the audit log have been sent.
	AuditWritten(out []kernel.Effect) []kernel.Effect
}

// Calls holds the calls of a holder's clients, by number and by the key K with which a client identifies its request. R is a request
// that waits for a lookup. Create Calls with New.
type Calls[H Entry, K comparable, R any] struct {
	holder    Holder[H, R]
	self      kernel.Reference
	held      map[uint64]H
	byRequest map[K]uint64
	last      uint64 // the newest number
	clock     clock
	lookups   lookups[R]
	scratch   []call.Effect
	auditing  audit.Flags
	unsent    int // records whose replies wait for the audit log
	gate      *message.PayloadGate
}

// New returns the calls of holder, which is the actor self.
func New[H Entry, K comparable, R any](holder Holder[H, R], self kernel.Reference) Calls[H, K, R] {
	return Calls[H, K, R]{holder: holder, self: self}
}

// Len returns the number of calls.
func (c *Calls[H, K, R]) Len() int { return len(c.held) }

// Busy reports whether there are calls, or replies that wait for the audit log.
func (c *Calls[H, K, R]) Busy() bool { return len(c.held)+c.unsent > 0 }

// Unsent returns the number of records whose replies wait for the audit log.
func (c *Calls[H, K, R]) Unsent() int { return c.unsent }

// Held returns the call with that number, or nil if it has ended.
func (c *Calls[H, K, R]) Held(seq uint64) H { return c.held[seq] }

// All returns the calls in random order. The caller must not modify the map.
func (c *Calls[H, K, R]) All() map[uint64]H { return c.held }

// Numbers returns the numbers of the calls in ascending order.
func (c *Calls[H, K, R]) Numbers() []uint64 { return kernel.SortedKeys(c.held) }

// Next returns a new number. Calls, refreshes and other requests to actors share one sequence of numbers.
func (c *Calls[H, K, R]) Next() uint64 {
	c.last++
	return c.last
}

// BeginAfter makes the first number that Next returns the one after used.
func (c *Calls[H, K, R]) BeginAfter(used uint64) { c.last = used }

// Last returns the number that Next returned most recently.
func (c *Calls[H, K, R]) Last() uint64 { return c.last }

// Ref returns the reference under which pools know a call.
func (c *Calls[H, K, R]) Ref(seq uint64) message.CallRef {
	return message.CallRef{Holder: c.self, Seq: seq}
}

// Find returns the number of the call for a client's request.
func (c *Calls[H, K, R]) Find(key K) (seq uint64, ok bool) {
	seq, ok = c.byRequest[key]
	return seq, ok
}

// Indexed returns the number of requests in the index.
func (c *Calls[H, K, R]) Indexed() int { return len(c.byRequest) }

// Index records that the client's request key belongs to the call seq.
func (c *Calls[H, K, R]) Index(key K, seq uint64) {
	if c.byRequest == nil {
		c.byRequest = map[K]uint64{}
	}
	c.byRequest[key] = seq
}

// Unindex removes the client's request key, unless it meanwhile belongs to another call.
func (c *Calls[H, K, R]) Unindex(key K, seq uint64) {
	if c.byRequest[key] == seq {
		delete(c.byRequest, key)
	}
}

// Hold adds a call and makes sure that the timer fires no later than its deadline.
func (c *Calls[H, K, R]) Hold(now time.Time, h H, out []kernel.Effect) []kernel.Effect {
	if c.held == nil {
		c.held = map[uint64]H{}
	}
	b := h.Base()
	c.held[b.Seq] = h
	return c.clock.by(now, b.Deadline(), out)
}

// Begin holds the call for the client's request x, records its beginning in the audit log, and sends r to the server's pool.
func (c *Calls[H, K, R]) Begin(now time.Time, h H, x *downstream.Exchange, project string, denied *admission.Denied, r *message.Request, out []kernel.Effect) []kernel.Effect {
	b := h.Base()
	b.version, b.trace, b.in, b.who = r.Caller.Version, r.Trace, len(x.Frame.Raw), message.NameOf(x.Origin.Principal)
	if behalf := x.Origin.Principal.Behalf(); behalf != nil {
		b.who = message.NameOf(behalf.Who)
	}
	b.usage = identity.Of(x.Origin.Principal).Usage
	x.Report.Version = b.version
	if subject := b.Method.Names(); subject == protocol.SubjectTool || subject == protocol.SubjectPrompt {
		x.Report.Item = b.Public
	}
	if b.record = recordOfCall(c.auditing, x, &b.Call, project, denied); b.record != nil {
		b.record.Run = b.Upstream.Rules.Hop
	}
	if b.record != nil && c.auditing.Has(audit.Both) {
		out = auditBegin(b.record, c.holder.CallName(b.Seq), out)
	}
	out = c.Hold(now, h, out)
	if b.keeping = c.gate.Open(now, b.Server); b.keeping != nil {
		out = append(out, c.keepRequest(now, b, &x.Frame))
	}
	return append(out, kernel.Tell(b.Upstream.Pool, message.Dispatch{Call: c.Ref(b.Seq), Request: r}))
}

// Timer returns the message that the current deadline timer will send.
func (c *Calls[H, K, R]) Timer() any { return deadlineDue{c.clock.gen} }

// Watch makes sure that the timer fires no later than the call's deadline.
func (c *Calls[H, K, R]) Watch(now time.Time, h H, out []kernel.Effect) []kernel.Effect {
	return c.clock.by(now, h.Base().Deadline(), out)
}

// Change applies an event that cannot end the call, and returns its effects, which are valid until the next change. It neither
// executes them nor sets the timer.
func (c *Calls[H, K, R]) Change(now time.Time, h H, event any) []call.Effect {
	return h.Base().Step(now, event, c.scratch[:0])
}

// Apply applies an event to a call and executes its effects. If the call has already ended, nothing happens.
func (c *Calls[H, K, R]) Apply(now time.Time, seq uint64, event any, out []kernel.Effect) []kernel.Effect {
	if h, ok := c.held[seq]; ok {
		return c.apply(now, h, event, out)
	}
	return out
}

func (c *Calls[H, K, R]) apply(now time.Time, h H, event any, out []kernel.Effect) []kernel.Effect {
	b := h.Base()
	c.scratch = b.Step(now, event, c.scratch[:0])
	if b.State == call.Ended {
		out = c.holder.Ending(h, out)
	}
	for i := range c.scratch {
		out = c.execute(now, h, &c.scratch[i], out)
	}
	clear(c.scratch) // do not keep the frames alive
	if b.State == call.Ended {
		delete(c.held, b.Seq)
		return c.holder.Ended(h, out)
	}
	return c.clock.by(now, b.Deadline(), out)
}

// execute executes an effect of a call. The outcome is counted before the client is answered, because the client may
// read the metrics right after.
func (c *Calls[H, K, R]) execute(now time.Time, h H, e *call.Effect, out []kernel.Effect) []kernel.Effect {
	if out, done := c.holder.Intercept(h, e, out); done {
		return out
	}
	b := h.Base()
	first := len(out)
	if fault := b.unknownToNode(e); fault != nil {
		e.Kind, e.Fault = call.Fail, fault
	}
	switch e.Kind {
	case call.Deliver:
		out = append(logRefusedRead(b, &e.Frame, out), countAnswered(now, b, &e.Frame))
		if b.keeping != nil {
			out = append(out, c.keepAnswer(now, b, &e.Frame))
		}
		return c.auditEnd(b, nil, first, c.holder.Deliver(now, h, &e.Frame, out))
	case call.Fail:
		e.Fault = namingTool(e.Fault, &b.Call)
		out = append(out, countFailed(now, b, e.Fault))
		if b.keeping != nil {
			out = append(out, c.keepFault(now, b, e.Fault))
		}
		return c.auditEnd(b, e.Fault, first, c.holder.Fail(now, h, e.Fault, out))
	case call.Cancel:
		return append(out, c.cancel(b, e.Reason, e.TimedOut))
	case call.Forget:
		out = append(out, countCanceled(now, b))
		if b.keeping != nil {
			out = append(out, c.keepEnd(b, message.PayloadEnded{At: now}))
		}
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

// End cancels a call at its server and answers its client with the fault.
func (c *Calls[H, K, R]) End(now time.Time, h H, reason string, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	b := h.Base()
	return c.Apply(now, b.Seq, call.Broken{Fault: fault}, append(out, c.cancel(b, reason, false)))
}

// EndAll ends every call for which the function match returns true.
func (c *Calls[H, K, R]) EndAll(now time.Time, match func(H) bool, reason string, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	for _, seq := range c.Numbers() {
		if h, ok := c.held[seq]; ok && match(h) {
			out = c.End(now, h, reason, faultOfCall(fault, &h.Base().Call), out)
		}
	}
	return out
}
