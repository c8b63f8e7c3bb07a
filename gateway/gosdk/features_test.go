package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/gosdk"
)

const (
	poem     = "poem://one"
	poemSeen = "resource://one/poem://one" // as clients see it
)

// full returns a server that uses the features of the SDK. Calls of "hang" report their cancellation on the channel
// canceled.
func full(canceled chan<- struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "gg"}}}, nil
		},
	})
	add := func(name string, h func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			result, err := h(ctx, r, in)
			return result, nil, err
		})
	}
	add("echo", func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, error) {
		return said(in.Text), nil
	})
	add("panic", func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, error) { panic("boom") })
	add("hang", func(ctx context.Context, _ *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		canceled <- struct{}{}
		return said("after cancel"), nil
	})
	add("steps", func(ctx context.Context, r *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, error) {
		for i := 1; i <= 3; i++ {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3}); err != nil {
				return nil, err
			}
		}
		return said("stepped"), nil
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, err
		}
		return said(fmt.Sprint(answer.Content["name"])), nil
	})
	add("touch", func(ctx context.Context, _ *mcp.CallToolRequest, _ text) (*mcp.CallToolResult, error) {
		return said("touched"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: poem})
	})
	add("grow", func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, error) {
		add("fresh", func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, error) {
			return said(in.Text), nil
		})
		return said("grown"), nil
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: poem, Name: "poem"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "line://{n}", Name: "line"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello " + r.Params.Arguments["name"]}}}}, nil
	})
	return s
}

// seen records the notifications that a client received.
type seen struct{ progress, tools, updates chan string }

// dial connects a client of the SDK, which speaks the given era, to the gateway g.
func dial(t *testing.T, g *gateway.Gateway, era string) (*mcp.ClientSession, seen) {
	t.Helper()
	s := seen{make(chan string, 100), make(chan string, 100), make(chan string, 100)}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ugg"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.progress <- fmt.Sprint(r.Params.Progress)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.tools <- "changed" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { s.updates <- r.Params.URI },
	})
	version := "2026-07-28"
	if era == "legacy" {
		version = "2025-11-25"
	}
	session, err := c.Connect(within(t), gosdk.Transport(g), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the client speaks %s", got)
	}
	return session, s
}

func call(name string, arguments any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: name, Arguments: arguments}
}

func textOf(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) != 1 {
		return ""
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// A client of the SDK uses a server of the SDK through the gateway, in all combinations of eras. A handler that panics or
// answers after its call was canceled fails only its own call.
func TestFeatures(t *testing.T) {
	for _, from := range eras {
		for _, to := range eras {
			t.Run(from+" to "+to, func(t *testing.T) {
				canceled := make(chan struct{}, 1)
				g := start(t, full(canceled), to)
				c, s := dial(t, g, from)
				t.Run("items", func(t *testing.T) { items(t, c) })
				t.Run("calls", func(t *testing.T) { calls(t, c, s, canceled, to) })
				t.Run("changes", func(t *testing.T) { changes(t, c, s) })
			})
		}
	}
}

func items(t *testing.T, c *mcp.ClientSession) {
	ctx := within(t)
	tools, err := c.ListTools(ctx, nil)
	if err != nil || !slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "one_echo" }) {
		t.Errorf("tools: %v, %v", tools, err)
	}
	for uri, want := range map[string]string{poemSeen: "text of " + poem, "resource://one/line://7": "text of line://7"} {
		contents, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(contents.Contents) != 1 || contents.Contents[0].Text != want {
			t.Errorf("read %s: %+v, %v", uri, contents, err)
		}
	}
	prompt, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "one_greet", Arguments: map[string]string{"name": "Ugg"}})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "hello Ugg" {
		t.Errorf("prompt: %+v, %v", prompt, err)
	}
	completed, err := c.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "one_greet"}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "U"}})
	if err != nil || !slices.Equal(completed.Completion.Values, []string{"Ugg"}) {
		t.Errorf("completion: %+v, %v", completed, err)
	}
}

func calls(t *testing.T, c *mcp.ClientSession, s seen, canceled <-chan struct{}, era string) {
	ctx := within(t)
	steps := call("one_steps", nil)
	steps.SetProgressToken("token")
	if result, err := c.CallTool(ctx, steps); err != nil || textOf(result) != "stepped" {
		t.Errorf("steps: %v, %v", result, err)
	}
	for _, want := range []string{"1", "2", "3"} {
		select {
		case got := <-s.progress:
			if got != want {
				t.Errorf("progress %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatal("no progress")
		}
	}
	if era == "legacy" { // the SDK refuses Elicit in the other era
		if result, err := c.CallTool(ctx, call("one_ask", nil)); err != nil || textOf(result) != "Ugg" {
			t.Errorf("ask: %v, %v", result, err)
		}
	}
	if result, err := c.CallTool(ctx, call("one_panic", nil)); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("panic: %v, %v", result, err)
	}
	calling, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(calling, call("one_hang", nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hang: %v", err)
	}
	select {
	case <-canceled:
	case <-ctx.Done():
		t.Error("the handler's context did not end")
	}
	if result, err := c.CallTool(ctx, call("one_echo", text{"well"})); err != nil || textOf(result) != "well" {
		t.Errorf("afterwards: %v, %v", result, err)
	}
}

func changes(t *testing.T, c *mcp.ClientSession, s seen) {
	ctx := within(t)
	if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: poemSeen}); err != nil {
		t.Fatal(err)
	}
	for updated := false; !updated; {
		if _, err := c.CallTool(ctx, call("one_touch", nil)); err != nil {
			t.Fatal(err)
		}
		select {
		case uri := <-s.updates:
			if updated = true; uri != poemSeen {
				t.Errorf("updated: %s", uri)
			}
		case <-ctx.Done():
			t.Fatal("no update")
		case <-time.After(50 * time.Millisecond): // the server may acknowledge the stream after Subscribe has returned
		}
	}
	if _, err := c.CallTool(ctx, call("one_grow", nil)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.tools:
	case <-ctx.Done():
		t.Fatal("no list_changed")
	}
	if result, err := c.CallTool(ctx, call("one_fresh", text{"new"})); err != nil || textOf(result) != "new" {
		t.Errorf("the new tool: %v, %v", result, err)
	}
}
