package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/gateway"
)

// start starts a gateway over these demo servers; it is closed with the test.
func start(t *testing.T, c gateway.Config, demos ...string) *gateway.Gateway {
	t.Helper()
	if c.Servers == nil {
		c.Servers = map[string]gateway.Server{}
	}
	for _, name := range demos {
		c.Servers[name] = demoServer(name)
	}
	g, err := gateway.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

// S2.3.1, S2.3.2: a compact list has name, description and server and nothing else; of one tool there is the whole definition.
func TestLists(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "notes", "clock")
	tools, err := g.ListTools(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Definition != nil || tool.Description == "" || !strings.HasPrefix(tool.Name, tool.Server+"_") {
			t.Errorf("compact: %+v", tool)
		}
	}
	if whole, err := g.ListTools(ctx, false); err != nil || len(whole) != len(tools) || !json.Valid(whole[0].Definition) {
		t.Errorf("%v, %d tools, of which compact %d", err, len(whole), len(tools))
	}
	tool, err := g.GetTool(ctx, "notes_add_note")
	var definition struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Meta        map[string]any  `json:"_meta"`
	}
	if err != nil || json.Unmarshal(tool.Definition, &definition) != nil {
		t.Fatalf("%v, %s", err, tool.Definition)
	}
	if definition.Name != "notes_add_note" || !strings.Contains(string(definition.InputSchema), `"title"`) || definition.Meta["goblin-actor/name"] != "add_note" {
		t.Errorf("the definition is %s", tool.Definition)
	}
	if _, err := g.GetTool(ctx, "notes_nothing"); codeOf(err) != "TOOL_NOT_FOUND" {
		t.Errorf("a tool that is not there: %v", err)
	}
}

// S2.1.1, S2.1.2: what AddServer has added can be called when it returns, and what RemoveServer has removed cannot.
func TestServersComeAndGo(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "notes")
	for range 5 {
		if err := g.AddServer(ctx, "clock", demoServer("clock")); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil {
			t.Fatalf("just added: %v", err)
		}
		if err := g.RemoveServer(ctx, "clock"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(ctx, "clock_now", nil, nil); codeOf(err) != "TOOL_NOT_FOUND" {
			t.Fatalf("just removed: %v", err)
		}
	}
	if err := g.RemoveServer(ctx, "clock"); err == nil {
		t.Error("removed twice")
	}
	if err := g.AddServer(ctx, "notes", demoServer("notes")); err == nil {
		t.Error("added twice")
	}
	if err := g.AddServer(ctx, "No Name!", demoServer("notes")); err == nil || !strings.Contains(err.Error(), "want [a-z0-9]") {
		t.Errorf("a bad name: %v", err)
	}
	if err := g.AddServer(ctx, "nothing", gateway.Server{}); err == nil {
		t.Error("a server that is neither command nor URL")
	}
	err := g.AddServer(ctx, "broken", gateway.Server{Command: "/nowhere/at/all"})
	e, ok := errors.AsType[*gateway.Error](err)
	if !ok || e.Code != "SERVER_UNAVAILABLE" || e.Server != "broken" || !e.Retryable || e.Message == "" {
		t.Errorf("a program that is not there: %#v", err)
	}
	if err := g.RemoveServer(ctx, "broken"); err != nil {
		t.Errorf("the broken one is not there: %v", err)
	}
	if tools, err := g.ListTools(ctx, true); err != nil || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "notes" }) {
		t.Errorf("in the end: %v, %v", tools, err)
	}
}

// Members of a group come and go under its name; a server that is started when it is wanted is there all the same.
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
		t.Error("a server is called like a group")
	}
	if err := g.RemoveServer(ctx, "a"); err != nil || !lists("both_add_note") {
		t.Errorf("one has gone: %v, listed %v", err, lists("both_add_note"))
	}
	if err := g.RemoveServer(ctx, "b"); err != nil || lists("both_add_note") {
		t.Errorf("both have gone: %v, listed %v", err, lists("both_add_note"))
	}
	lazy := demoServer("clock")
	lazy.Settings = map[string]any{"startup": "lazy"}
	if err := g.AddServer(ctx, "clock", lazy); err != nil {
		t.Fatal(err)
	}
	if result, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil || result.IsError {
		t.Errorf("%+v, %v", result, err)
	}
}

// A program may be in a project, as any client; calls with questions of their own are, too.
func TestProject(t *testing.T) {
	c := gateway.Config{YAML: []byte(`{projects: {p: {tools: {deny: ["notes_*"]}}}, metaTools: false}`), Project: "p"}
	ctx, g := within(t), start(t, c, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("%v, %v", tools, err)
	}
	for _, o := range []*gateway.CallOptions{nil, {Questions: &gateway.Questions{}}} {
		if _, err := g.CallTool(ctx, "notes_search_notes", nil, o); codeOf(err) != "TOOL_NOT_FOUND" {
			t.Errorf("a tool outside: %v", err)
		}
	}
	c.Project = "nobody's"
	if _, err := gateway.Start(ctx, c); codeOf(err) != "UNKNOWN_PROJECT" {
		t.Errorf("no such project: %v", err)
	}
}

