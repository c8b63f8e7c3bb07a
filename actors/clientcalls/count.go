package clientcalls

import (
	"log/slog"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// CallOutcome counts how a call ended. As an effect it is a pointer, because it is large.
type CallOutcome struct {
	Server   string
	ended    status.Ended // its Session and Counters are set by Count
	mimeType string       // of a result of resources/read
	entry    *catalog.Entry
}

// Count adds the outcome to its server's metrics. The parameter session is the short name of the call's holder, and holder
// is the one in the name of the call.
func (c *CallOutcome) Count(m *status.ServerMetrics, session, holder string) {
	c.ended.Session, c.ended.Holder = session, holder
	if _, counts := status.CountsItem(c.ended.Method); counts && c.entry != nil {
		c.ended.Counters = c.entry.Usage(m)
	}
	m.Ended(c.ended)
	if c.ended.Method == protocol.MethodResourcesRead {
		m.Read(c.mimeType, c.ended.Outcome == status.OutcomeOK)
	}
}

// endedAs describes a call that ends at now.
func endedAs(now time.Time, h *Held, outcome status.Outcome) *CallOutcome {
	return &CallOutcome{Server: h.Server, entry: h.Entry, ended: status.Ended{
		Seq: message.SeqNumber(h.Seq), Client: h.Client, Who: h.who, Method: h.Method, Item: h.Item, Public: h.Public, Outcome: outcome, Began: h.Began, Took: now.Sub(h.Began),
		Sent: h.Sent, Taken: status.MomentOf(h.Began, h.Taken), Asked: status.MomentOf(h.Began, h.Asked), Answered: status.MomentOf(h.Began, h.Answered),
		In: int64(h.in), Route: h.route, Version: h.version, Trace: h.trace, Usage: h.usage,
	}}
}

// countFailed counts a call that ended with a gateway error.
func countFailed(now time.Time, c *Held, fault *protocol.Fault) kernel.Effect {
	o := endedAs(now, c, outcomeOf(fault))
	o.ended.Failure = failureOf(fault)
	return kernel.Act(o)
}

// countCanceled counts a call that its client has canceled, or whose client has left.
func countCanceled(now time.Time, c *Held) kernel.Effect {
	return kernel.Act(endedAs(now, c, status.OutcomeCancelled))
}

// countAnswered counts a call that ended with its server's answer.
func countAnswered(now time.Time, of *Held, frame *protocol.Frame) kernel.Effect {
	c := endedAs(now, of, status.OutcomeError)
	c.ended.Out = int64(len(frame.Raw))
	if frame.Kind == protocol.KindError {
		c.ended.Code, _ = protocol.ErrorNumber(frame)
		c.ended.Failure = failureIn(frame)
	}
	if frame.Kind == protocol.KindResult {
		c.ended.Outcome = status.OutcomeOK
		switch of.Method {
		case protocol.MethodToolsCall:
			if toolFailed(frame) {
				c.ended.Outcome = status.OutcomeToolError
			}
		case protocol.MethodResourcesRead:
			c.mimeType = mimeTypeOf(frame)
		}
	}
	return kernel.Act(c)
}

// logRefusedRead logs the error with which a server answers resources/read. The client gets the error unchanged.
func logRefusedRead(of *Held, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if of.Method != protocol.MethodResourcesRead || frame.Kind != protocol.KindError {
		return out
	}
	text, _ := rawjson.Unquote(rawjson.Member(frame.Raw, frame.Error, "message").Of(frame.Raw))
	code := status.Printable(string(rawjson.Member(frame.Raw, frame.Error, "code").Of(frame.Raw)), 24)
	return append(out, kernel.Log(slog.LevelInfo, "server refused to read a resource", of.trace.LogArgs("server", of.Server, "uri", status.Printable(of.Item, 200), "code", code, "message", status.Printable(text, 200))...))
}

// toolFailed reports whether a result of tools/call has "isError": true.
func toolFailed(frame *protocol.Frame) bool {
	return frame.Failure && string(rawjson.Member(frame.Raw, frame.Result, "isError").Of(frame.Raw)) == "true"
}

// mimeTypeOf returns the MIME type of the first content in a result of resources/read, or "".
func mimeTypeOf(frame *protocol.Frame) (mimeType string) {
	var info protocol.ResultInfo
	if info.Scan(frame) != nil || !info.Contents.Present() {
		return ""
	}
	_ = protocol.Items(frame.Raw, info.Contents, func(item protocol.Item) bool {
		mimeType, _ = rawjson.Unquote(item.MIMEType.Of(item.Raw))
		return false
	})
	return mimeType
}

// outcomeOf returns the outcome under which the metrics count a gateway error.
func outcomeOf(f *protocol.Fault) status.Outcome {
	switch f.Name {
	case protocol.Timeout, protocol.QueueTimeout:
		return status.OutcomeTimeout
	case protocol.ServerUnavailable, protocol.NoBackendsAvailable:
		return status.OutcomeUnavailable
	case protocol.QueueFull, protocol.Overloaded:
		return status.OutcomeQueueFull
	}
	return status.OutcomeFailed
}
