package session

import (
	"log/slog"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// counted says how a call ended.
type counted struct {
	server   string
	method   protocol.Method
	outcome  status.Outcome
	seconds  float64
	mimeType string // of what was read, in a result of resources/read
}

func (c counted) count(m *status.ServerMetrics) {
	m.Call(c.method, c.outcome, c.seconds)
	if c.method == protocol.MethodResourcesRead {
		m.Read(c.mimeType, c.outcome == status.OutcomeOK)
	}
}

// ended is counted for a call that ended without an answer of its server's.
func ended(now time.Time, c *call.Call, outcome status.Outcome) kernel.Effect {
	return kernel.Act(counted{server: c.Server, method: c.Method, outcome: outcome, seconds: now.Sub(c.Began).Seconds()})
}

// answered is counted for an answer of the server's own.
func answered(now time.Time, of *call.Call, frame *protocol.Frame) kernel.Effect {
	c := counted{server: of.Server, method: of.Method, outcome: status.OutcomeError, seconds: now.Sub(of.Began).Seconds()}
	if frame.Kind == protocol.KindResult {
		c.outcome = status.OutcomeOK
		switch of.Method {
		case protocol.MethodToolsCall:
			if toolFailed(frame) {
				c.outcome = status.OutcomeToolError
			}
		case protocol.MethodResourcesRead:
			c.mimeType = mimeTypeOf(frame)
		}
	}
	return kernel.Act(c)
}

// readRefused logs the error a server answers a read with; its client gets it all the same (S0.9.2).
func readRefused(of *call.Call, frame *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if of.Method != protocol.MethodResourcesRead || frame.Kind != protocol.KindError {
		return out
	}
	text, _ := protocol.Unquote(protocol.Member(frame.Raw, frame.Error, "message").Of(frame.Raw))
	code := cut(string(protocol.Member(frame.Raw, frame.Error, "code").Of(frame.Raw)), 24)
	return append(out, kernel.Log(slog.LevelInfo, "server refused to read a resource", "server", of.Server, "uri", cut(of.Item, 200), "code", code, "message", cut(text, 200)))
}

// toolFailed reports whether a result of tools/call says isError.
func toolFailed(frame *protocol.Frame) bool {
	return frame.Failure && string(protocol.Member(frame.Raw, frame.Result, "isError").Of(frame.Raw)) == "true"
}

// mimeTypeOf returns the type of the first of the contents of a result of resources/read; "" without one.
func mimeTypeOf(frame *protocol.Frame) (mimeType string) {
	var info protocol.ResultInfo
	if info.Scan(frame) != nil || !info.Contents.Present() {
		return ""
	}
	_ = protocol.Items(frame.Raw, info.Contents, func(item protocol.Item) bool {
		mimeType, _ = protocol.Unquote(item.MIMEType.Of(item.Raw))
		return false
	})
	return mimeType
}

// outcomeOf is the metric's word for a fault of ours.
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
