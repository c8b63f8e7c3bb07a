package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	binary string // the gateway, built once
	noNode string // why npm peers cannot run; "" = they can
)

func TestMain(m *testing.M) {
	if os.Getenv(beMCPGo) != "" {
		os.Exit(serveMCPGo())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "goblin-actor")
	if out, err := exec.Command("go", "build", "-o", binary, "goblin-actor/cmd/goblin-actor").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the gateway: %v\n%s", err, out)
		return 1
	}
	if _, err := exec.LookPath("node"); err != nil {
		noNode = "node is not on the PATH"
	} else if _, err := os.Stat("node_modules/@modelcontextprotocol/sdk"); err != nil {
		noNode = "the npm packages are not installed: run make test, or npm ci in tests/interop"
	}
	return m.Run()
}

// needNode skips the test where npm peers cannot run; with CI=true it fails it.
func needNode(t *testing.T) {
	t.Helper()
	if noNode == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(noNode)
	}
	t.Skip(noNode)
}

// npmServer returns the command of a pinned server.
func npmServer(t *testing.T, name string, args ...string) map[string]any {
	t.Helper()
	needNode(t)
	dir, err := filepath.Abs("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": "node", "args": append([]string{dir}, args...)}
}

// output collects what a process writes to stderr. Safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// gateway is a running `serve`.
type gateway struct {
	url    string // of its MCP endpoint
	base   string // http://host:port
	config string
	dir    string // its runtime and state directory
	cmd    *exec.Cmd
	log    *output
}

// writeConfig writes servers as a file of the kind desktop clients have.
func writeConfig(t *testing.T, dir string, servers map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "claude_desktop_config.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// environment is what a gateway runs with: directories of its own.
func environment(dir string) []string {
	return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
}

// serve starts a gateway over the servers and waits until it is ready. At the end of the test it must drain and exit 0.
func serve(t *testing.T, servers map[string]any) *gateway {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga") // short: sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &gateway{dir: dir, config: writeConfig(t, dir, servers), log: &output{}}
	g.cmd = exec.Command(binary, "serve", "--config", g.config, "--listen", "127.0.0.1:0")
	g.cmd.Env, g.cmd.Stderr = environment(dir), g.log
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.end(t) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the gateway printed no URL: %v\n%s", err, g.log)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	g.url = regexp.MustCompile(`https?://\S+`).FindString(line)
	g.base = regexp.MustCompile(`https?://[^/]+`).FindString(line)
	waitFor(t, 90*time.Second, "the gateway to be ready", func() (bool, string) {
		code, body := fetch(t, g.base+"/readyz")
		return code == 200, body
	})
	return g
}

// end drains the gateway.
func (g *gateway) end(t *testing.T) {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	ended := time.AfterFunc(20*time.Second, func() { _ = g.cmd.Process.Kill() })
	defer ended.Stop()
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("the gateway's end: %v", err)
	}
	if t.Failed() {
		t.Logf("the gateway's log:\n%s", g.log)
	}
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// waitFor polls until done says so; detail is shown when it never does.
func waitFor(t *testing.T, limit time.Duration, what string, done func() (ok bool, detail string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, detail := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s: %s", limit, what, detail)
		case <-tick.C:
		}
	}
}

// command returns the gateway's binary with these arguments and directories of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = environment(t.TempDir())
	return cmd
}
