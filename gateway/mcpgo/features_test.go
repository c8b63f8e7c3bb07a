//lint:file-ignore SA1019 the deprecated functions are those of versions with sessions

package mcpgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"goblin-actor/gateway"
	"goblin-actor/gateway/mcpgo"
)

const (
	poem      = "poem://one"
	poemSeen  = "resource://one/poem://one" // as clients see it
	updated   = "notifications/resources/updated"
	toolsList = "notifications/tools/list_changed"
)

// full returns a server with tools, prompts, resources, a template, completions, logging, sampling, elicitation and roots.
func full() *server.MCPServer {
	s := server.NewMCPServer("one", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithLogging(), server.WithCompletions(), server.WithElicitation(), server.WithRoots(),
		server.WithPromptCompletionProvider(names{}), server.WithResourceCompletionProvider(names{}))
	s.EnableSampling()
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
	s.AddTool(mcp.NewTool("steps"), steps)
	s.AddTool(mcp.NewTool("ask"), ask)
	s.AddTool(mcp.NewTool("grow"), func(_ context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("fresh"), echo)
		return mcp.NewToolResultText("grown"), nil
	})
	s.AddTool(mcp.NewTool("touch"), func(_ context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("touched"), touch(s)
	})
	s.AddTool(mcp.NewTool("session"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		id := server.ClientSessionFromContext(ctx).SessionID()
		return mcp.NewToolResultText(id), s.AddSessionTool(id, mcp.NewTool("private"), echo)
	})
	s.AddResource(mcp.NewResource(poem, "poem"), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "roses"}}, nil
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("line://{n}", "line"), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "line of " + r.Params.URI}}, nil
	})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name")), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("hello "+r.Params.Arguments["name"]))}), nil
	})
	return s
}

// names completes arguments.
type names struct{}

func (names) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{a.Value + "gg"}}, nil
}

func (names) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{a.Value + "0"}}, nil
}

// steps reports progress and log messages before its result.
func steps(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := server.ServerFromContext(ctx)
	for i := 1; i <= 3; i++ {
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i, "total": 3})
			if err != nil {
				return nil, err
			}
		}
		if err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelError, "steps", fmt.Sprint("step ", i))); err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText("stepped"), nil
}

// ask asks the client for a name, a message and roots with an input_required result, which works in both eras.
func ask(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(r.Params.InputResponses) == 0 {
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
		return server.NewInputRequestBuilder("asked").
			Elicit("name", mcp.ElicitationParams{Message: "Who?", RequestedSchema: schema}).
			Sample("model", mcp.CreateMessageParams{MaxTokens: 9, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("hi")}}}).
			Roots("roots").ToolResult(), nil
	}
	given, err := json.Marshal(r.Params.InputResponses)
	return mcp.NewToolResultText(string(given)), err
}

// touch sends an update of the poem to every session that has subscribed to the poem.
func touch(s *server.MCPServer) error {
	for _, session := range watched.all() {
		if subscribed, ok := session.(server.SessionWithResourceSubscriptions); ok && subscribed.IsSubscribedToResource(poem) {
			if err := s.SendNotificationToSpecificClient(session.SessionID(), updated, map[string]any{"uri": poem}); err != nil {
				return err
			}
		}
	}
	return nil
}

// person answers a server's requests as a user would.
type person struct{}

func (person) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ugg"}}}, nil
}

func (person) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("grunt")}, Model: "stone"}, nil
}

func (person) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///cave"}}}, nil
}

// dial connects an mcp-go client, which speaks the given era, to the gateway g. The returned channel receives the client's
// notifications.
func dial(t *testing.T, g *gateway.Gateway, era string) (*client.Client, <-chan mcp.JSONRPCNotification) {
	t.Helper()
	options := []client.ClientOption{client.WithElicitationHandler(person{}), client.WithSamplingHandler(person{}), client.WithRootsHandler(person{})}
	if era == "legacy" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	c := client.NewClient(mcpgo.Transport(g), options...)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	seen := make(chan mcp.JSONRPCNotification, 100)
	c.OnNotification(func(n mcp.JSONRPCNotification) { seen <- n })
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(within(t), request); err != nil {
		t.Fatal(err)
	}
	if modern := mcp.IsModernProtocol(c.ProtocolVersion()); modern != (era == "modern") {
		t.Fatalf("the client speaks %s", c.ProtocolVersion())
	}
	return c, seen
}

func call(tool string, arguments map[string]any) mcp.CallToolRequest {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	return r
}

// await returns the next notification of the method.
func await(t *testing.T, seen <-chan mcp.JSONRPCNotification, method string) mcp.JSONRPCNotification {
	t.Helper()
	late := time.After(soon)
	for {
		select {
		case n := <-seen:
			if n.Method == method {
				return n
			}
		case <-late:
			t.Fatalf("no %s", method)
		}
	}
}

// An mcp-go client uses an mcp-go server through the gateway, in all combinations of eras.
func TestFeatures(t *testing.T) {
	for _, from := range eras {
		for _, to := range eras {
			t.Run(from+" to "+to, func(t *testing.T) {
				g := start(t, watch(full()), to)
				c, seen := dial(t, g, from)
				t.Run("items", func(t *testing.T) { items(t, c) })
				t.Run("progress and log", func(t *testing.T) { progress(t, c, seen) })
				t.Run("ask", func(t *testing.T) { asks(t, c) })
				t.Run("subscribe", func(t *testing.T) { subscribe(t, c, seen) })
			})
		}
	}
}

