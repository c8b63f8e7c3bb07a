package stateless

import (
	"slices"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// notification is a progress or log message that a server sends for a call before its answer. Each request that waits for the
// call gets progress under its own token, and only log lines that reach its own level.
type notification struct {
	frame protocol.Frame
	token rawjson.Span   // the gateway's token; absent in log lines
	level protocol.Level // of a log line
}

// Progress resets the idle timeout and passes the progress on.
func (s *state) Progress(now time.Time, v *heldCall, m message.Progress, out []kernel.Effect) []kernel.Effect {
	s.calls.Change(now, v, call.Heard{Frame: m.Frame, Behind: m.Behind})
	if m.Behind { // the client has newer progress already
		return out
	}
	return s.pass(v, notification{frame: m.Frame, token: m.Token}, out)
}

// LogLine passes a call's log line on. MCP 2026-07-28, server/utilities/logging.
func (s *state) LogLine(_ time.Time, v *heldCall, m message.Log, out []kernel.Effect) []kernel.Effect {
	var params protocol.Params
	if params.Scan(&m.Frame) != nil {
		return out
	}
	return s.pass(v, notification{frame: m.Frame, level: protocol.LevelOf(params.Level.Of(m.Frame.Raw))}, out)
}

// pass sends a notification to all requests that wait for the call. If none waits, the newest keptMessages are kept for the next.
func (*state) pass(v *heldCall, m notification, out []kernel.Effect) []kernel.Effect {
	if len(v.exchanges) == 0 {
		if len(v.missed) >= keptMessages {
			v.missed = slices.Delete(v.missed, 0, 1)
		}
		v.missed = append(v.missed, m)
		return out
	}
	for _, x := range v.exchanges {
		out = m.writeTo(x, out)
	}
	return out
}

// passMissed gives a returning request the notifications that arrived while no request waited for the call.
func (*state) passMissed(v *heldCall, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	kept := v.missed
	v.missed = nil
	for _, m := range kept {
		out = m.writeTo(x, out)
	}
	return out
}

// writeTo sends the notification to one request, if the request wants it.
func (m notification) writeTo(x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	if m.token.Present() {
		token := x.Params.ProgressToken.Of(x.Frame.Raw)
		if token == nil {
			return out
		}
		frame := rawjson.AppendEdited(nil, m.frame.Raw, rawjson.Edit{Span: m.token, With: token})
		return append(out, kernel.Act(reply.Notify{X: x, Message: protocol.Message{Frame: frame, Newline: m.frame.Newline}, Weight: downstream.WeightProgress, Key: "progress"}))
	}
	if !wantedLevel(x).Admits(m.level) {
		return out
	}
	return append(out, kernel.Act(reply.Notify{X: x, Message: m.frame.Message(), Weight: downstream.WeightLog}))
}
