//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

// binary is the gateway, built once.
var binary string

// Names of gatetest that these tests use without its prefix.
type output = gatetest.Output

var (
	environment = gatetest.Environment
	waitFor     = gatetest.WaitFor
	get         = gatetest.Get
)

// TestMain also runs the faulty servers: `<test binary> faulty FAULT`.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "faulty" {
		os.Exit(runFaulty(os.Args[2:]))
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
	var flags []string
	if os.Getenv("FAULTS_RACE") != "" {
		flags = []string{"-race"}
	}
	if binary, err = gatetest.Build(dir, flags...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// bad returns a server with the given fault, or a healthy one for "none".
func bad(fault string) map[string]any {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return map[string]any{"command": self, "args": []string{"faulty", fault}}
}

// with adds more keys to server and returns it.
func with(server map[string]any, more map[string]any) map[string]any {
	for k, v := range more {
		server[k] = v
	}
	return server
}

// holding returns a healthy server, and a function that releases its held calls.
func holding(t *testing.T) (server map[string]any, release func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "release")
	return with(bad("none"), map[string]any{"timeout": gatetest.Patience.String(), "env": map[string]string{"FAULTY_RELEASE": file}}), func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// gateway is a running `goblin-actor serve`.
type gateway struct {
	url, base, host string // http://host:port/mcp, http://host:port, host:port
	dir, config     string
	process         *gatetest.Process
	cmd             *exec.Cmd
	log             *gatetest.Output
	exited          chan struct{} // closed when the gateway has exited
	wantExit        int
}

// settings is a configuration. It is written as JSON, which is also YAML.
type settings map[string]any

// servers returns settings with only the given servers.
func servers(all map[string]any) settings { return settings{"mcpServers": all} }

func (s settings) write(t *testing.T, file string) {
	t.Helper()
	text, err := json.MarshalIndent(s, "", " ")
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a gateway. At the end of the test it must drain, exit 0 and leave no child.
func serve(t *testing.T, s settings) *gateway {
	t.Helper()
	g := &gateway{dir: gatetest.ShortDir(t)}
	g.config = filepath.Join(g.dir, "goblin.json")
	s.write(t, g.config)
	g.cmd = exec.Command(binary, "serve", "--config", g.config, "--listen", "127.0.0.1:0")
	g.cmd.Env = environment(g.dir)
	g.process = gatetest.Serve(t, g.cmd)
	g.log, g.exited = g.process.Log, g.process.Exited
	t.Cleanup(func() { g.end(t) })
	g.url, g.base = g.process.URL, g.process.Base
	g.host = strings.TrimPrefix(g.base, "http://")
	return g
}

// end drains the gateway if it still runs. It checks the exit code, and that no child is left and the log contains no
// panic or data race.
func (g *gateway) end(t *testing.T) {
	children := descendants(g.cmd.Process.Pid)
	err := g.process.End()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code != g.wantExit {
		t.Errorf("the gateway exited with %v, want exit code %d", err, g.wantExit)
	}
	waitFor(t, "the gateway's children to be gone", func() (bool, string) {
		left := alive(children)
		return len(left) == 0, fmt.Sprint(left)
	})
	if log := g.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		t.Errorf("the log contains a panic or a data race")
		t.Log(log)
	} else if t.Failed() {
		t.Logf("the gateway's log:\n%.20000s", log)
	}
}

// snapshot fetches the status from the admin socket.
func (g *gateway) snapshot(t *testing.T) *status.Snapshot {
	t.Helper()
	s, err := gatetest.Snapshot(t.Context(), g.dir)
	if err != nil {
		t.Fatalf("fetch the status: %v\n%s", err, g.log)
	}
	return s
}

// server returns a server's status.
func (g *gateway) server(t *testing.T, name string) status.Backend {
	t.Helper()
	for _, b := range g.snapshot(t).Backends {
		if b.Server == name {
			return b
		}
	}
	return status.Backend{}
}

// ready waits until these servers are ready.
func (g *gateway) ready(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		waitFor(t, name+" to be ready", func() (bool, string) {
			b := g.server(t, name)
			return b.State == "ready", b.State + " " + b.Reason
		})
	}
	gatetest.WaitReady(t, g.base)
}

// logged waits until the log has a line that contains all parts.
func (g *gateway) logged(t *testing.T, parts ...string) {
	t.Helper()
	waitFor(t, fmt.Sprintf("a line of the log with %q", parts), func() (bool, string) {
		for line := range strings.Lines(g.log.String()) {
			if containsAll(line, parts) {
				return true, ""
			}
		}
		return false, fmt.Sprintf("\n%.5000s", g.log)
	})
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// descendants returns the process ids below pid.
func descendants(pid int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
	}
	var all []int
	for next := children[pid]; len(next) > 0; {
		all = append(all, next...)
		var below []int
		for _, p := range next {
			below = append(below, children[p]...)
		}
		next = below
	}
	return all
}

// alive returns those of pids that still run, including zombies.
func alive(pids []int) []int {
	var left []int
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			left = append(left, pid)
		}
	}
	return left
}

// descriptors returns the number of open descriptors of the gateway.
func (g *gateway) descriptors() int {
	all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid))
	return len(all)
}

// fits checks that the gateway's resident memory is at most limit bytes. With the race detector it checks nothing.
func (g *gateway) fits(t *testing.T, limit int) {
	t.Helper()
	if n := g.resident(); n > limit && os.Getenv("FAULTS_RACE") == "" {
		t.Errorf("%d MiB resident, want at most %d", n>>20, limit>>20)
	}
}

// resident returns the gateway's resident memory in bytes.
func (g *gateway) resident() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.cmd.Process.Pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// goroutines returns the gateway's number of goroutines, from its metrics.
func (g *gateway) goroutines() int {
	_, page := get(g.base + "/metrics")
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// stopped waits until the process of a server has stopped itself (SIGSTOP), which happens a moment after its answer. It returns at once if the
// process no longer exists.
func (g *gateway) stopped(t *testing.T, name string) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/stat", g.server(t, name).PID)
	waitFor(t, name+" to be stopped", func() (bool, string) {
		text, err := os.ReadFile(path)
		_, state, _ := strings.Cut(string(text), ") ")
		return err != nil || strings.HasPrefix(state, "T"), state
	})
}
