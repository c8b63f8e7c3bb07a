package client

import (
	"time"

	"encoding/json"

	"goblin-actor/protocol"
)

// notified forwards a notification. It does not forward the acknowledgment of a reopened stream, because the client
// already has one. Instead, it notifies the client that everything it listens for may have changed. MCP 2026-07-28,
// basic/patterns/subscriptions.
func (s *modernState) notified(i *modernItem, f protocol.Frame) {
	if !i.listen || f.Method != protocol.NotificationSubscriptionsAcknowledged {
		s.tell(f.Raw)
		return
	}
	if i.acked {
		s.mayHaveChanged(i.frame)
		return
	}
	i.acked, i.until = true, time.Time{} // if the stream ends, it is opened again however long the gateway is away
	s.tell(f.Raw)
}

// mayHaveChanged sends the client a change notification for everything that a listen request asks for.
func (s *modernState) mayHaveChanged(listen protocol.Frame) {
	var params struct {
		Notifications struct {
			ToolsListChanged, PromptsListChanged, ResourcesListChanged bool
			ResourceSubscriptions                                      []json.RawMessage
		}
	}
	if json.Unmarshal(listen.ParamsBytes(), &params) != nil {
		return
	}
	meta := append([]byte(`"_meta":{"io.modelcontextprotocol/subscriptionId":`), listen.IDBytes()...)
	meta = append(meta, '}')
	n := params.Notifications
	for _, list := range []struct {
		wanted bool
		method protocol.Method
	}{
		{n.ToolsListChanged, protocol.NotificationToolsListChanged}, {n.PromptsListChanged, protocol.NotificationPromptsListChanged},
		{n.ResourcesListChanged, protocol.NotificationResourcesListChanged},
	} {
		if list.wanted {
			s.tell(protocol.AppendNotification(nil, list.method.String(), append(append([]byte("{"), meta...), '}')))
		}
	}
	for _, uri := range n.ResourceSubscriptions {
		params := append(append([]byte(`{"uri":`), uri...), ',')
		s.tell(protocol.AppendNotification(nil, protocol.NotificationResourcesUpdated.String(), append(append(params, meta...), '}')))
	}
}
