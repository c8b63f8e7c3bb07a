package pool

import (
	"context"

	"goblin-actor/actors/message"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream"
)

// redactEvents wraps open so that known secrets are removed from a process's stderr lines and from errors. Both
// end up in logs, reasons and faults. Frames pass unchanged.
func (p *pool) redactEvents(open func(upstream.Sink) upstream.Link) func(upstream.Sink) upstream.Link {
	known := p.Secrets
	if known == nil {
		return open
	}
	return func(sink upstream.Sink) upstream.Link {
		return open(func(ctx context.Context, e upstream.Event) error { return sink(ctx, redactEvent(known, e)) })
	}
}

// redactEvent returns an event without known secrets.
func redactEvent(known *secret.Redactor, e upstream.Event) upstream.Event {
	switch e := e.(type) {
	case upstream.Stderr:
		e.Line = known.CutShort(e.Line)
		return e
	case upstream.Noise:
		if line := known.CutShort(string(e.Line)); line != string(e.Line) {
			e.Line = []byte(line)
		}
		e.Err = known.Hush(e.Err)
		return e
	case upstream.NotSent:
		e.Err = known.Hush(e.Err)
		return e
	case upstream.Ended:
		e.Err = known.Hush(e.Err)
		return e
	case upstream.ListenFailed:
		e.Err = known.Hush(e.Err)
		return e
	case upstream.Closed:
		e.Err = known.Hush(e.Err)
		for i, line := range e.Stderr {
			e.Stderr[i] = known.CutShort(line)
		}
		return e
	}
	return e
}

// redact returns msg with known secrets removed from its reasons. Reasons often quote the server, and clients and
// operators see them.
func (p *pool) redact(msg any) any {
	if p.Secrets == nil {
		return msg
	}
	switch m := msg.(type) {
	case message.BackendChanged:
		m.Reason, m.LastLine = p.Secrets.CutShort(m.Reason), p.Secrets.CutShort(m.LastLine)
		return m
	case message.LoginChanged:
		m.Reason = p.Secrets.CutShort(m.Reason)
		return m
	case message.NotExecuted:
		m.Reason = p.Secrets.CutShort(m.Reason)
		return m
	}
	return msg
}
