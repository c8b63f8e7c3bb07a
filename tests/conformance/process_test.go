package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goblin-actor/protocol"
)

const (
	startTime = time.Minute      // for a process to serve
	endTime   = 20 * time.Second // for it to end after SIGTERM
)

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

// start runs a process that must end by itself and well when it is asked to; orderly = false: it knows no such thing.
func start(t *testing.T, orderly bool, cmd *exec.Cmd) *output {
	t.Helper()
	said := &output{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !orderly {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %v: %v", filepath.Base(cmd.Path), cmd.Args[1:], err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(cmd.Path), said)
		}
	})
	return said
}

// announced starts a process that prints its URL on its first line, and returns that.
func announced(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := start(t, true, cmd)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v printed no URL: %v\n%s", cmd.Args, err, said)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return strings.TrimSpace(line)
}

// environment gives a process directories of its own.
func environment(dir string) []string {
	return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
}

// fixtureCommand is the fixture as a server on stdio that speaks one version only. A legacy one asks what its client has
// declared, so each class of clients has a process of its own, as behind URLs.
func fixtureCommand(version string) map[string]any {
	return map[string]any{"command": gatewayBinary, "args": []string{"demo", "conformance", "--protocol", version}, "isolation": "class"}
}

// fixtureHTTP starts the fixture as a server over HTTP that speaks one version only, and returns its URL.
func fixtureHTTP(t *testing.T, version string) string {
	t.Helper()
	if version == tasks {
		version = protocol.Version20260728
	}
	return announced(t, exec.Command(gatewayBinary, "demo", "conformance", "--protocol", version, "--http", "127.0.0.1:0"))
}

// gosdkHTTP starts the go-sdk's everything-server over HTTP and returns its URL. With sessions it is a legacy server, without
// them one of both eras.
func gosdkHTTP(t *testing.T, stateless bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	said := start(t, false, exec.Command(gosdkBinary, "-http", address, fmt.Sprintf("-stateless=%v", stateless)))
	waitFor(t, said, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// writeConfig writes a configuration with one server behind the gateway, which adds nothing to it and changes no name.
// (JSON is YAML.)
func writeConfig(dir string, server map[string]any) (string, error) {
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"behind": server},
		"namespace":  map[string]any{"mode": "never"},
		"resources":  map[string]any{"uriStyle": "original"},
		"metaTools":  false,
	})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "goblin.yaml")
	return file, os.WriteFile(file, text, 0o600)
}

// serve starts the gateway over one server, waits until it is ready and returns its URL. At the end of the test it
// must drain and exit 0.
func serve(t *testing.T, server map[string]any) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gc") // short: sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config, err := writeConfig(dir, server)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gatewayBinary, "serve", "--config", config, "--listen", "127.0.0.1:0")
	cmd.Env = environment(dir)
	url := announced(t, cmd)
	said := cmd.Stderr.(*output)
	waitFor(t, said, func() bool {
		resp, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return url
}

// waitFor polls until done; it shows what the process said when that never comes.
func waitFor(t *testing.T, said *output, done func() bool) {
	t.Helper()
	late := time.After(startTime)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-late:
			t.Fatalf("not ready after %s:\n%s", startTime, said)
		case <-tick.C:
		}
	}
}
