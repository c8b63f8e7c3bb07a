package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// access gives a tool the catalog as it was when the call started.
type access struct {
	snapshot *catalog.Snapshot
	view     *catalog.View // the caller's
	index    *index
	monitor  kernel.Reference
}

// server is the in-process MCP server: its tools by name. It has no state; each call gets its own access.
type server struct{ tools map[string]tool }

func newServer() *server {
	s := &server{map[string]tool{}}
	for _, t := range tools() {
		s.tools[t.definition.Name] = t
	}
	return s
}

// result is the result of tools/call.
type result struct {
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// answer runs a call and returns the response of a legacy server. The call's holder translates it for the client's
// protocol version. An error is a *protocol.Fault unless the gateway is at fault.
func (s *server) answer(ctx context.Context, a *access, r *message.Request) (protocol.Frame, error) {
	var f protocol.Frame
	key := r.Caller.View
	key.Server = "" // a view of one server would not contain these tools
	view, ok := a.snapshot.View(key)
	if !ok {
		return f, protocol.NoProject(key.Project)
	}
	t, ok := s.tools[r.Item]
	if !ok {
		return f, protocol.NoTool(r.Item)
	}
	a.view = view
	said, err := json.Marshal(t.call(ctx, a, r.Params.Arguments.Of(r.Frame.Raw)))
	if err != nil {
		return f, fmt.Errorf("encode the result: %w", err)
	}
	if err := f.Parse(protocol.AppendResult(nil, []byte("1"), said)); err != nil {
		return f, fmt.Errorf("parse the result: %w", err)
	}
	return f, nil
}

// call runs a tool. An error becomes a result with isError, which the agent can read.
func (t *tool) call(ctx context.Context, a *access, raw []byte) result {
	said, err := t.structured(ctx, a, raw)
	if err != nil {
		return result{Content: []content{{"text", err.Error()}}, IsError: true}
	}
	return result{Content: []content{{"text", string(said)}}, Structured: said}
}

func (t *tool) structured(ctx context.Context, a *access, raw []byte) (json.RawMessage, error) {
	if t.run == nil {
		return nil, errors.New("this tool cannot be called here")
	}
	given, err := parseArguments(&t.definition.InputSchema, raw)
	if err != nil {
		return nil, err
	}
	found, err := t.run(ctx, a, given)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// Tools returns the definitions of all tools in the form the registry accepts.
func Tools() [][]byte {
	var items [][]byte
	for _, t := range tools() {
		raw, err := json.Marshal(t.definition)
		if err != nil {
			panic(fmt.Sprintf("definition of a tool of the gateway: %v", err)) // cannot happen: the definitions are constants
		}
		items = append(items, raw)
	}
	return items
}
