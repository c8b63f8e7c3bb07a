package subscription

import (
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
)

// end ends the stream because a server's connections are shared differently now, and the stream's subscriptions are on
// connections that no longer fit. The client opens a new stream, with the headers that the new settings use.
func (s *state) end(server string, out []kernel.Effect) []kernel.Effect {
	if s.acked {
		return append(out, kernel.StopSelf())
	}
	return s.refuse(&protocol.Fault{Name: protocol.ServerUnavailable, Server: server, Retryable: true,
		Message: "the settings for sharing connections of server " + server + " have just changed; open the stream again"}, out)
}

// refuse ends the stream before its acknowledgment, with an error.
func (s *state) refuse(fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	s.begun, s.over = true, true
	return append(out, kernel.Act(reply.Refuse{X: s.x, Fault: fault}), kernel.StopSelf())
}

// stop ends the stream with a result. A stream without acknowledgment gets an error, because the acknowledgment must
// precede a result.
func (s *state) stop(out []kernel.Effect) []kernel.Effect {
	out = clientsubs.UnsubscribeAll(s.subs.pools, s.self, out)
	out = append(out, kernel.Tell(s.registry, message.Unsubscribe{From: s.self}))
	switch {
	case s.over:
		return out
	case !s.acked:
		return append(out, kernel.Act(reply.Refuse{X: s.x, Fault: &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway accepts no new streams while it shuts down", Retryable: true}}))
	}
	result := append([]byte(`{"resultType":"complete","_meta":{"`+metaSubscriptionID+`":`), s.x.Frame.IDBytes()...)
	result = append(append(result, `,"`+metaServerInfo+`":`...), s.view.ServerInfo()...)
	return append(out, kernel.Act(reply.Answer{X: s.x, Message: protocol.Message{Frame: protocol.AppendResult(nil, s.x.Frame.IDBytes(), append(result, "}}"...))}}))
}
