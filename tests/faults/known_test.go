//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// stdio is a gateway on stdio, started by its client.
type stdio struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	log   gatetest.Output
	began time.Time
}

// startStdio starts a gateway, whose state is in dir, and initializes a session.
func startStdio(t *testing.T, config, dir string) *stdio {
	t.Helper()
	g := &stdio{t: t, cmd: exec.Command(binary, "stdio", "--config", config), began: time.Now()}
	g.cmd.Env = environment(dir)
	g.cmd.Stderr = &g.log
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.lines = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	})
	g.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	g.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return g
}

func (g *stdio) say(line string) {
	g.t.Helper()
	if _, err := io.WriteString(g.in, line+"\n"); err != nil {
		g.t.Fatalf("write to the gateway: %v\n%s", err, g.log.String())
	}
}

// ask sends a request with id 1 and returns its answer. It ignores other messages.
func (g *stdio) ask(line string) string {
	g.t.Helper()
	g.say(line)
	for {
		answer, err := g.lines.ReadString('\n')
		if err != nil {
			g.t.Fatalf("no answer to %s: %v\n%s", line, err, g.log.String())
		}
		if strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":1,`) {
			return answer
		}
	}
}

func (g *stdio) list() string { return g.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) }

// live waits until the list comes from the server, not from the state file, and returns it.
func (g *stdio) live() (list string) {
	g.t.Helper()
	waitFor(g.t, "the live list", func() (bool, string) {
		list = g.list()
		return strings.Contains(list, `"one_`) && !strings.Contains(list, `"cached"`), list
	})
	return list
}

// end stops the gateway as a client does, by closing its stdin.
func (g *stdio) end() {
	g.t.Helper()
	_ = g.in.Close()
	if err := g.cmd.Wait(); err != nil {
		g.t.Errorf("the gateway did not exit cleanly: %v\n%s", err, g.log.String())
	}
}

// slowly returns a server that does not start while a file exists, and the path of that file.
func slowly(t *testing.T) (server map[string]any, file string) {
	file = filepath.Join(t.TempDir(), "wait")
	script := fmt.Sprintf("while [ -e %s ]; do sleep 0.05; done; exec %s demo clock", file, binary)
	return map[string]any{"command": "sh", "args": []string{"-c", script}}, file
}

// After a restart, the first list comes from the state file while the server is still starting, for several gateways at once. Meanwhile,
// calls wait for the server, and items that it may have gained are not reported as unknown.
func TestCatalogSurvivesRestart(t *testing.T) {
	server, wait := slowly(t)
	dir := gatetest.ShortDir(t)
	config := filepath.Join(dir, "goblin.json")
	settings{"mcpServers": map[string]any{"one": server}, "metaTools": false}.write(t, config) // the state file does not contain the gateway's own items
	first := startStdio(t, config, dir)
	live := first.live()
	first.end()
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", config, "--listen", "127.0.0.1:0")
	cmd.Env = environment(dir)
	p := gatetest.Serve(t, cmd)
	gatetest.WaitReady(t, p.Base) // although its server is still starting
	c := connect(t, &gateway{url: p.URL}, "{}")
	if list := c.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).last(); strings.Count(list, `"goblin-actor/state":"cached"`) != strings.Count(live, `"goblin-actor/name"`) {
		t.Errorf("first list over HTTP: %s", list)
	}
	const gateways = 4
	var all sync.WaitGroup
	took := make([]time.Duration, gateways)
	for i := range gateways {
		all.Go(func() {
			g := startStdio(t, config, dir)
			list := g.list()
			took[i] = time.Since(g.began)
			if strings.Count(list, `"goblin-actor/state":"cached"`) != strings.Count(live, `"goblin-actor/name"`) {
				t.Errorf("first list: got %s, want the remembered %s", list, live)
			}
			if got := g.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_new"}}`); !strings.Contains(got, "SERVER_UNAVAILABLE") || !strings.Contains(got, "starting") {
				t.Errorf("call of an item that the server may have: %s", got)
			}
			time.AfterFunc(200*time.Millisecond, func() { _ = os.Remove(wait) })
			if got := g.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_now","arguments":{}}}`); !strings.Contains(got, `"content"`) {
				t.Errorf("call that waits for the server: %s", got)
			}
			if got := g.live(); got != live {
				t.Errorf("later list: got %s, want %s", got, live)
			}
			g.end()
			if log := g.log.String(); strings.Contains(log, "level=WARN") && strings.Contains(log, "state file") {
				t.Errorf("the log reports problems with the state file: %s", log)
			}
		})
	}
	all.Wait()
	if slices.Min(took) > 4*time.Second { // StartWait is 5 s; other processes may slow down some attempts
		t.Errorf("first lists took %v", took)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

// A gateway that is killed soon after its first list leaves a usable state file. A damaged file is moved aside.
func TestStateFileSurvivesKill(t *testing.T) {
	server, _ := slowly(t)
	dir := gatetest.ShortDir(t)
	config := filepath.Join(dir, "goblin.json")
	servers(map[string]any{"one": server}).write(t, config)
	for i := range 8 {
		g := startStdio(t, config, dir)
		g.list()
		time.Sleep(time.Duration(i) * 60 * time.Millisecond)
		_ = g.cmd.Process.Signal(syscall.SIGKILL)
		_ = g.cmd.Wait()
		if log := g.log.String(); strings.Contains(log, "level=WARN") && strings.Contains(log, "state file") {
			t.Fatalf("start %d: %s", i, log)
		}
	}
	g := startStdio(t, config, dir)
	g.live()
	g.end()
	file := filepath.Join(dir, "goblin-actor", "state.db")
	if err := os.Truncate(file, 5000); err != nil {
		t.Fatal(err)
	}
	g = startStdio(t, config, dir)
	g.live()
	g.end()
	if log := g.log.String(); !strings.Contains(log, "the state file was damaged") {
		t.Errorf("the log does not report the damage: %s", log)
	}
	if _, err := os.Stat(file + ".unusable-1"); err != nil {
		t.Error(err)
	}
	g = startStdio(t, config, dir)
	if got := g.list(); !strings.Contains(got, `"cached"`) && !strings.Contains(got, `"one_`) {
		t.Errorf("after the damage: %s", got)
	}
	g.end()
}