// A program is whoever is not asked: a policy hides from it what no role permits, and the audit log has its calls. What is about
// listeners counts for nothing.
func TestPolicyAndAudit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	yaml := fmt.Sprintf(`{auth: {keys: none.yaml}, tls: {cert: none, key: none}, metaTools: false, audit: {file: %q},
		policy: {roles: {clock: {servers: [clock]}}, bind: [{role: clock, local: true}]}}`, log)
	ctx, g := within(t), start(t, gateway.Config{YAML: []byte(yaml)}, "clock", "notes")
	tools, err := g.ListTools(ctx, true)
	if err != nil || len(tools) == 0 || slices.ContainsFunc(tools, func(t gateway.Tool) bool { return t.Server != "clock" }) {
		t.Errorf("%v, %v", tools, err)
	}
	if _, err := g.CallTool(ctx, "notes_search_notes", nil, nil); codeOf(err) != "TOOL_NOT_FOUND" {
		t.Errorf("a tool that no role permits: %v", err)
	}
	if _, err := g.CallTool(ctx, "clock_now", nil, nil); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), `"who":"local"`) || !strings.Contains(string(text), `"item":"now"`) {
		t.Errorf("the audit log: %s, %v", text, err)
	}
}

// What a program says is meant to the letter: $ is no variable. Settings are what a file would have.
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

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come", path)
		}
	}
}

// A call whose context ends is cancelled at its server.
func TestCancel(t *testing.T) {
	s := demoServer("shapes")
	s.Env["CANCELLED_FILE"] = filepath.Join(t.TempDir(), "f")
	g := start(t, gateway.Config{Servers: map[string]gateway.Server{"shapes": s}})
	for _, o := range []*gateway.CallOptions{{}, {Questions: &gateway.Questions{}}} {
		_ = os.Remove(s.Env["CANCELLED_FILE"])
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(gateway.Progress) { cancel() }
		if _, err := g.CallTool(ctx, "shapes_hang", nil, o); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waitForFile(t, s.Env["CANCELLED_FILE"])
	}
}

// A tool that ran and failed is a result; arguments that are no JSON are an error at once.
func TestResults(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "shapes", "notes")
	result, err := g.CallTool(ctx, "shapes:fail", nil, nil)
	if err != nil || !result.IsError || !strings.Contains(result.Text(), "it failed") || len(result.Raw) == 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := g.CallTool(ctx, "shapes_fail", func() {}, nil); err == nil {
		t.Error("a function was taken for arguments")
	}
	if _, err := g.CallTool(ctx, "notes_add_note", json.RawMessage(`{"title":"t","text":"x"}`), nil); err != nil {
		t.Error(err)
	}
	contents, err := g.ReadResource(ctx, "resource://notes/note:///t")
	if err != nil || len(contents) != 1 || !strings.Contains(contents[0].Text, "x") {
		t.Errorf("%+v, %v", contents, err)
	}
	_, err = g.ReadResource(ctx, "resource://notes/note:///none")
	if e, ok := errors.AsType[*gateway.Error](err); !ok || e.Number == 0 {
		t.Errorf("a resource that is not there: %v", err)
	}
	if _, err := g.ReadResource(ctx, "nobody://x"); codeOf(err) != "RESOURCE_NOT_FOUND" {
		t.Errorf("nobody's resource: %v", err)
	}
}

// S1.67, S1.68: how large a resource may be is configured: one that is larger is an error, never cut, and its server goes on. By default a MiB is nothing.
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
			t.Errorf("with a limit: %d bytes, %v", n, err)
		}
		if n, err := read(g, "small"); n != 1<<10 || err != nil {
			t.Errorf("a small one behind it: %d bytes, %v", n, err)
		}
	}
}

// S2.4.1: changes are typed; who does not take them in time is told how many are lost; nothing comes after the end.
func TestChanges(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "shapes")
	changes := g.Changes(ctx)
	if _, err := g.CallTool(ctx, "shapes_grow", nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // who ranges twice begins again
		for c := range changes {
			if c.Topic != "tool-changed" || c.Server != "shapes" || !slices.Equal(c.Added, []string{"shapes_fresh"}) || c.Counts.Added != 1 || c.Missed != 0 {
				t.Errorf("%+v", c)
			}
			if _, err := g.CallTool(ctx, "shapes_fresh", nil, nil); err != nil {
				t.Errorf("it is told, and not there: %v", err)
			}
			break
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	for c := range g.Changes(ended) {
		t.Errorf("after the end: %+v", c)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for range g.Changes(t.Context()) {
		}
	})
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
}

