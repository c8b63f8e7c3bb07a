package gateway_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/gateway"
)

// S2.1.1, S2.1.2: a server's tools can be called once AddServer has returned, and no longer once RemoveServer has
// returned.
func TestServersComeAndGo(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "notes")
	for range 5 {
		if err := g.AddServer(ctx, "clock", demoServer("clock")); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil {
			t.Fatalf("call after AddServer: %v", err)
		}
		if err := g.RemoveServer(ctx, "clock"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(ctx, "clock_now", nil, nil); codeOf(err) != "TOOL_NOT_FOUND" {
			t.Fatalf("call after RemoveServer: %v", err)
		}
	}
	if err := g.RemoveServer(ctx, "clock"); err == nil {
		t.Error("removed the same server twice")
	}
	if err := g.AddServer(ctx, "notes", demoServer("notes")); err == nil {
		t.Error("added the same server twice")
	}
	if err := g.AddServer(ctx, "No Name!", demoServer("notes")); err == nil || !strings.Contains(err.Error(), "must match [a-z0-9]") {
		t.Errorf("add an invalid name: %v", err)
	}
	if err := g.AddServer(ctx, "nothing", gateway.Server{}); err == nil {
		t.Error("added a server with neither command nor URL")
	}
	err := g.AddServer(ctx, "broken", gateway.Server{Command: "/nowhere/at/all"})
	e, ok := errors.AsType[*gateway.Error](err)
	if !ok || e.Code != "SERVER_UNAVAILABLE" || e.Server != "broken" || !e.Retryable || e.Message == "" {
		t.Errorf("add a program that does not exist: %#v", err)
	}
	if err := g.RemoveServer(ctx, "broken"); err != nil {
		t.Errorf("remove the failed server: %v", err)
	}
	if tools, err := g.ListTools(ctx, true); err != nil || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "notes" }) {
		t.Errorf("tools in the end: %v, %v, want only those of notes", tools, err)
	}
}

// Members of a group are added and removed one by one under the group's name. AddServer also returns for a server that
// starts on demand.
func TestGroupsAndLazyServers(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{})
	member := demoServer("notes")
	member.Settings = map[string]any{"group": "both"}
	for _, name := range []string{"a", "b"} {
		if err := g.AddServer(ctx, name, member); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(tool string) bool {
		_, err := g.GetTool(ctx, tool)
		return err == nil
	}
	if err := g.AddServer(ctx, "both", demoServer("clock")); err == nil {
		t.Error("added a server with the name of a group")
	}
	if err := g.RemoveServer(ctx, "a"); err != nil || !lists("both_add_note") {
		t.Errorf("after the first member was removed: %v, listed %v", err, lists("both_add_note"))
	}
	if err := g.RemoveServer(ctx, "b"); err != nil || lists("both_add_note") {
		t.Errorf("after both were removed: %v, listed %v", err, lists("both_add_note"))
	}
	lazy := demoServer("clock")
	lazy.Settings = map[string]any{"startup": "lazy"}
	if err := g.AddServer(ctx, "clock", lazy); err != nil {
		t.Fatal(err)
	}
	if result, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil || result.IsError {
		t.Errorf("call of a lazy server: %+v, %v", result, err)
	}
}

// Strings of a Server are literal: $ does not begin a variable. Settings have the same meaning as in a file.
func TestServerIsTakenLiterally(t *testing.T) {
	s := demoServer("shapes")
	dir := filepath.Join(t.TempDir(), "$HOME ${PATH} $$")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Env["CANCELLED_FILE"], s.Dir, s.Settings = filepath.Join(dir, "f"), dir, map[string]any{"timeout": "1s", "prefix": "s"}
	ctx, g := within(t), start(t, gateway.Config{Servers: map[string]gateway.Server{"shapes": s}})
	if _, err := g.CallTool(ctx, "s_hang", nil, nil); codeOf(err) != "TIMEOUT" {
		t.Fatalf("hang: %v", err)
	}
	waitForFile(t, s.Env["CANCELLED_FILE"])
}

// The secrets of servers that the program adds are in no error and no log line.
func TestSecretsOfAddedServersAreHidden(t *testing.T) {
	const planted = "planted-5f2c81d9e7a04b"
	failing := gateway.Server{Command: "sh", Args: []string{"-c", `echo "error: the key $API_KEY is invalid" >&2; exit 1`}, Env: map[string]string{"API_KEY": planted}}
	var lines bytes.Buffer
	ctx, g := within(t), start(t, gateway.Config{
		Log:     slog.New(slog.NewTextHandler(&locked{w: &lines}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Servers: map[string]gateway.Server{"first": failing},
	})
	for range 2 {
		err := g.AddServer(ctx, "second", failing)
		if err == nil || !strings.Contains(err.Error(), "the key") || strings.Contains(err.Error(), planted) {
			t.Errorf("add a failing server: %v, want its last line without the secret", err)
		}
		if err := g.RemoveServer(ctx, "second"); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if text := lines.String(); strings.Contains(text, planted) || !strings.Contains(text, "the key") {
		t.Errorf("the log has the secret or not the line:\n%s", text)
	}
}
