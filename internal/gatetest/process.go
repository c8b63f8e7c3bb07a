// Package gatetest runs the gateway, clients and servers as processes. Only tests import it.
package gatetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build builds the gateway into dir and returns its path. Flags are those of go build.
func Build(dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, "goblin-actor")
	args := append([]string{"build", "-o", binary}, flags...)
	if out, err := exec.Command("go", append(args, "goblin-actor/cmd/goblin-actor")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the gateway: %w\n%s", err, out)
	}
	return binary, nil
}

// Environment returns the environment of this process, with the gateway's directories below dir.
func Environment(dir string) []string {
	return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
}

// ShortDir returns a directory that is removed after the test. Its name is short, because the length of socket paths
// is limited.
func ShortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// FreePort returns a free loopback port for a program that cannot choose one itself. It lies outside the range of
// ephemeral ports, from which another process could get it before the program listens.
func FreePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port found")
	return ""
}

// Output collects the output of a process. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Process is a gateway or a demo server that is reachable over HTTP.
type Process struct {
	URL    string // URL of the MCP endpoint
	Base   string // http://host:port
	Cmd    *exec.Cmd
	Log    *Output       // the process's stderr
	Exited chan struct{} // closed after the process has ended
	Err    error         // the error of Wait, valid once Exited is closed
}

// Serve starts cmd and waits for the first line on its stdout, which ends with its URL. It kills the process after the
// test.
func Serve(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, Log: &Output{}, Exited: make(chan struct{})}
	cmd.Stderr = p.Log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		p.Err = cmd.Wait()
		close(p.Exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.Exited
	})
	if err != nil {
		t.Fatalf("%v printed no URL: %v\n%s", cmd.Args, err, p.Log)
	}
	_, at, _ := strings.Cut(line, "http")
	p.URL = "http" + strings.TrimSpace(at)
	p.Base = strings.TrimSuffix(p.URL, "/mcp")
	return p
}

// End terminates the process with SIGTERM, kills it after Patience, and returns the error of Wait.
func (p *Process) End() error {
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(Patience, func() { _ = p.Cmd.Process.Kill() })
	defer late.Stop()
	<-p.Exited
	return p.Err
}
