package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"goblin-actor/internal/gatetest"
)

var (
	binary string // the gateway, built once
	noNode string // why npm peers cannot run; "" = they can run
)

// Names of gatetest that these tests use without its prefix.
type output = gatetest.Output

var (
	environment = gatetest.Environment
	waitFor     = gatetest.WaitFor
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
	if binary, err = gatetest.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conformanceFixture = filepath.Join(dir, "fixture")
	if said, err := exec.Command("go", "build", "-o", conformanceFixture, "goblin-actor/tests/conformance/fixture").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build tests/conformance/fixture: %v\n%s", err, said)
		return 1
	}
	if _, err := exec.LookPath("node"); err != nil {
		noNode = "node is not on the PATH"
	} else if _, err := os.Stat("node_modules/@modelcontextprotocol/sdk"); err != nil {
		noNode = "the npm packages are not installed: run make test, or npm ci in tests/interop"
	}
	return m.Run()
}

// needNode skips the test if npm peers cannot run. With CI=true it fails the test.
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

// npmServer returns the configuration of a pinned npm server, run as a process.
func npmServer(t *testing.T, name string, args ...string) map[string]any {
	t.Helper()
	needNode(t)
	dir, err := filepath.Abs("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": "node", "args": append([]string{dir}, args...)}
}

// gateway is a running `goblin-actor serve`.
type gateway struct {
	url    string // URL of its MCP endpoint
	base   string // http://host:port
	config string
	dir    string   // its runtime and state directory
	bases  []string // http://host:port of each node; one, unless it is a cluster
	dirs   []string // the directories of each node
}

// writeConfig writes servers in the format of desktop clients. Timeouts are long enough for a busy machine;
// other tests cover the gateway's default timeouts.
func writeConfig(t *testing.T, dir string, servers map[string]any) string {
	t.Helper()
	patient := map[string]any{}
	for name, server := range servers {
		times := map[string]any{"startTimeout": talkTime.String(), "timeout": talkTime.String(), "queue": map[string]any{"timeout": talkTime.String()}}
		patient[name] = merged(times, server.(map[string]any))
	}
	return writeAsIs(t, dir, patient)
}

func writeAsIs(t *testing.T, dir string, servers map[string]any) string {
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

// serve starts a gateway with the servers and waits until it is ready. At the end of the test it must drain and exit 0.
func serve(t *testing.T, servers map[string]any) *gateway {
	t.Helper()
	dir := gatetest.ShortDir(t)
	return serveFile(t, dir, writeConfig(t, dir, servers))
}

// serveFile starts a gateway with a configuration, or a cluster of gateways with -balancer.
func serveFile(t *testing.T, dir, file string) *gateway {
	t.Helper()
	if *balancer != "" {
		return serveNodes(t, dir, file, *balancer)
	}
	g := &gateway{dir: dir, dirs: []string{dir}, config: file}
	cmd := exec.Command(binary, "serve", "--config", file, "--listen", "127.0.0.1:0")
	cmd.Env = environment(dir)
	p := gatetest.Serve(t, cmd)
	t.Cleanup(func() {
		if err := p.End(); err != nil {
			t.Errorf("the gateway exited with %v", err)
		}
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", p.Log)
		}
	})
	g.url, g.base, g.bases = p.URL, p.Base, []string{p.Base}
	gatetest.WaitReady(t, g.base)
	return g
}

// serveNodes starts three gateways with a configuration behind a balancer. The first node runs all servers that are commands.
func serveNodes(t *testing.T, dir, file, balancer string) *gateway {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := gatetest.ServeBalanced(t, gatetest.BalancedOptions{Binary: binary, Dir: dir, Config: string(text), Balancer: balancer, NATS: *external})
	return &gateway{url: b.URL, base: b.Base, config: file, dir: b.Dirs[0], bases: b.Bases, dirs: b.Dirs}
}

// command returns a command of the gateway's binary with its own directories.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = environment(t.TempDir())
	return cmd
}
