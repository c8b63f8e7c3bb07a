package meta

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

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

type askedKey struct{}

// server is the MCP server in the process. It has no state of its own: what a call works with comes in its context.
type server struct{ mcp *mcpserver.MCPServer }

func newServer() *server {
	s := mcpserver.NewMCPServer(Name, "1", mcpserver.WithToolCapabilities(false), mcpserver.WithStrictInputSchemaDefault())
	for _, t := range tools() {
		s.AddTool(t.definition, handler(t))
	}
	return &server{s}
}

// handler gives a tool what it works with. What it says instead of a result is a result that says isError, for an agent to read.
func handler(t tool) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a, _ := ctx.Value(askedKey{}).(*asked)
		if a == nil || t.run == nil {
			return mcp.NewToolResultError("this tool cannot be called here"), nil
		}
		if err := checkArguments(&t.definition.InputSchema, request); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		result, err := t.run(ctx, a, request)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		text, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("write a result: %w", err)
		}
		return mcp.NewToolResultStructured(json.RawMessage(text), string(text)), nil
	}
}

// answer has a call answered, in the manner of a legacy server: who holds the call makes of it what its client knows.
func (s *server) answer(ctx context.Context, a *asked, r *message.Request) (protocol.Frame, *protocol.Fault) {
	var f protocol.Frame
	view, ok := a.snapshot.View(catalog.Key{Project: r.Caller.Project})
	if !ok {
		return f, protocol.NoProject(r.Caller.Project)
	}
	a.view = view
	params := append(protocol.AppendQuoted([]byte(`{"name":`), r.Item), `,"arguments":`...)
	if arguments := r.Params.Arguments.Of(r.Frame.Raw); arguments != nil {
		params = append(params, arguments...)
	} else {
		params = append(params, "{}"...)
	}
	request := protocol.AppendRequest(nil, 1, protocol.MethodToolsCall.String(), append(params, '}'))
	answer, err := json.Marshal(s.mcp.HandleMessage(context.WithValue(ctx, askedKey{}, a), request))
	if err != nil || f.Parse(answer) != nil {
		return f, internalFault
	}
	return f, nil
}

// Tools are the definitions of all tools, as the registry takes them.
func Tools() [][]byte {
	var list struct {
		Result struct{ Tools []json.RawMessage }
	}
	request := protocol.AppendRequest(nil, 1, protocol.MethodToolsList.String(), []byte("{}"))
	answer, err := json.Marshal(newServer().mcp.HandleMessage(context.Background(), request))
	if err != nil || json.Unmarshal(answer, &list) != nil {
		panic(fmt.Sprintf("the gateway's own tools: %s", answer))
	}
	items := make([][]byte, len(list.Result.Tools))
	for i, raw := range list.Result.Tools {
		items[i] = raw
	}
	return items
}
