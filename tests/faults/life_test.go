//go:build linux

package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// calls starts n calls, ten per session, and returns a channel with their answers.
func calls(t *testing.T, g *gateway, n int, server, do string, arg int) <-chan answer {
	t.Helper()
	answers := make(chan answer, n)
	var c *client
	for i := range n {
		if i%10 == 0 {
			c = connect(t, g, "")
		}
		mine := c
		go func() {
			a, err := mine.try(context.Background(), strings.NewReader(callFrame(i, server, do, arg)), nil)
			if err != nil {
				a.frames = append(a.frames, err.Error())
			}
			answers <- a
		}()
	}
	return answers
}

// running waits until the given number of calls run on a server.
func (g *gateway) running(t *testing.T, server string, n int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d calls of %s to run", n, server), func() (bool, string) {
		got := g.server(t, server).InFlight
		return got == n, fmt.Sprint(got)
	})
}

// A server is killed with a hundred calls in flight: each gets one answer immediately, calls of the other server continue, and the
// server is restarted. S4.3.1 S4.3.2
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	gatetest.Within(t, time.Second, "the callers to be told", func() time.Duration { return killUnderLoad(t) })
}

// killUnderLoad returns the time until all calls were answered.
func killUnderLoad(t *testing.T) (took time.Duration) {
	good, release := holding(t)
	big := map[string]any{"maxConcurrent": 200, "timeout": gatetest.Patience.String()}
	g := serve(t, servers(map[string]any{"odd": with(bad("none"), big), "good": with(good, big)}))
	g.ready(t, "odd", "good")
	lost, kept := calls(t, g, 100, "odd", "never", 0), calls(t, g, 100, "good", "held", 0)
	g.running(t, "odd", 100)
	g.running(t, "good", 100)
	before := g.server(t, "odd")
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for range 100 {
		a := <-lost
		a.wants(t, "a call in flight", -31003, "BACKEND_DISCONNECTED")
		if !strings.Contains(a.last(), `"server":"odd"`) {
			t.Errorf("the error does not name the server: %s", a)
		}
	}
	took = time.Since(killed)
	waitFor(t, "odd to be back", func() (bool, string) {
		b := g.server(t, "odd")
		return b.State == "ready" && b.PID != before.PID, b.State
	})
	release()
	for range 100 {
		if a := <-kept; !strings.Contains(a.last(), `"done"`) {
			t.Errorf("call of the other server: %s", a)
		}
	}
	g.logged(t, "WARN", "server=odd", "killed")
	return took
}

// After SIGTERM, fifty calls in flight complete, new ones are refused, /readyz fails, and the exit code is 0.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	good, release := holding(t)
	s := servers(map[string]any{"good": good})
	s["shutdown"] = map[string]any{"drain": "10m"}
	g := serve(t, s)
	g.ready(t, "good")
	late := connect(t, g, "")
	streams := connect(t, g, "")
	_, leave := streams.stream(t, "")
	defer leave()
	running := calls(t, g, 50, "good", "held", 0)
	g.running(t, "good", 50)
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	g.logged(t, "draining")
	waitFor(t, "/readyz to fail", func() (bool, string) {
		code, page := get(g.base + "/readyz")
		return code != 200, page
	})
	if a, err := late.try(t.Context(), strings.NewReader(callFrame(1, "good", "", 0)), nil); err == nil && a.status == 200 {
		a.wants(t, "a call while draining", -31007, "SHUTTING_DOWN")
	}
	release()
	for range 50 {
		if a := <-running; !strings.Contains(a.last(), `"done"`) {
			t.Errorf("call in progress at the signal: %s", a)
		}
	}
	ended := time.Now()
	<-g.exited
	if took := time.Since(ended); took > healthyTime {
		t.Errorf("the gateway exited %s after its last call", took)
	}
}

// Calls that never end get an error after shutdown.drain.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	gatetest.Within(t, 5*time.Second, "the end of a gateway that drains for a second", func() time.Duration { return boundedDrain(t) })
}

