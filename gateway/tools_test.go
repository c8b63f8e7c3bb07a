package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/gateway"
)

// S2.3.1, S2.3.2: a compact list has only names, descriptions and servers; GetTool returns the whole definition.
func TestLists(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "notes", "clock")
	tools, err := g.ListTools(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Definition != nil || tool.Description == "" || !strings.HasPrefix(tool.Name, tool.Server+"_") {
			t.Errorf("tool in a compact list: %+v", tool)
		}
	}
	if whole, err := g.ListTools(ctx, false); err != nil || len(whole) != len(tools) || !json.Valid(whole[0].Definition) {
		t.Errorf("the whole list: %v, %d tools, want the %d of the compact list with their definitions", err, len(whole), len(tools))
	}
	tool, err := g.GetTool(ctx, "notes_add_note")
	var definition struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Meta        map[string]any  `json:"_meta"`
	}
	if err != nil || json.Unmarshal(tool.Definition, &definition) != nil {
		t.Fatalf("get notes_add_note: %v, definition %s", err, tool.Definition)
	}
	if definition.Name != "notes_add_note" || !strings.Contains(string(definition.InputSchema), `"title"`) || definition.Meta["goblin-actor/name"] != "add_note" {
		t.Errorf("the definition is %s", tool.Definition)
	}
	if _, err := g.GetTool(ctx, "notes_nothing"); codeOf(err) != "TOOL_NOT_FOUND" {
		t.Errorf("get an unknown tool: %v", err)
	}
}

// If the context of a call ends, the call is canceled at its server.
func TestCancel(t *testing.T) {
	s := demoServer("shapes")
	s.Env["CANCELLED_FILE"] = filepath.Join(t.TempDir(), "f")
	g := start(t, gateway.Config{Servers: map[string]gateway.Server{"shapes": s}})
	for _, o := range []*gateway.CallOptions{{}, {Questions: &gateway.Questions{}}} {
		_ = os.Remove(s.Env["CANCELLED_FILE"])
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(gateway.Progress) { cancel() }
		if _, err := g.CallTool(ctx, "shapes_hang", nil, o); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled call: got %v, want Canceled", err)
		}
		waitForFile(t, s.Env["CANCELLED_FILE"])
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("file %s did not appear", path)
		}
	}
}

// If a tool ran and failed, CallTool returns a result. Arguments that cannot be encoded as JSON are an error.
func TestResults(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "shapes", "notes")
	result, err := g.CallTool(ctx, "shapes:fail", nil, nil)
	if err != nil || !result.IsError || !strings.Contains(result.Text(), "it failed") || len(result.Raw) == 0 {
		t.Errorf("a tool that fails: got %+v, %v, want a result with isError", result, err)
	}
	if _, err := g.CallTool(ctx, "shapes_fail", func() {}, nil); err == nil {
		t.Error("a function was accepted as arguments")
	}
	if _, err := g.CallTool(ctx, "notes_add_note", json.RawMessage(`{"title":"t","text":"x"}`), nil); err != nil {
		t.Error(err)
	}
	contents, err := g.ReadResource(ctx, "resource://notes/note:///t")
	if err != nil || len(contents) != 1 || !strings.Contains(contents[0].Text, "x") {
		t.Errorf("read the added note: %+v, %v", contents, err)
	}
	_, err = g.ReadResource(ctx, "resource://notes/note:///none")
	if e, ok := errors.AsType[*gateway.Error](err); !ok || e.Number == 0 {
		t.Errorf("read an unknown resource: %v", err)
	}
	if _, err := g.ReadResource(ctx, "absent://x"); codeOf(err) != "RESOURCE_NOT_FOUND" {
		t.Errorf("read a resource that no server has: %v", err)
	}
}

// S1.67, S1.68: a resource larger than the configured limit is an error and is never truncated, and its server keeps
// working. A resource of 1 MiB is within the default limit.
func TestSizeLimit(t *testing.T) {
	ctx := within(t)
	read := func(g *gateway.Gateway, name string) (int, error) {
		contents, err := g.ReadResource(ctx, "resource://shapes/shape:///"+name)
		if err != nil {
			return 0, err
		}
		return len(contents[0].Text), nil
	}
	g := start(t, gateway.Config{}, "shapes")
	if n, err := read(g, "large"); n != 1<<20 || err != nil {
		t.Errorf("by default: %d bytes, %v", n, err)
	}
	g = start(t, gateway.Config{YAML: []byte("{limits: {maxMessageBytes: 64KiB}, metaTools: false}")}, "shapes")
	for range 2 {
		n, err := read(g, "large")
		if _, ok := errors.AsType[*gateway.Error](err); !ok || n != 0 {
			t.Errorf("large resource with a limit: %d bytes, %v", n, err)
		}
		if n, err := read(g, "small"); n != 1<<10 || err != nil {
			t.Errorf("small resource after the large one: %d bytes, %v", n, err)
		}
	}
}
