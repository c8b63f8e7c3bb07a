package clientcalls

import (
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// Step applies a message about the calls, their lookups, their timer or the audit log. It returns false for any other message.
func (c *Calls[H, K, R]) Step(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.RequestWritten:
		if h, ok := c.held[m.Seq]; ok {
			written(h.Base(), m)
			return c.apply(now, h, call.Sent{}, out), true
		}
	case message.Done:
		if h, ok := c.held[m.Seq]; ok {
			answered(h.Base(), m)
			out = c.holder.Answered(now, h, m, out)
		}
	case message.Failed:
		return c.Apply(now, m.Seq, call.Broken{Fault: m.Fault}, out), true
	case message.Progress:
		if h, ok := c.held[m.Seq]; ok {
			out = c.holder.Progress(now, h, m, out)
		}
	case message.Log:
		if h, ok := c.held[m.Seq]; ok {
			out = c.holder.LogLine(now, h, m, out)
		}
	case message.ServerRequest:
		h, ok := c.held[m.Seq]
		if !ok {
			return append(out, RefuseQuestion(m, -32600, "the call has ended")), true
		}
		out = c.holder.ServerRequest(now, h, m, out)
	case message.ServerRequestCanceled:
		if h, ok := c.held[m.Seq]; ok {
			out = c.holder.QuestionCanceled(now, h, m, out)
		}
	case message.RefreshResult:
		if request, done := c.lookups.refreshed(m.Seq); done {
			out = c.repeat(now, request, out)
		}
	case lookupOver:
		if request, found := c.lookups.over(m); found {
			out = c.repeat(now, request, out)
		}
	case deadlineDue:
		out = c.checkDeadlines(now, m, out)
	case auditWritten:
		c.unsent--
		out = c.holder.AuditWritten(out)
	case message.Abort:
		out = c.abort(now, m, out)
	default:
		return out, false
	}
	return out, true
}

// written notes on which connection a call was written, and when it left the queue for the first time. If the connection leads to another
// node of the cluster, the audit record names that node. A server can ask about a call before the call is written, and then lose the
// connection; the time of that request counts as the time of writing, and so the call had left the queue by then.
func written(b *Held, m message.RequestWritten) {
	if b.record != nil && m.Route != nil && m.Route.Node != "" {
		b.record.Run = m.Route.Node
	}
	if b.route = m.Route; !b.Taken.IsZero() {
		return
	}
	if b.Taken = m.Taken; !b.Sent.IsZero() && b.Taken.After(b.Sent) {
		b.Taken = b.Sent
	}
}

// answered notes when the server's answer arrived. If the holder learned only after that time that the request had been written, the
// answer's time is also used as the time of writing.
func answered(b *Held, m message.Done) {
	if b.Answered = m.At; !m.At.IsZero() && b.Sent.After(m.At) {
		b.Sent = m.At
	}
}

// abort ends a call for an operator.
func (c *Calls[H, K, R]) abort(now time.Time, m message.Abort, out []kernel.Effect) []kernel.Effect {
	for seq, h := range c.held {
		if message.SeqNumber(seq) != m.Seq {
			continue
		}
		if !m.Aim.Began(h.Base().Began) {
			m.Answer(status.ErrRestarted)
			return out
		}
		m.Answer(nil)
		return c.End(now, h, abortFault.Message, abortFault, out)
	}
	m.Answer(status.ErrNotThere)
	return out
}

// checkDeadlines ends the calls whose deadline has passed, and sets the timer for the next deadline.
func (c *Calls[H, K, R]) checkDeadlines(now time.Time, m deadlineDue, out []kernel.Effect) []kernel.Effect {
	if !c.clock.fired(now, m) {
		return out
	}
	for _, seq := range c.Numbers() {
		out = c.Apply(now, seq, call.Tick{}, out)
	}
	var next time.Time
	for _, h := range c.held {
		if at := h.Base().Deadline(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return c.clock.next(now, next, len(c.held), out)
}