// boundedDrain returns the time until the gateway exited.
func boundedDrain(t *testing.T) time.Duration {
	s := servers(map[string]any{"good": bad("none"), "stubborn": bad("stubborn")})
	s["shutdown"] = map[string]any{"drain": "1s"}
	g := serve(t, s)
	g.ready(t, "good", "stubborn")
	running := calls(t, g, 20, "good", "never", 0)
	g.running(t, "good", 20)
	began := time.Now()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	for range 20 {
		a := <-running
		a.wants(t, "a call that never ends", -31007, "SHUTTING_DOWN")
		if !strings.Contains(a.last(), `"server":"good","retryable":false`) { // the server received it
			t.Errorf("a call that never ends: %s", a)
		}
	}
	<-g.exited
	return time.Since(began)
}

// A second signal ends the gateway immediately, without leaving a child process.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	gatetest.Within(t, time.Second, "the end after a second signal", func() time.Duration { return secondSignal(t) })
}

// secondSignal returns the time from the second signal to the gateway's exit.
func secondSignal(t *testing.T) (took time.Duration) {
	s := servers(map[string]any{"good": bad("none"), "stubborn": bad("stubborn"), "family": bad("family")})
	s["shutdown"] = map[string]any{"drain": "1m"}
	g := serve(t, s)
	g.ready(t, "good", "stubborn", "family")
	calls(t, g, 20, "good", "never", 0)
	g.running(t, "good", 20)
	children := descendants(g.cmd.Process.Pid)
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	g.logged(t, "draining")
	began := time.Now()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	g.wantExit = 130
	<-g.exited
	took = time.Since(began)
	waitFor(t, "the children to be gone", func() (bool, string) {
		left := alive(children)
		return len(left) == 0, fmt.Sprint(left)
	})
	return took
}

// A second signal ends a gateway on stdio immediately, too. Its servers have their own process groups, which signals from a terminal do not
// reach.
func TestSecondSignalOnStdio(t *testing.T) {
	t.Parallel()
	gatetest.Within(t, time.Second, "the end after a second signal", func() time.Duration { return secondSignalOnStdio(t) })
}

