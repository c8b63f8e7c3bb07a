package demo

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// maxListeners limits the open streams of subscriptions/listen.
const maxListeners = 1024

// listener is an open subscriptions/listen stream. MCP 2026-07-28, basic/patterns/subscriptions. Its fields are immutable.
type listener struct {
	c       *Call
	changes map[protocol.Method]bool // list_changed notifications to send
	uris    map[string]bool
	tasks   map[string]bool
	empty   bool // nothing was subscribed: the request is answered immediately
}

// openListener opens a stream. It runs while the request is read rather than in the request's goroutine: clients do
// not wait for the acknowledgment, and changes by the next request must be reported. It returns nil if it has already
// answered the request.
func (f *front) openListener(c *Call) *listener {
	var filter struct {
		ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
		PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
		ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
		ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"`
		TaskIDs               []string `json:"taskIds,omitempty"`
	}
	if json.Unmarshal(c.x.Params.Notifications.Of(c.x.Frame.Raw), &filter) != nil || len(filter.ResourceSubscriptions)+len(filter.TaskIDs) > maxSubscriptions {
		f.answerModern(c, nil, &Error{Code: codeInvalidParams, Message: "notifications: expected booleans and lists of limited length"})
		return nil
	}
	if len(filter.TaskIDs) > 0 && !c.hasTasks() {
		f.answerModern(c, nil, lacks(needsTasks))
		return nil
	}
	filter.ResourceSubscriptions = slices.DeleteFunc(filter.ResourceSubscriptions, func(uri string) bool { _, ok := f.resource(uri); return !ok })
	filter.TaskIDs = slices.DeleteFunc(filter.TaskIDs, func(id string) bool { return f.findTask(id) == nil })
	l := &listener{c: c, changes: map[protocol.Method]bool{
		protocol.NotificationToolsListChanged: filter.ToolsListChanged, protocol.NotificationPromptsListChanged: filter.PromptsListChanged,
		protocol.NotificationResourcesListChanged: filter.ResourcesListChanged,
	}, uris: set(filter.ResourceSubscriptions), tasks: set(filter.TaskIDs)}
	ack, err := json.Marshal(filter)
	if err != nil || !f.addListener(l, append([]byte(`"notifications":`), ack...)) {
		f.answerModern(c, nil, &Error{Code: codeInternal, Message: "too many streams"})
		return nil
	}
	l.empty = string(ack) == "{}"
	return l
}

// listen serves an open stream until the client or the server ends it.
func (f *front) listen(l *listener) {
	c := l.c
	if !l.empty {
		<-c.Context.Done()
	}
	f.mu.Lock()
	delete(f.listeners, l)
	f.mu.Unlock()
	if errors.Is(context.Cause(c.Context), errCancelled) {
		c.x.Accept()
		return
	}
	f.answerModern(c, json.RawMessage(append(append([]byte(`{`), l.tag()...), '}')), nil)
}

func set(keys []string) map[string]bool {
	return maps.Collect(func(yield func(string, bool) bool) {
		for _, k := range keys {
			if !yield(k, true) {
				return
			}
		}
	})
}

// addListener adds a stream after acknowledging it, so that the acknowledgment is its first message.
func (s *Server) addListener(l *listener, ack []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) >= maxListeners {
		return false
	}
	l.tell(protocol.NotificationSubscriptionsAcknowledged.String(), ack, "ack")
	s.listeners[l] = true
	return true
}

// tag returns the JSON member that identifies the stream in its messages.
func (l *listener) tag() []byte {
	tag := append([]byte(`"_meta":{"io.modelcontextprotocol/subscriptionId":`), l.c.x.Frame.IDBytes()...)
	return append(tag, '}')
}

// tell sends a notification. members are the raw members of its params, without braces. A queued notification with the same
// key is replaced.
func (l *listener) tell(method string, members []byte, key string) {
	params := append([]byte{'{'}, l.tag()...)
	if len(members) > 0 {
		params = append(append(params, ','), members...)
	}
	frame := protocol.AppendNotification(nil, method, append(params, '}'))
	l.c.x.Notify(protocol.Message{Frame: frame}, downstream.WeightState, key)
}

// listening calls each for every open stream. The caller must not hold mu.
func (s *Server) listening(each func(*listener)) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.listeners))
	s.mu.Unlock()
	for _, l := range all {
		each(l)
	}
}
