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

// asked is what a tool works with: the catalog at the time of its call.
type asked struct {
	snapshot *catalog.Snapshot
	view     *catalog.View // the caller's
	index    *index
	monitor  kernel.Reference
}

// server is the MCP server in the process: its tools by name. It has no state: what a call works with is handed to it.
type server struct{ tools map[string]tool }

func newServer() *server {
	s := &server{map[string]tool{}}
	for _, t := range tools() {
		s.tools[t.definition.Name] = t
	}
	return s
}

// result is what tools/call returns.
type result struct {
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// answer has a call answered, in the manner of a legacy server: who holds the call makes of it what its client knows.
func (s *server) answer(ctx context.Context, a *asked, r *message.Request) (protocol.Frame, *protocol.Fault) {
	var f protocol.Frame
	key := r.Caller.View
	key.Server = "" // whoever sees that alone sees none of our tools
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
	if err != nil || f.Parse(protocol.AppendResult(nil, []byte("1"), said)) != nil {
		return f, internalFault
	}
	return f, nil
}

// call runs a tool. What it says instead of a result is a result that says isError, for an agent to read.
func (t *tool) call(ctx context.Context, a *asked, raw []byte) result {
	said, err := t.said(ctx, a, raw)
	if err != nil {
		return result{Content: []content{{"text", err.Error()}}, IsError: true}
	}
	return result{Content: []content{{"text", string(said)}}, Structured: said}
}

func (t *tool) said(ctx context.Context, a *asked, raw []byte) (json.RawMessage, error) {
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

// Tools are the definitions of all tools, as the registry takes them.
func Tools() [][]byte {
	var items [][]byte
	for _, t := range tools() {
		raw, err := json.Marshal(t.definition)
		if err != nil {
			panic(fmt.Sprintf("the gateway's own tools: %v", err)) // cannot be: they are constants
		}
		items = append(items, raw)
	}
	return items
}
