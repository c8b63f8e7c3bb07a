package subscription

import (
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// ackWait is how long the acknowledgment waits for servers to confirm subscriptions. Unconfirmed ones are acknowledged too, if
// the catalog or the server's pool knows the resource.
const ackWait = time.Second

// ackDue arrives when ackWait has passed.
type ackDue struct{}

// ack sends the acknowledgment, the first message of the stream. It names the part of the filter that will be served. If that is
// nothing, the stream ends at once.
func (s *state) ack(out []kernel.Effect) []kernel.Effect {
	if s.acked {
		return out
	}
	s.acked = true
	agreed := map[string]any{}
	for kind, name := range map[protocol.ItemKind]string{
		protocol.Tools: "toolsListChanged", protocol.Prompts: "promptsListChanged", protocol.Resources: "resourcesListChanged",
	} {
		if s.wants[kind] {
			agreed[name] = true
		}
	}
	wished := map[string][]string{}
	for r, sub := range s.subs.active {
		name := "resourceSubscriptions"
		if _, task := message.TaskOf(r.URI); task {
			name = "taskIds"
		}
		wished[name] = append(wished[name], sub.Public)
	}
	for name, list := range wished {
		slices.Sort(list)
		agreed[name] = list
	}
	list, err := json.Marshal(agreed)
	if err != nil {
		panic("acknowledgment: " + err.Error()) // strings and booleans always marshal
	}
	params := append(append([]byte(`{`), s.tag()...), `,"notifications":`...)
	params = append(append(params, list...), '}')
	out = append(out, s.notify(protocol.NotificationSubscriptionsAcknowledged.String(), params, "ack"))
	if len(agreed) == 0 {
		return append(out, kernel.StopSelf())
	}
	early := s.beforeAck
	s.beforeAck = nil
	return append(out, early...)
}
