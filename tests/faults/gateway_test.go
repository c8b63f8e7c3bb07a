//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/status"
)

// binary is the gateway, built once.
var binary string

// TestMain is the faulty servers too: `<test binary> faulty FAULT`.
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
	binary = filepath.Join(dir, "goblin-actor")
	build := []string{"build", "-o", binary}
	if os.Getenv("FAULTS_RACE") != "" {
		build = append(build, "-race")
	}
	if out, err := exec.Command("go", append(build, "goblin-actor/cmd/goblin-actor")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the gateway: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// bad returns a server with a fault; "" is a healthy one.
func bad(fault string) map[string]any {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return map[string]any{"command": self, "args": []string{"faulty", fault}}
}

// with returns server with more keys.
func with(server map[string]any, more map[string]any) map[string]any {
	for k, v := range more {
		server[k] = v
	}
	return server
}

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

// gateway is a running `serve`.
type gateway struct {
	url, base, host string // http://host:port/mcp, http://host:port, host:port
	dir, config     string
	cmd             *exec.Cmd
	log             *output
	exited          chan struct{} // closed when it has ended
	exit            error         // of Wait, then
	wantExit        int
}

// settings is a configuration; JSON is YAML.
type settings map[string]any

// servers is the settings that have nothing but these servers.
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

func environment(dir string) []string {
	return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
}

// serve starts a gateway. At the end of the test it must drain, exit 0 and leave no child.
func serve(t *testing.T, s settings) *gateway {
	t.Helper()
	dir, err := os.MkdirTemp("", "ga") // short: sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &gateway{dir: dir, config: filepath.Join(dir, "goblin.json"), log: &output{}, exited: make(chan struct{})}
	s.write(t, g.config)
	g.cmd = exec.Command(binary, "serve", "--config", g.config, "--listen", "127.0.0.1:0")
	g.cmd.Env, g.cmd.Stderr = environment(dir), g.log
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.end(t) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the gateway printed no URL: %v\n%s", err, g.log)
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		g.exit = g.cmd.Wait()
		close(g.exited)
	}()
	g.url = strings.TrimSpace(line)
	g.base = regexp.MustCompile(`https?://[^/]+`).FindString(line)
	g.host = strings.TrimPrefix(g.base, "http://")
	return g
}

// end drains the gateway if it still runs, and looks at what it leaves.
func (g *gateway) end(t *testing.T) {
	children := descendants(g.cmd.Process.Pid)
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() {
		t.Error("the gateway did not end within 20 s of SIGTERM")
		_ = g.cmd.Process.Kill()
	})
	<-g.exited
	err := g.exit
	kill.Stop()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code != g.wantExit {
		t.Errorf("the gateway's end: %v, want exit code %d", err, g.wantExit)
	}
	waitFor(t, 5*time.Second, "the gateway's children to be gone", func() (bool, string) {
		left := alive(children)
		return len(left) == 0, fmt.Sprint(left)
	})
	if log := g.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		t.Errorf("the log tells of a panic or a data race")
		t.Log(log)
	} else if t.Failed() {
		t.Logf("the gateway's log:\n%.20000s", log)
	}
}

// snapshot asks the admin socket.
func (g *gateway) snapshot(t *testing.T) *status.Snapshot {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(g.dir, "goblin-actor", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("admin sockets: %q, %v\n%s", sockets, err, g.log)
	}
	s, err := admin.Fetch(t.Context(), sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// server returns how a server is by the admin socket.
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
		waitFor(t, 30*time.Second, name+" to be ready", func() (bool, string) {
			b := g.server(t, name)
			return b.State == "ready", b.State + " " + b.Reason
		})
	}
	waitFor(t, 10*time.Second, "clients to be shown it", func() (bool, string) {
		code, page := get(g.base + "/readyz")
		return code == 200, page
	})
}

// logged waits until the log has one line with all of these.
func (g *gateway) logged(t *testing.T, parts ...string) {
	t.Helper()
	waitFor(t, 10*time.Second, fmt.Sprintf("a line of the log with %q", parts), func() (bool, string) {
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

// waitFor polls until done says so; detail is shown when it never does.
func waitFor(t *testing.T, limit time.Duration, what string, done func() (ok bool, detail string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, detail := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s: %s", limit, what, detail)
		case <-tick.C:
		}
	}
}

func get(url string) (int, string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
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

// alive returns those of pids that still run; zombies nobody waited for count.
func alive(pids []int) []int {
	var left []int
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			left = append(left, pid)
		}
	}
	return left
}

// descriptors returns how many the gateway has open.
func (g *gateway) descriptors() int {
	all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid))
	return len(all)
}

// fits asserts that the gateway's resident memory is below a limit in bytes; with the race detector that means nothing.
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

// goroutines returns how many the gateway has, by its metrics.
func (g *gateway) goroutines() int {
	_, page := get(g.base + "/metrics")
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
