package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/gatetest"
)

// gatewayProcess is a gateway that can be killed and restarted at the same address.
type gatewayProcess struct {
	t       *testing.T
	config  string
	address string
	cmd     *exec.Cmd
}

func startGateway(t *testing.T, servers string) *gatewayProcess {
	t.Helper()
	dir := t.TempDir()
	g := &gatewayProcess{t: t, config: filepath.Join(dir, "goblin.yaml"), address: "127.0.0.1:0"}
	if err := os.WriteFile(g.config, []byte("mcpServers:\n"+servers), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	t.Cleanup(g.kill)
	return g
}

// start starts the gateway and waits until it is ready. After the first start, it uses the same address again.
func (g *gatewayProcess) start() {
	g.t.Helper()
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		g.t.Fatal(err)
	}
	runtime := filepath.Dir(g.config)
	g.cmd = exec.Command(path, "serve", "--config", g.config, "--listen", g.address)
	g.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "XDG_STATE_HOME="+runtime, "GORACE=atexit_sleep_ms=20")
	g.cmd.Stderr = g.t.Output()
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		g.t.Fatalf("the gateway ended: %v", err)
	}
	g.address = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/mcp")
	poll(g.t, "the gateway to be ready", func() bool {
		resp, err := http.Get("http://" + g.address + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill ends the gateway with SIGKILL.
func (g *gatewayProcess) kill() {
	g.cmd.Process.Kill()
	g.cmd.Wait()
}

// drain stops the gateway with SIGINT.
func (g *gatewayProcess) drain() {
	g.cmd.Process.Signal(os.Interrupt)
	if err := g.cmd.Wait(); err != nil {
		g.t.Errorf("the gateway ended with %v", err)
	}
}

func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(gatetest.Patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// demos returns the configuration of the named demo servers.
func demos(t *testing.T, names ...string) string {
	t.Helper()
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range names {
		text += fmt.Sprintf("  %s: {command: %q, args: [demo, %s], env: {GORACE: atexit_sleep_ms=20}}\n", name, path, name)
	}
	return text
}

// If the gateway is killed or drained, and then restarted, a client of stdio --connect notices only that the call in
// progress fails and that lists may have changed. Its subscription continues, and it is still asked questions.
func TestBridgeSurvivesGatewayRestart(t *testing.T) {
	for _, end := range []string{"killed", "drained"} {
		t.Run(end, func(t *testing.T) {
			g := startGateway(t, demos(t, "clock", "oracle"))
			ctx, cancel := context.WithTimeout(t.Context(), 2*gatetest.Patience)
			defer cancel()
			var updates, changes, progress atomic.Int32
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ResourceUpdatedHandler:      func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { updates.Add(1) },
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress.Add(1) },
				ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changes.Add(1) },
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"guess": "a hole"}}, nil
				},
			})
			path, err := exec.LookPath("goblin-actor")
			if err != nil {
				t.Fatal(err)
			}
			stdio := exec.Command(path, "stdio", "--connect", g.address)
			stdio.Stderr = t.Output()
			c, err := client.Connect(ctx, &mcp.CommandTransport{Command: stdio}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			call := func(name string, args any) (string, error) {
				r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
				raw, _ := json.Marshal(r)
				return string(raw), err
			}
			if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "resource://clock/clock://now"}); err != nil {
				t.Fatal(err)
			}
			poll(t, "an update", func() bool { return updates.Load() > 0 })
			if got, err := call("oracle_riddle", nil); err != nil || !strings.Contains(got, "Solved") {
				t.Fatalf("riddle: %s, %v", got, err)
			}
			running := make(chan error, 1)
			go func() {
				params := &mcp.CallToolParams{Name: "clock_wait", Arguments: map[string]any{"seconds": 600, "steps": 1000}}
				params.SetProgressToken("wait")
				_, err := c.CallTool(ctx, params)
				running <- err
			}()
			poll(t, "the call to run", func() bool { return progress.Load() > 0 })
			for round := range 2 {
				if end == "killed" {
					g.kill()
				} else if round == 0 {
					draining := g.cmd.Process
					draining.Signal(os.Interrupt)
					impatient := time.AfterFunc(time.Second, func() { draining.Kill() }) // otherwise the call could run until the drain time is over
					g.cmd.Wait()
					impatient.Stop()
				} else {
					g.drain()
				}
				updates.Store(0)
				changes.Store(0)
				waiting := make(chan error, 1)
				go func() { // while the gateway is down
					got, err := call("clock_now", nil)
					if err == nil && strings.Contains(got, "isError\":true") {
						err = fmt.Errorf("%s", got)
					}
					waiting <- err
				}()
				g.start()
				if round == 0 {
					if err := <-running; err == nil || !strings.Contains(err.Error(), "lost") {
						t.Errorf("the call in progress: %v", err)
					}
				}
				if err := <-waiting; err != nil {
					t.Errorf("the call while the gateway was down: %v", err)
				}
				poll(t, "an update after the restart", func() bool { return updates.Load() > 1 && changes.Load() > 0 })
				if got, err := call("oracle_riddle", nil); err != nil || !strings.Contains(got, "Solved") {
					t.Errorf("riddle after the restart: %s, %v", got, err)
				}
			}
		})
	}
}

// watch reports that the gateway has ended, and continues when it is back.
func TestWatchSurvivesGatewayRestart(t *testing.T) {
	g := startGateway(t, demos(t, "clock"))
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		t.Fatal(err)
	}
	watch := exec.Command(path, "watch", "resource://clock/clock://now", "-o", "json", "--connect", g.address)
	watch.Stderr = t.Output()
	watch.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=20")
	out, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer watch.Process.Kill()
	lines := bufio.NewScanner(out)
	await := func(event string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), `{"event":"`+event+`",`) {
				return
			}
		}
		t.Fatalf("watch ended before %q", event)
	}
	await("contents")
	await("contents")
	g.kill()
	await("lost")
	g.start()
	await("back")
	await("contents")
	await("contents")
	watch.Process.Signal(os.Interrupt)
	for lines.Scan() {
	}
	watch.Wait()
	if got := watch.ProcessState.ExitCode(); got != command.ExitInterrupted {
		t.Errorf("exit code %d, want %d", got, command.ExitInterrupted)
	}
}