// secondSignalOnStdio returns the time from the second signal to the gateway's exit.
func secondSignalOnStdio(t *testing.T) (took time.Duration) {
	dir := t.TempDir()
	file := filepath.Join(dir, "goblin.yaml")
	servers(map[string]any{"stubborn": bad("stubborn"), "family": bad("family")}).write(t, file)
	cmd := exec.Command(binary, "stdio", "--config", file)
	cmd.Env = environment(dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var log output
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "both servers to be ready", func() (bool, string) {
		return strings.Count(log.String(), "server is ready") == 2, log.String()
	})
	children := descendants(cmd.Process.Pid)
	if len(children) != 3 {
		t.Errorf("%d descendants, want two servers and a grandchild", len(children))
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	began := time.Now()
	_ = cmd.Wait()
	took = time.Since(began)
	waitFor(t, "the children to be gone", func() (bool, string) {
		left := alive(children)
		return len(left) == 0, fmt.Sprint(left)
	})
	return took
}

// kill -9 of the gateway leaves no child process.
func TestGatewayKilled(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	children := descendants(g.cmd.Process.Pid)
	_ = g.cmd.Process.Kill()
	g.wantExit = -1
	<-g.exited
	waitFor(t, "the children to be gone", func() (bool, string) {
		left := alive(children)
		return len(left) == 0, fmt.Sprint(left)
	})
}

// No call fails while the configuration is reloaded under load. Changes of settings that do not concern the connection do not reconnect the
// server. After a change of env, the new process replaces the old one, whose call in progress finishes. A broken file changes nothing.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	s := func(more map[string]any) settings { return servers(map[string]any{"good": with(bad("none"), more)}) }
	g := serve(t, s(nil))
	g.ready(t, "good")
	stop, faults := make(chan struct{}), make(chan string, 1000)
	var count atomic.Int64
	var load sync.WaitGroup
	for range 8 {
		c := connect(t, g, "")
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a, err := c.try(context.Background(), strings.NewReader(callFrame(1, "good", "sleep", 5)), nil)
				if count.Add(1); err != nil || !strings.Contains(a.last(), `"done"`) {
					faults <- fmt.Sprint(a, err)
				}
			}
		})
	}
	hup := func() { _ = g.cmd.Process.Signal(syscall.SIGHUP) }
	before := g.server(t, "good")
	c := connect(t, g, "")
	for i, more := range []map[string]any{
		{"timeout": "20s"}, {"description": "other"}, {"maxConcurrent": 30}, {"tools": map[string]any{"rename": map[string]string{"ghost": "x"}}},
	} {
		s(more).write(t, g.config)
		if i%2 == 0 {
			hup() // in addition to the change of the file itself
		}
		g.reloaded(t, i+1)
	}
	if after := g.server(t, "good"); after.PID != before.PID || after.Incarnation != before.Incarnation {
		t.Errorf("changes that do not concern the connection reconnected the server: %+v, then %+v", before, after)
	}
	refusals := func() int { return strings.Count(g.log.String(), "the configuration was rejected") }
	for _, text := range []string{"mcpServers: [", "nonsense: 1", "\x00\x01", strings.Repeat("[", 50_000), `{"mcpServers":{"good":{"comand":"x"}}}`} {
		before := refusals()
		if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hup()
		waitFor(t, fmt.Sprintf("the log to report that %.20q was rejected", text), func() (bool, string) {
			n := refusals()
			return n > before, fmt.Sprint(n)
		})
	}
	slow := make(chan answer, 1)
	go func() {
		a, _ := c.try(context.Background(), strings.NewReader(callFrame(1, "good", "sleep", 1500)), nil)
		slow <- a
	}()
	waitFor(t, "the slow call to run", func() (bool, string) { n := g.server(t, "good").InFlight; return n > 0, fmt.Sprint(n) })
	s(map[string]any{"env": map[string]string{"OTHER": "1"}}).write(t, g.config)
	waitFor(t, "another process", func() (bool, string) {
		for _, b := range g.snapshot(t).Backends {
			if b.PID != before.PID && b.State == "ready" {
				return true, ""
			}
		}
		return false, fmt.Sprint(g.snapshot(t).Backends)
	})
	if a := <-slow; !strings.Contains(a.last(), `"done"`) {
		t.Errorf("a call that ran while env changed: %s", a)
	}
	waitFor(t, "the old process to be gone", func() (bool, string) {
		left := alive([]int{before.PID})
		return len(left) == 0, fmt.Sprint(left)
	})
	close(stop)
	load.Wait()
	close(faults)
	n := 0
	for fault := range faults {
		if n++; n <= 5 {
			t.Errorf("a call failed: %s", fault)
		}
	}
	if n > 0 || count.Load() == 0 {
		t.Errorf("%d of %d calls failed", n, count.Load())
	}
}

// reloaded waits until the log reports n reloads.
func (g *gateway) reloaded(t *testing.T, n int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d reloads", n), func() (bool, string) {
		return strings.Count(g.log.String(), "configuration reloaded") >= n, ""
	})
}

// A second gateway on the same port reports the conflict and the fix, and does not disturb the first.
func TestTwoGatewaysOnOnePort(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	for _, dir := range []string{g.dir, t.TempDir()} {
		second := exec.Command(binary, "serve", "--config", g.config, "--listen", g.host)
		var said bytes.Buffer
		second.Env, second.Stderr = environment(dir), &said
		err := second.Run()
		if second.ProcessState.ExitCode() != 1 || !containsAll(said.String(), []string{"error:", g.host, "hint:", "--listen"}) {
			t.Errorf("the second gateway: %v\n%s", err, &said)
		}
	}
	connect(t, g, "").works(t, "good")
	if n := g.snapshot(t); n == nil {
		t.Error("the first gateway lost its admin socket")
	}
	resp, err := http.Get(g.base + "/healthz")
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("healthz: %v %v", resp, err)
	}
}
