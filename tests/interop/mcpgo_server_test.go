package interop

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

//lint:file-ignore SA1019 HTTP+SSE is deprecated, but still supported

// beMCPGo is the environment variable that makes the test binary an mcp-go server on stdio.
const beMCPGo = "INTEROP_MCP_GO_SERVER"

const watchedURI = "test://watched"

// mcpGoServer returns an mcp-go server for all conversations of TestMatrix, in both eras.
func mcpGoServer() *server.MCPServer {
	var sessions sync.Map // session id → server.SessionWithResourceSubscriptions
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { sessions.Store(session.SessionID(), session) })
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { sessions.Delete(session.SessionID()) })
	s := server.NewMCPServer("mcp-go", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithLogging(), server.WithElicitation(), server.WithRoots(), server.WithCompletions(), server.WithHooks(hooks),
		server.WithPromptCompletionProvider(mcpGoCompletions{}))
	s.EnableSampling()
	tool := func(name string, handle server.ToolHandlerFunc) { s.AddTool(mcp.NewTool(name), handle) }
	tool("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Echo: " + r.GetString("message", "")), nil
	})
	tool("progress", steps(s, 3, 50*time.Millisecond))
	tool("slow", steps(s, 30, 100*time.Millisecond))
	tool("ask_user", asks((&server.InputRequestBuilder{}).Elicit("answer", mcp.ElicitationParams{Message: "Who are you?",
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}}),
		func(r mcp.InputResponses) string {
			if a := server.ElicitationResponse(r, "answer"); a != nil {
				return fmt.Sprintf("Hello, %v", a.Content)
			}
			return ""
		}))
	tool("ask_model", asks((&server.InputRequestBuilder{}).Sample("answer", mcp.CreateMessageParams{MaxTokens: 10,
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Guess!")}}}),
		func(r mcp.InputResponses) string {
			if a := server.SamplingResponse(r, "answer"); a != nil {
				return fmt.Sprintf("The model says %v", a.Content)
			}
			return ""
		}))
	tool("ask_roots", asks((&server.InputRequestBuilder{}).Roots("answer"), func(r mcp.InputResponses) string {
		if a := server.RootsResponse(r, "answer"); a != nil {
			return fmt.Sprintf("Roots: %v", a.Roots)
		}
		return ""
	}))
	tool("log", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelWarning, "", "look out"))
		time.Sleep(50 * time.Millisecond) // mcp-go writes notifications and results concurrently, so a call's last notification may arrive after its result
		return mcp.NewToolResultText("logged"), err
	})
	tool("touch", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		sessions.Range(func(id, session any) bool {
			if subscribed, ok := session.(server.SessionWithResourceSubscriptions); !ok || subscribed.IsSubscribedToResource(watchedURI) {
				_ = s.SendNotificationToSpecificClient(id.(string), "notifications/resources/updated", map[string]any{"uri": watchedURI})
			}
			return true
		})
		return mcp.NewToolResultText("touched"), nil
	})
	tool("change", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tool(r.GetString("name", ""), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("more"), nil
		})
		return mcp.NewToolResultText("changed"), nil
	})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("style")), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Greet me: "+r.Params.Arguments["style"]))}), nil
	})
	read := func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "as ever"}}, nil
	}
	s.AddResource(mcp.NewResource("test://static", "static"), read)
	s.AddResource(mcp.NewResource(watchedURI, "watched"), read)
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://page/{number}", "page"), read)
	return s
}

// steps returns a tool that reports progress n times.
func steps(s *server.MCPServer, n int, pause time.Duration) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for i := range n {
			if meta := r.Params.Meta; meta != nil && meta.ProgressToken != nil {
				_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
					"progressToken": meta.ProgressToken, "progress": i + 1, "total": n})
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return mcp.NewToolResultText(fmt.Sprintf("%d steps", n)), nil
	}
}

// asks returns a tool that requests input until read finds the answer in the input responses.
func asks(question *server.InputRequestBuilder, read func(mcp.InputResponses) string) server.ToolHandlerFunc {
	return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said := read(r.Params.InputResponses); said != "" {
			return mcp.NewToolResultText(said), nil
		}
		return question.ToolResult(), nil
	}
}

type mcpGoCompletions struct{}

func (mcpGoCompletions) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: slices.DeleteFunc([]string{"brief", "bold"}, func(v string) bool { return !strings.HasPrefix(v, a.Value) })}, nil
}

// serveMCPGo serves on stdio until stdin ends.
func serveMCPGo() int {
	if err := server.ServeStdio(mcpGoServer()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func mcpGoHTTP(t *testing.T, versions ...string) string {
	h := httptest.NewServer(server.NewStreamableHTTPServer(mcpGoServer(), server.WithStateful(true), server.WithStreamableHTTPProtocolVersions(versions...)))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL + "/mcp"
}

func mcpGoSSE(t *testing.T) string {
	h := httptest.NewServer(server.NewSSEServer(mcpGoServer(), server.WithUseFullURLForMessageEndpoint(false)))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL + "/sse"
}
