package interop

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"goblin-actor/internal/gatetest"
)

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

var freePort = gatetest.FreePort

// startServer starts a command and waits until it listens on the port. The command is ended by stop, or at the end of the test.
func startServer(t *testing.T, port string, cmd *exec.Cmd) (stop func()) {
	t.Helper()
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	waitFor(t, filepath.Base(cmd.Path)+" to listen", func() (bool, string) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil, said.String()
	})
	return stop
}

// everything starts server-everything on a port.
func everything(t *testing.T, mode, port string) (stop func()) {
	t.Helper()
	needNode(t)
	cmd := exec.Command("node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", mode)
	cmd.Env = append(os.Environ(), "PORT="+port)
	return startServer(t, port, cmd)
}

// everythingHTTP starts server-everything over Streamable HTTP and returns its URL.
func everythingHTTP(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	everything(t, "streamableHttp", port)
	return "http://127.0.0.1:" + port + "/mcp"
}

// everythingSSE starts server-everything over HTTP+SSE and returns its URL.
func everythingSSE(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	everything(t, "sse", port)
	return "http://127.0.0.1:" + port + "/sse"
}

// nodeHTTP starts a script with its port as argument and returns its URL.
func nodeHTTP(t *testing.T, script string) string {
	t.Helper()
	needNode(t)
	port := freePort(t)
	startServer(t, port, exec.Command("node", script, port))
	return "http://127.0.0.1:" + port + "/mcp"
}

func goSDKHTTP(t *testing.T, everything string, args ...string) string {
	t.Helper()
	port := freePort(t)
	startServer(t, port, exec.Command(everything, append([]string{"-http", "127.0.0.1:" + port}, args...)...))
	return "http://127.0.0.1:" + port + "/mcp"
}

// conformanceFixture is the program tests/conformance/fixture.
var conformanceFixture string

// demoCommand returns the command of a demo server, or of the conformance fixture, that is forced to one version.
func demoCommand(name, version string) []string {
	if name == "conformance" {
		return []string{conformanceFixture, "--protocol", version}
	}
	return []string{binary, "demo", name, "--protocol", version}
}

// demoHTTP starts a demo server or the conformance fixture, forced to one version, and returns its URL.
func demoHTTP(t *testing.T, name, version string) string {
	t.Helper()
	command := append(demoCommand(name, version), "--http", "127.0.0.1:0")
	return gatetest.Serve(t, exec.Command(command[0], command[1:]...)).URL
}
