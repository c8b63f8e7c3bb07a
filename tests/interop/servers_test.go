package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

// snapshot fetches the gateway's status from its admin socket.
func snapshot(t *testing.T, g *gateway) *status.Snapshot {
	t.Helper()
	s, err := gatetest.Snapshot(t.Context(), g.dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func noneInFlight(t *testing.T, g *gateway) (bool, string) {
	t.Helper()
	busy := ""
	for _, dir := range g.dirs {
		snap, err := gatetest.Snapshot(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snap.Servers {
			if s.InFlight+s.Queued > 0 {
				busy += s.Name + " "
			}
		}
	}
	return busy == "", "busy: " + busy
}

// TestDesktopFile uses a desktop client's file unchanged. The gateway offers the tools of three servers (everything,
// filesystem and memory) at one endpoint; calls take effect and are counted. S0.10.1 S3.1.1 S4.1.2
func TestDesktopFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := npmServer(t, "server-memory")
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}
	runtime := gatetest.ShortDir(t)
	g := serveFile(t, runtime, writeAsIs(t, runtime, map[string]any{
		"everything": npmServer(t, "server-everything"),
		"filesystem": npmServer(t, "server-filesystem", dir),
		"memory":     memory,
	}))
	p, err := goSDKOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	tools, err := p.list(t.Context(), "tools")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"everything_echo", "filesystem_read_text_file", "memory_create_entities"} {
		if !slices.Contains(tools, want) {
			t.Errorf("%s is not in %q", want, tools)
		}
	}
	read, err := p.call(t.Context(), "filesystem_read_text_file", map[string]any{"path": filepath.Join(dir, "hello.txt")}, nil)
	if err != nil || text(read) != "hello from a file" {
		t.Errorf("read_text_file: %q, %v", text(read), err)
	}
	if _, err := p.call(t.Context(), "filesystem_read_text_file", map[string]any{"path": "/no/such/place"}, nil); err == nil ||
		!strings.Contains(err.Error(), "isError") {
		t.Errorf("a tool's own failure: %v, want a result with isError", err)
	}
	entity := map[string]any{"entities": []any{map[string]any{"name": "goblin", "entityType": "actor", "observations": []string{"green"}}}}
	if _, err := p.call(t.Context(), "memory_create_entities", entity, nil); err != nil {
		t.Errorf("create_entities: %v", err)
	}
	graph, err := p.call(t.Context(), "memory_read_graph", map[string]any{}, nil)
	if err != nil || !strings.Contains(text(graph), `"goblin"`) {
		t.Errorf("read_graph: %q, %v", text(graph), err)
	}
	if _, err := p.read(t.Context(), "resource://everything/demo://resource/static/document/features.md"); err != nil {
		t.Error(err)
	}
	page := ""
	for _, base := range g.bases { // each call was counted by one node
		_, one := gatetest.Get(base + "/metrics")
		page += one
	}
	for _, want := range []string{
		`mcpResourceReadsTotal{serverId="everything",mimeType="text/markdown",status="success"} 1`,
		`goblin_calls_total{server="filesystem",method="tools/call",outcome="ok"} 1`,
		`goblin_calls_total{server="filesystem",method="tools/call",outcome="tool_error"} 1`,
		`goblin_backend_up{server="memory",replica="0"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// TestKilledServerRestarts kills a server under load. Errors of its calls must name it, calls of the other server must not
// fail, and the killed server must be ready again within a second. S3.2.3 S4.3.1 S4.3.2
func TestKilledServerRestarts(t *testing.T) {
	gatetest.Within(t, time.Second, "the killed server's return", func() time.Duration { return killed(t) })
}

// killed kills the server and returns how long it took to be ready again.
func killed(t *testing.T) (took time.Duration) {
	raw := map[string]any{"command": binary, "args": []string{"bench", "server", "--stdio"}}
	g := serve(t, map[string]any{"one": raw, "two": raw})
	waitFor(t, "the server to have been ready for 5 s, so that its first restart is immediate", func() (bool, string) {
		b := backend(t, g, "one")
		return b.State == "ready" && time.Since(b.Since) > 5*time.Second, b.State
	})
	stop := make(chan struct{})
	type tally struct {
		calls  int
		faults []string
	}
	load := func(tool string) <-chan tally {
		done := make(chan tally, 1)
		p, err := mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer p.close()
			var n tally
			for {
				select {
				case <-stop:
					done <- n
					return
				default:
				}
				if _, err := p.call(t.Context(), tool, nil, nil); err != nil {
					n.faults = append(n.faults, err.Error())
				}
				n.calls++
			}
		}()
		return done
	}
	one, two := load("one_echo"), load("two_echo")
	before := backend(t, g, "one")
	process, err := os.FindProcess(before.PID)
	if err != nil || process.Kill() != nil {
		t.Fatalf("kill %d: %v", before.PID, err)
	}
	began := time.Now()
	waitFor(t, "the killed server to be back", func() (bool, string) {
		b := backend(t, g, "one")
		return b.State == "ready" && b.PID != before.PID && b.Incarnation > before.Incarnation, b.State + " " + b.Reason
	})
	took = time.Since(began)
	close(stop)
	first, second := <-one, <-two
	for _, text := range first.faults {
		if !strings.Contains(text, "one") {
			t.Errorf("an error that does not name the server: %s", text)
		}
	}
	if len(second.faults) > 0 || second.calls == 0 {
		t.Errorf("the other server's caller: %d calls, faults %q", second.calls, second.faults)
	}
	return took
}

func backend(t *testing.T, g *gateway, server string) status.Backend {
	t.Helper()
	for _, b := range snapshot(t, g).Backends {
		if b.Server == server {
			return b
		}
	}
	return status.Backend{}
}

// TestBench runs four kinds of bench with the real binary. Each must print a table and write a valid report.json.
func TestBench(t *testing.T) {
	for _, kind := range []string{"calls", "big", "list", "idle"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			cmd := command(t, "bench", kind, "--self", "--concurrency", "2", "--duration", "200ms", "--rounds", "2", "--sessions", "20", "--out", dir)
			said := &output{}
			cmd.Stderr = said
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "RSS") {
				t.Fatalf("bench %s: %v\n%s%s", kind, err, out, said)
			}
			text, err := os.ReadFile(filepath.Join(dir, "report.json"))
			if err != nil || !json.Valid(text) {
				t.Errorf("report.json: %v", err)
			}
		})
	}
}
