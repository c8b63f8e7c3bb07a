package pool

import (
	"context"

	"goblin-actor/actors/message"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream"
)

// quiet is open, but what a server's process says on stderr, and why a connection ended, is told without what is known to be
// secret: both become log lines, reasons and errors. Frames pass as they are.
func (p *pool) redactEvents(open func(upstream.Sink) upstream.Link) func(upstream.Sink) upstream.Link {
	known := p.Secrets
	if known == nil {
		return open
	}
	return func(sink upstream.Sink) upstream.Link {
		return open(func(ctx context.Context, e upstream.Event) error { return sink(ctx, redactEvent(known, e)) })
	}
}

// hush is an event as it is told on.
func redactEvent(known *secret.Redactor, e upstream.Event) upstream.Event {
	switch told := e.(type) {
	case upstream.Stderr:
		told.Line = known.CutShort(told.Line)
		return told
	case upstream.Noise:
		if line := known.CutShort(string(told.Line)); line != string(told.Line) {
			told.Line = []byte(line)
		}
		told.Err = known.Hush(told.Err)
		return told
	case upstream.NotSent:
		told.Err = known.Hush(told.Err)
		return told
	case upstream.Ended:
		told.Err = known.Hush(told.Err)
		return told
	case upstream.ListenFailed:
		told.Err = known.Hush(told.Err)
		return told
	case upstream.Closed:
		told.Err = known.Hush(told.Err)
		for i, line := range told.Stderr {
			told.Stderr[i] = known.CutShort(line)
		}
		return told
	}
	return e
}

// shown is msg without what is known to be secret in the reasons that it gives: they are a server's words often, and clients
// and people see them.
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
