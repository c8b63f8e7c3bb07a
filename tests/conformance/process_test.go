package conformance

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol"
)

// announced starts a process that prints its URL on its first line. The process must exit cleanly at the end of the test.
func announced(t *testing.T, cmd *exec.Cmd) *gatetest.Process {
	t.Helper()
	p := gatetest.Serve(t, cmd)
	t.Cleanup(func() {
		if err := p.End(); err != nil {
			t.Errorf("%s %v: %v", filepath.Base(cmd.Path), cmd.Args[1:], err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(cmd.Path), p.Log)
		}
	})
	return p
}

// fixtureCommand returns a server entry for the fixture on stdio, forced to one version. A legacy fixture sends only the server requests that
// its client declared support for, so each class of clients has its own process, as with URLs.
func fixtureCommand(version string) map[string]any {
	return map[string]any{"command": fixtureBinary, "args": []string{"--protocol", version}, "isolation": "class"}
}

// fixtureHTTP starts the fixture over HTTP, forced to one version, and returns its URL.
func fixtureHTTP(t *testing.T, version string) string {
	t.Helper()
	if version == tasks {
		version = protocol.Version20260728
	}
	return announced(t, exec.Command(fixtureBinary, "--protocol", version, "--http", "127.0.0.1:0")).URL
}

// gosdkHTTP starts the go-sdk's everything-server over HTTP and returns its URL. With sessions, it is a legacy server; without
// sessions, it supports both eras.
func gosdkHTTP(t *testing.T, stateless bool) string {
	t.Helper()
	address := "127.0.0.1:" + gatetest.FreePort(t)
	cmd, said := exec.Command(gosdkBinary, "-http", address, fmt.Sprintf("-stateless=%v", stateless)), &gatetest.Output{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	gatetest.WaitFor(t, "the go-sdk's server to listen", func() (bool, string) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil, said.String()
	})
	return "http://" + address
}

// writeConfig writes a configuration with one server, under which the gateway adds nothing and keeps all names.
// The file is JSON, which is also YAML.
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

// serve starts the gateway with one server, or with -balancer a cluster of gateways, waits until it is ready and returns its URL. At
// the end of the test each gateway must drain and exit 0.
func serve(t *testing.T, server map[string]any) string {
	t.Helper()
	dir := gatetest.ShortDir(t)
	config, err := writeConfig(dir, server)
	if err != nil {
		t.Fatal(err)
	}
	if *balancer != "" {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		return gatetest.ServeBalanced(t, gatetest.BalancedOptions{Binary: gatewayBinary, Dir: dir, Config: string(text), Balancer: *balancer, NATS: *external}).URL
	}
	cmd := exec.Command(gatewayBinary, "serve", "--config", config, "--listen", "127.0.0.1:0")
	cmd.Env = gatetest.Environment(dir)
	p := announced(t, cmd)
	gatetest.WaitReady(t, p.Base)
	return p.URL
}
