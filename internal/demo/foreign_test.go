package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer is the environment variable that makes the test binary a demo server on stdio: its value is the server's
// name, optionally with a version.
const asServer = "GOBLIN_TEST_DEMO"

func TestMain(m *testing.M) {
	name, version, _ := strings.Cut(os.Getenv(asServer), " ")
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := Named(name)
	if err == nil {
		s.Protocol = version
		err = ServeStdio(context.Background(), s, os.Stdin, os.Stdout, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func process(t *testing.T, server string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+server)
	cmd.Stderr = t.Output()
	return cmd
}

// heard records a client's notifications.
type heard struct {
	updated  chan string
	changed  chan bool
	progress chan float64
}

func newHeard() *heard {
	return &heard{make(chan string, 100), make(chan bool, 100), make(chan float64, 100)}
}

func (h *heard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.updated <- r.Params.URI },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { h.changed <- true },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { h.progress <- r.Params.Progress },
	}
}

func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: timeout", what)
		panic("unreachable")
	}
}

// The official Go client uses all features of the notebook, over each transport and in each version.
func TestGoSDKNotes(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		goSDKNotes(t, func() mcp.Transport { return &mcp.CommandTransport{Command: process(t, "notes")} }, "2026-07-28")
	})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			goSDKNotes(t, func() mcp.Transport { return &mcp.CommandTransport{Command: process(t, "notes "+version)} }, version)
		})
	}
	for forced, version := range map[string]string{"": "2026-07-28", "2025-11-25": "2025-11-25"} {
		t.Run("http/"+version, func(t *testing.T) {
			s := NewNotes()
			s.Protocol = forced
			url := overHTTP(t, s)
			goSDKNotes(t, func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1} }, version)
		})
	}
	t.Run("sse", func(t *testing.T) {
		url := strings.TrimSuffix(overHTTP(t, NewNotes()), "mcp") + "sse"
		goSDKNotes(t, func() mcp.Transport { return &mcp.SSEClientTransport{Endpoint: url} }, "2025-11-25")
	})
}

func overHTTP(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ServeHTTP(ctx, s, l, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	t.Cleanup(func() {
		stop()
		if err := await(t, "the end of the server", done); err != nil {
			t.Errorf("ServeHTTP = %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp"
}

func goSDKNotes(t *testing.T, transport func() mcp.Transport, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := newHeard()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, h.options()).Connect(ctx, transport(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("version %s, want %s", got, version)
	}
	tools, err := c.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Fatalf("ListTools = %v, %v, want 4", tools, err)
	}
	result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "add_note", Arguments: map[string]any{"title": "Über alles", "text": "x"}})
	if err != nil || result.IsError {
		t.Fatalf("add_note = %v, %v", result, err)
	}
	await(t, "list_changed", h.changed)
	if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "note:///welcome"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "edit_note", Arguments: map[string]any{"slug": "welcome", "text": "new"}}); err != nil {
		t.Fatal(err)
	}
	if uri := await(t, "updated", h.updated); uri != "note:///welcome" {
		t.Errorf("updated %s", uri)
	}
	text, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "note:///welcome"})
	if err != nil || text.Contents[0].Text != "# Welcome\n\nnew\n" {
		t.Errorf("read = %v, %v", text, err)
	}
	prompt, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "summarize_notes", Arguments: map[string]string{"style": "brief"}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("prompt = %v, %v", prompt, err)
	}
	done, err := c.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "note:///{slug}"}, Argument: mcp.CompleteParamsArgument{Name: "slug", Value: "gro"},
	})
	if version >= "2025-03-26" && (err != nil || len(done.Completion.Values) != 1) {
		t.Errorf("complete = %v, %v", done, err)
	}
}

// A slow call reports progress, and is canceled with its context. The session stays usable: it lists tools and receives
// updates.
func TestGoSDKWait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, transport := range map[string]mcp.Transport{
		"stdio": &mcp.CommandTransport{Command: process(t, "clock")},
		"http":  &mcp.StreamableClientTransport{Endpoint: overHTTP(t, NewClock()), MaxRetries: -1},
		"sse":   &mcp.SSEClientTransport{Endpoint: strings.TrimSuffix(overHTTP(t, NewClock()), "mcp") + "sse"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeard()
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, h.options()).Connect(ctx, transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 0.3, "steps": 3}}
			params.SetProgressToken("t")
			if r, err := c.CallTool(ctx, params); err != nil || r.IsError {
				t.Fatalf("wait = %v, %v", r, err)
			}
			if got := await(t, "progress", h.progress); got < 1 || got > 3 {
				t.Errorf("progress %v", got)
			}
			short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
			defer stop()
			if _, err := c.CallTool(short, &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 60}}); err == nil {
				t.Error("a canceled call was answered")
			}
			if _, err := c.ListTools(ctx, nil); err != nil {
				t.Errorf("tools/list after a canceled call: %v", err)
			}
			if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: clockURI}); err != nil {
				t.Fatal(err)
			}
			await(t, "a tick", h.updated)
		})
	}
}

func TestMCPGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := mcpgo.NewStdioMCPClient(os.Args[0], append(os.Environ(), asServer+"=notes"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil { // the process already runs; Start enables notifications
		t.Fatal(err)
	}
	updated := make(chan string, 10)
	c.OnNotification(func(n mcpgotypes.JSONRPCNotification) {
		if n.Method == "notifications/resources/updated" {
			updated <- fmt.Sprint(n.Params.AdditionalFields["uri"])
		}
	})
	var hello mcpgotypes.InitializeRequest
	hello.Params.ProtocolVersion = "2025-06-18"
	hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "test", Version: "1"}
	if r, err := c.Initialize(ctx, hello); err != nil || r.ServerInfo.Name != "notes" {
		t.Fatalf("initialize = %v, %v", r, err)
	}
	if tools, err := c.ListTools(ctx, mcpgotypes.ListToolsRequest{}); err != nil || len(tools.Tools) != 4 {
		t.Errorf("tools = %v, %v", tools, err)
	}
	//lint:ignore SA1019 this tests the legacy method
	if err := c.Subscribe(ctx, mcpgotypes.SubscribeRequest{Params: mcpgotypes.SubscribeParams{URI: "note:///groceries"}}); err != nil {
		t.Fatal(err)
	}
	var call mcpgotypes.CallToolRequest
	call.Params.Name, call.Params.Arguments = "edit_note", map[string]any{"slug": "groceries", "text": "- a rope"}
	if r, err := c.CallTool(ctx, call); err != nil || r.IsError {
		t.Fatalf("edit_note = %v, %v", r, err)
	}
	if uri := await(t, "updated", updated); uri != "note:///groceries" {
		t.Errorf("updated %s", uri)
	}
	var read mcpgotypes.ReadResourceRequest
	read.Params.URI = "note:///groceries"
	if r, err := c.ReadResource(ctx, read); err != nil || len(r.Contents) != 1 {
		t.Errorf("read = %v, %v", r, err)
	}
}
