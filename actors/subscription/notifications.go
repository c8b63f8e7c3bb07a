package subscription

import (
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Keys of _meta. MCP 2026-07-28, basic.
const (
	metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	metaServerInfo     = "io.modelcontextprotocol/serverInfo"
)

// tag returns the member that identifies the stream in every message on it. Its value is the id of the request, a
// number or a string.
func (s *state) tag() []byte {
	return append(append([]byte(`"_meta":{"`+metaSubscriptionID+`":`), s.x.Frame.IDBytes()...), '}')
}

func (s *state) notify(method string, params []byte, key string) kernel.Effect {
	weight := downstream.WeightState
	if key == "ack" {
		weight = downstream.WeightAnswer
	}
	return kernel.Act(reply.Notify{X: s.x, Message: protocol.Message{Frame: protocol.AppendNotification(nil, method, params)}, Weight: weight, Key: key})
}

// tellChanges notifies the client once of each kind of list that has changed since the last notification.
func (s *state) tellChanges(out []kernel.Effect) []kernel.Effect {
	for _, kind := range s.announced.Due(s.view) {
		if !s.wants[kind] {
			continue
		}
		method := kind.ChangedMethod().String()
		out = s.send(s.notify(method, append(append([]byte{'{'}, s.tag()...), '}'), method), out)
	}
	return out
}

// send sends a message, or holds it back until the acknowledgment has been sent.
func (s *state) send(e kernel.Effect, out []kernel.Effect) []kernel.Effect {
	if !s.acked {
		s.beforeAck = append(s.beforeAck, e)
		return out
	}
	return append(out, e)
}

// updated passes on a change of a resource or task, with the client's URI and the stream's tag.
func (s *state) updated(m message.ResourceUpdated, out []kernel.Effect) []kernel.Effect {
	r, public, ok := clientsubs.SubscriptionFor(s.view, s.subs.active, &m)
	if !ok {
		return out
	}
	var params protocol.Params
	if params.Scan(&m.Frame) != nil {
		return out
	}
	raw := m.Frame.Raw
	edits := []rawjson.Edit{{Span: m.Span, With: rawjson.Quote(public)}}
	id := s.x.Frame.IDBytes()
	switch {
	case params.SubscriptionID.Present():
		edits = append(edits, rawjson.Edit{Span: params.SubscriptionID, With: id})
	case params.Meta.Present():
		member := append([]byte(`"`+metaSubscriptionID+`":`), id...)
		edits = append(edits, rawjson.InsertMember(raw, params.Meta, member))
	default:
		edits = append(edits, rawjson.InsertMember(raw, m.Frame.Params, s.tag()))
	}
	frame := rawjson.AppendEdited(nil, raw, edits...)
	return s.send(kernel.Act(update{reply.Notify{X: s.x, Message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}, Weight: downstream.WeightState, Key: public}, s.subs.active[r]}), out)
}