func items(t *testing.T, c *client.Client) {
	ctx := within(t)
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool mcp.Tool) bool { return tool.Name == "one_echo" }) {
		t.Errorf("tools: %v, %v", tools, err)
	}
	result, err := c.CallTool(ctx, call("one_echo", map[string]any{"text": "hi"}))
	if err != nil || textOf(result) != "hi" {
		t.Errorf("call: %v, %v", result, err)
	}
	resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != poemSeen {
		t.Errorf("resources: %+v, %v", resources, err)
	}
	templates, err := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("templates: %+v, %v", templates, err)
	}
	for uri, want := range map[string]string{poemSeen: "roses", "resource://one/line://7": "line of line://7"} {
		var r mcp.ReadResourceRequest
		r.Params.URI = uri
		contents, err := c.ReadResource(ctx, r)
		if err != nil || len(contents.Contents) != 1 || contents.Contents[0].(mcp.TextResourceContents).Text != want {
			t.Errorf("read %s: %+v, %v", uri, contents, err)
		}
	}
	var get mcp.GetPromptRequest
	get.Params.Name, get.Params.Arguments = "one_greet", map[string]string{"name": "Ugg"}
	prompt, err := c.GetPrompt(ctx, get)
	if err != nil || len(prompt.Messages) != 1 || prompt.Messages[0].Content.(mcp.TextContent).Text != "hello Ugg" {
		t.Errorf("prompt: %+v, %v", prompt, err)
	}
	var complete mcp.CompleteRequest
	complete.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "one_greet"}
	complete.Params.Argument = mcp.CompleteArgument{Name: "name", Value: "U"}
	completed, err := c.Complete(ctx, complete)
	if err != nil || !slices.Equal(completed.Completion.Values, []string{"Ugg"}) {
		t.Errorf("completion: %+v, %v", completed, err)
	}
}

func textOf(r *mcp.CallToolResult) string {
	if len(r.Content) != 1 {
		return fmt.Sprint(r.Content)
	}
	content, _ := r.Content[0].(mcp.TextContent)
	return content.Text
}

// progress checks that all progress and log messages arrive before the result.
func progress(t *testing.T, c *client.Client, seen <-chan mcp.JSONRPCNotification) {
	ctx := within(t)
	var level mcp.SetLevelRequest
	level.Params.Level = mcp.LoggingLevelError
	if err := c.SetLevel(ctx, level); err != nil {
		t.Fatal(err)
	}
	r := call("one_steps", nil)
	r.Params.Meta = &mcp.Meta{ProgressToken: "token"}
	result, err := c.CallTool(ctx, r)
	if err != nil || textOf(result) != "stepped" {
		t.Fatalf("one_steps: got %v, %v, want stepped", result, err)
	}
	var got []string
	for range len(seen) {
		n := <-seen
		got = append(got, n.Method)
	}
	for _, method := range []string{"notifications/progress", "notifications/message"} {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(m string) bool { return m != method })); n != 3 {
			t.Errorf("%d times %s before the result: %v", n, method, got)
		}
	}
}

func asks(t *testing.T, c *client.Client) {
	result, err := c.CallTool(within(t), call("one_ask", map[string]any{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Ugg", "grunt", "file:///cave"} {
		if text := textOf(result); !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

func subscribe(t *testing.T, c *client.Client, seen <-chan mcp.JSONRPCNotification) {
	ctx := within(t)
	var r mcp.SubscribeRequest
	r.Params.URI = poemSeen
	if err := c.Subscribe(ctx, r); err != nil {
		t.Fatal(err)
	}
	if mcp.IsModernProtocol(c.ProtocolVersion()) {
		filter := mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{poemSeen}}
		listening, stop := context.WithCancel(ctx)
		defer stop()
		go func() { _ = c.Listen(listening, filter) }()
		await(t, seen, "notifications/subscriptions/acknowledged")
	}
	for {
		if _, err := c.CallTool(ctx, call("one_touch", nil)); err != nil {
			t.Fatal(err)
		}
		select {
		case n := <-seen:
			if n.Method != updated {
				continue
			}
			if uri := n.Params.AdditionalFields["uri"]; uri != poemSeen {
				t.Errorf("updated: %v", uri)
			}
		case <-time.After(50 * time.Millisecond): // a modern server may acknowledge the gateway's stream after Subscribe has returned
			continue
		case <-ctx.Done():
			t.Fatal("no update")
		}
		break
	}
	if _, err := c.CallTool(ctx, call("one_grow", nil)); err != nil {
		t.Fatal(err)
	}
	await(t, seen, toolsList)
	if result, err := c.CallTool(ctx, call("one_fresh", map[string]any{"text": "new"})); err != nil || textOf(result) != "new" {
		t.Errorf("the new tool: %v, %v", result, err)
	}
	if mcp.IsModernProtocol(c.ProtocolVersion()) {
		return // tools of a session are a feature of versions with sessions
	}
	if _, err := c.CallTool(ctx, call("one_session", nil)); err != nil {
		t.Fatal(err)
	}
	await(t, seen, toolsList)
	if result, err := c.CallTool(ctx, call("one_private", map[string]any{"text": "mine"})); err != nil || textOf(result) != "mine" {
		t.Errorf("the session's tool: %v, %v", result, err)
	}
}
