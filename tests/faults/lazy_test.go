//go:build linux

package faults

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// The process of a lazy server runs only while it is used: it ends after idleStop, the next call starts a new one, and a
// process that dies in its first call fails only that call.
func TestLazyProcess(t *testing.T) {
	t.Parallel()
	lazy := map[string]any{"startup": "lazy", "idleStop": "300ms"}
	g := serve(t, servers(map[string]any{"odd": with(bad("none"), lazy), "good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	asleep := func() {
		t.Helper()
		waitFor(t, "the lazy server to be idle", func() (bool, string) {
			for _, s := range g.snapshot(t).Servers {
				if s.Name == "odd" {
					return s.State == "idle" && s.Tools > 0 && len(descendants(g.cmd.Process.Pid)) == 1, fmt.Sprintf("%+v", s)
				}
			}
			return false, "no such server"
		})
	}
	asleep()
	for range 3 {
		c.works(t, "odd")
		asleep()
		_, name := c.call(t, "odd", "exit", 0).fault()
		if name != "BACKEND_DISCONNECTED" {
			t.Errorf("server that dies in its first call: %s", name)
		}
		asleep()
	}
}

// No call fails while a server's processes are restarted and scaled. After each change, their number is as configured.
func TestScalingUnderLoad(t *testing.T) {
	t.Parallel()
	s := func(n int) settings {
		return servers(map[string]any{"good": with(bad("none"), map[string]any{"replicas": n})})
	}
	g := serve(t, s(1))
	g.ready(t, "good")
	stop, faults := make(chan struct{}), make(chan string, 1000)
	var load sync.WaitGroup
	for range 4 {
		c := connect(t, g, "")
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a, err := c.try(context.Background(), strings.NewReader(callFrame(1, "good", "sleep", 5)), nil); err != nil || !strings.Contains(a.last(), `"done"`) {
					faults <- fmt.Sprint(a, err)
				}
			}
		})
	}
	for _, n := range []int{3, 2, 4, 1} {
		s(n).write(t, g.config)
		waitFor(t, fmt.Sprintf("%d replicas", n), func() (bool, string) {
			at := g.snapshot(t).Servers[0]
			if at.ReadyCount < 1 {
				t.Errorf("scaling to %d: none of %d is ready", n, at.Replicas)
			}
			return at.Replicas == n && at.ReadyCount == n && len(descendants(g.cmd.Process.Pid)) == n, fmt.Sprintf("%+v", at)
		})
	}
	before := g.server(t, "good").PID
	restart := exec.Command(binary, "restart", "good", "--connect", g.host)
	restart.Env = environment(g.dir)
	if out, err := restart.CombinedOutput(); err != nil {
		t.Fatalf("restart: %v\n%s", err, out)
	}
	waitFor(t, "another process", func() (bool, string) {
		if at := g.snapshot(t).Servers[0]; at.ReadyCount != 1 {
			t.Errorf("during the restart: %d ready", at.ReadyCount)
		}
		left := descendants(g.cmd.Process.Pid)
		return len(left) == 1 && left[0] != before, fmt.Sprint(left)
	})
	time.Sleep(100 * time.Millisecond) // let calls reach the new process
	close(stop)
	load.Wait()
	close(faults)
	for fault := range faults {
		t.Errorf("a call failed: %s", fault)
	}
}