// Subscribers hear of updates, each for himself, and no more when they have left.
func TestSubscribe(t *testing.T) {
	ctx, g := within(t), start(t, gateway.Config{}, "clock", "notes")
	const now = "resource://clock/clock://now"
	first, leave := context.WithCancel(ctx)
	a, err := g.Subscribe(first, now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Subscribe(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		<-a
		<-b
	}
	leave()
	for range a { // until it is closed
	}
	<-b
	<-b
	if _, err := g.Subscribe(ctx, "nobody://x"); codeOf(err) != "RESOURCE_NOT_FOUND" {
		t.Errorf("nobody's resource: %v", err)
	}
	again, err := g.Subscribe(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	<-again
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for range b {
	}
	for range again {
	}
	if _, err := g.Subscribe(ctx, now); !errors.Is(err, gateway.ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// The questions of a call go to whom the call names, else to whom the gateway was started with, else they are refused.
func TestQuestions(t *testing.T) {
	answers := func(name string) *gateway.Questions {
		return &gateway.Questions{Elicit: func(context.Context, gateway.Elicitation) (gateway.Answer, error) {
			return gateway.Answer{Action: "accept", Content: map[string]any{"name": name, "topic": "war"}}, nil
		}}
	}
	ctx := within(t)
	for _, tt := range []struct {
		of, call *gateway.Questions
		want     string
	}{
		{answers("Ugg"), nil, "Ugg"},
		{answers("Ugg"), answers("Mog"), "Mog"},
		{nil, answers("Mog"), "Mog"},
		{nil, nil, "elicitation"},
	} {
		g := start(t, gateway.Config{Questions: tt.of}, "oracle")
		result, err := g.CallTool(ctx, "oracle_consult", nil, &gateway.CallOptions{Questions: tt.call})
		text := fmt.Sprint(err)
		if err == nil {
			text = result.Text()
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("got %q, want %q in it", text, tt.want)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	for name, c := range map[string]gateway.Config{
		"no such file":      {File: "nowhere.yaml"},
		"both":              {File: "nowhere.yaml", YAML: []byte("{}")},
		"unknown key":       {YAML: []byte("mcpServer: {}")},
		"there twice":       {YAML: []byte("mcpServers: {a: {command: x}}"), Servers: map[string]gateway.Server{"a": {Command: "y"}}},
		"our own name":      {Servers: map[string]gateway.Server{"goblin": {Command: "y"}}},
		"unknown setting":   {Servers: map[string]gateway.Server{"a": {Command: "y", Settings: map[string]any{"timout": 1}}}},
		"no JSON":           {Servers: map[string]gateway.Server{"a": {Command: "y", Settings: map[string]any{"timeout": func() {}}}}},
		"command and a URL": {Servers: map[string]gateway.Server{"a": {Command: "y", URL: "http://127.0.0.1:1/mcp"}}},
	} {
		if g, err := gateway.Start(t.Context(), c); err == nil {
			t.Errorf("%s: it starts", name)
			_ = g.Close()
		}
	}
}

// Nothing is left behind, whatever is under way; what is under way ends with ErrStopped, and so does what comes later.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"shapes": demoServer("shapes"), "clock": demoServer("clock")}})
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 6 {
		hanging := make(chan struct{})
		o := &gateway.CallOptions{Progress: func(gateway.Progress) { close(hanging) }}
		if i%2 == 0 {
			o.Questions = &gateway.Questions{}
		}
		calls.Go(func() {
			if _, err := g.CallTool(t.Context(), "shapes_hang", nil, o); !errors.Is(err, gateway.ErrStopped) && codeOf(err) != "SHUTTING_DOWN" {
				t.Errorf("under way: %v", err)
			}
		})
		<-hanging
	}
	if _, err := g.Subscribe(t.Context(), "resource://clock/clock://now"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	calls.Wait()
	for name, err := range map[string]error{
		"call": func() error { _, err := g.CallTool(t.Context(), "shapes_fail", nil, nil); return err }(),
		"own": func() error {
			_, err := g.CallTool(t.Context(), "shapes_fail", nil, &gateway.CallOptions{Questions: &gateway.Questions{}})
			return err
		}(),
		"list":   func() error { _, err := g.ListTools(t.Context(), true); return err }(),
		"add":    g.AddServer(t.Context(), "x", demoServer("notes")),
		"remove": g.RemoveServer(t.Context(), "shapes"),
	} {
		if !errors.Is(err, gateway.ErrStopped) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// A start that nobody waits for leaves nothing either.
func TestStartIsGivenUp(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{"slow": {Command: "sleep", Args: []string{"60"}}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

// Calls that run may finish while it stops.
func TestStopDrains(t *testing.T) {
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"clock": demoServer("clock")}})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	var call sync.WaitGroup
	call.Go(func() {
		begun := sync.OnceFunc(func() { close(running) })
		result, err := g.CallTool(t.Context(), "clock_wait", map[string]any{"seconds": 1}, &gateway.CallOptions{Progress: func(gateway.Progress) { begun() }})
		if err != nil || result.IsError {
			t.Errorf("%+v, %v", result, err)
		}
	})
	<-running
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	call.Wait()
}
