//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// repetitions returns n, or the value of FAULTS_N.
func repetitions(n int) int {
	if more, err := strconv.Atoi(os.Getenv("FAULTS_N")); err == nil && more > 0 {
		return more
	}
	return n
}

// Ten thousand sessions are opened and dropped, some with a stream and a call. No memory, descriptor or
// goroutine leaks.
func TestSessionsOpenedAndDropped(t *testing.T) {
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	open := func(n int) {
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				transport := &http.Transport{MaxIdleConnsPerHost: 4}
				defer transport.CloseIdleConnections()
				for i := worker; i < n; i += 8 {
					c := connectWith(t, g, &http.Client{Transport: transport}, "2025-11-25", elicits)
					leave := func() {}
					if i%10 == 0 {
						_, leave = c.stream(t, "")
						c.works(t, "good")
					}
					c.remove(t)
					leave()
				}
			})
		}
		all.Wait()
	}
	quiet := func(want int) (resident, descriptors, goroutines int) {
		waitFor(t, "the sessions to be gone", func() (bool, string) {
			n := len(g.snapshot(t).Sessions)
			return n == 0, fmt.Sprint(n, " sessions")
		})
		if want > 0 {
			waitFor(t, "the goroutines to be gone", func() (bool, string) {
				n := g.goroutines()
				return n <= want, fmt.Sprintf("%d goroutines, want %d", n, want)
			})
		}
		return g.resident(), g.descriptors(), g.goroutines()
	}
	open(1000) // fill the pools and let the heap grow to its steady size
	resident, descriptors, goroutines := quiet(0)
	open(repetitions(9000))
	afterResident, afterDescriptors, _ := quiet(goroutines + 20)
	t.Logf("resident %d MiB, then %d MiB; %d and %d descriptors", resident>>20, afterResident>>20, descriptors, afterDescriptors)
	g.fits(t, resident+30<<20)
	if afterDescriptors > descriptors+20 {
		t.Errorf("%d descriptors, %d before", afterDescriptors, descriptors)
	}
}

// Clients open sessions without closing them: beyond maxSessions the least recently used ones are dropped.
func TestAbandonedSessions(t *testing.T) {
	t.Parallel()
	s := servers(map[string]any{"good": bad("none")})
	s["limits"] = map[string]any{"maxSessions": 200}
	g := serve(t, s)
	g.ready(t, "good")
	first := connect(t, g, "")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for range 1000 {
		connectWith(t, g, &http.Client{Transport: transport}, "2025-06-18", "{}")
	}
	if n := len(g.snapshot(t).Sessions); n > 200 {
		t.Errorf("%d sessions, want at most 200", n)
	}
	if a := first.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != 404 {
		t.Errorf("the least recently used session: %s, want 404", a)
	}
}

// A child process that dies repeatedly leaks no process, descriptor or goroutine, and does not affect the other server.
func TestRestarts(t *testing.T) {
	t.Parallel()
	quick := map[string]any{"reconnect": map[string]any{"min": "1ms", "max": "2ms"}}
	g := serve(t, servers(map[string]any{"odd": with(bad("none"), quick), "good": bad("none")}))
	g.ready(t, "odd", "good")
	c := connect(t, g, "")
	children, descriptors, goroutines := len(descendants(g.cmd.Process.Pid)), g.descriptors(), g.goroutines()
	for n := range repetitions(150) {
		waitFor(t, "odd to be ready", func() (bool, string) {
			a, err := c.try(context.Background(), strings.NewReader(callFrame(1, "odd", "exit", 0)), nil)
			_, name := a.fault()
			return name == "BACKEND_DISCONNECTED", fmt.Sprint(a, err)
		})
		if n%25 == 0 {
			c.works(t, "good")
		}
	}
	g.ready(t, "odd", "good")
	waitFor(t, "nothing to be left", func() (bool, string) {
		p, d, r := len(descendants(g.cmd.Process.Pid)), g.descriptors(), g.goroutines()
		return p == children && d <= descriptors+5 && r <= goroutines+10,
			fmt.Sprintf("%d processes, before %d; %d descriptors, before %d; %d goroutines, before %d", p, children, d, descriptors, r, goroutines)
	})
	if b := g.server(t, "good"); b.Incarnation != 1 {
		t.Errorf("the other server was restarted: %+v", b)
	}
}

// A server whose process exits at every start is retried, but at most three times in two seconds.
func TestServerThatNeverStarts(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"odd": bad("exit"), "good": bad("none")}))
	waitFor(t, "a few attempts", func() (bool, string) { n := g.server(t, "odd").Incarnation; return n >= 3, fmt.Sprint(n) })
	before := g.server(t, "odd").Incarnation
	began := time.Now()
	waitFor(t, "two seconds", func() (bool, string) { return time.Since(began) > 2*time.Second, "" })
	n, took := g.server(t, "odd").Incarnation-before, time.Since(began)
	if n > 6*uint64(took/time.Second)/2 { // two processes per attempt: one for each era
		t.Errorf("%d processes in %s", n, took)
	}
}

// Without free descriptors, existing connections continue, and new ones are accepted once descriptors are available again.
func TestWithoutDescriptors(t *testing.T) {
	t.Parallel()
	g := serve(t, servers(map[string]any{"good": bad("none")}))
	g.ready(t, "good")
	c := connect(t, g, "")
	var limit unix.Rlimit
	if err := unix.Prlimit(g.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = uint64(g.descriptors() + 20)
	if err := unix.Prlimit(g.cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	for range 60 {
		conn, err := net.Dial("tcp", g.host)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\n")
		open = append(open, conn)
	}
	g.logged(t, "WARN", "too many open files", "ulimit -n")
	c.works(t, "good")
	for _, conn := range open {
		_ = conn.Close()
	}
	connect(t, g, "").works(t, "good")
}

// A gateway that is a server of itself starts only a few nested gateways.
func TestGatewayOfItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "circle.json")
	circle := servers(map[string]any{"me": map[string]any{"command": binary, "args": []string{"stdio", "--config", file}, "env": map[string]string{"XDG_STATE_HOME": dir}}})
	circle["metaTools"] = "false" // marks the file as goblin-actor's own; in another program's file, the gateway would skip its own entry
	circle.write(t, file)
	circle["mcpServers"].(map[string]any)["good"] = bad("none")
	g := serve(t, circle)
	waitFor(t, "three gateways under each other", func() (bool, string) {
		n := len(descendants(g.cmd.Process.Pid))
		return n >= 4, fmt.Sprint(n, " processes")
	})
	connect(t, g, "").works(t, "good")
	began := time.Now()
	waitFor(t, "no more than six after a while", func() (bool, string) {
		n := len(descendants(g.cmd.Process.Pid))
		if n > 12 { // a nested gateway may be restarted in another era while the previous one is still ending
			t.Fatalf("%d processes", n)
		}
		return n <= 6 && time.Since(began) > 2*time.Second, fmt.Sprint(n, " processes")
	})
}
