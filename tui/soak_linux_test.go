//go:build !race

package tui

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

var soakTime = flag.Duration("soak", 0, "how long TestSoak measures after its warm-up of 500 seconds")

const (
	soakGrowth = 2 << 20           // bytes that the heap may grow
	soakWarm   = 500 * time.Second // until the console's and the gateway's rings are full
)

// soakKeys are pressed again and again. They go through most views and return to the overview.
var soakKeys = []string{"1", "<down>", "d", "<esc>", "2", "/thing_000<enter>", "<end>", "<enter>", "<esc>", "<esc>", "N", "N", "N", "6", "<enter>", "<esc>", "/outcome:!ok<enter>", "<esc>",
	"7", "R", "<enter>", "<esc>", "8", "D", "5", "v", "w", "<end>", "9", "<ctrl-w>", ":users<enter>", ":denials<enter>", ":logins<enter>", ":subscriptions<enter>", ":backends<enter>",
	"x", "<esc>", "?", "<esc>", " ", " ", ":palette blind<enter>", "\x1b[<0;5;6M\x1b[<0;5;6m", "\x1b[<65;5;9M", "0", "<tab>", "f", "<esc>", "y", "<esc>", ":palette colour<enter>", "0"}

// soak is a console of a real gateway with many tools, sessions and calls, and a server that ends again and again.
type soak struct {
	t       *testing.T
	gateway *gatetest.Process
	source  status.Source
	pty     *countingPTY
	console []float64 // bytes of the heap, at the end of each round of keys
	served  []float64 // of the gateway
	at      []time.Duration
}

// While a console is used under load, neither it nor the gateway grows. Afterwards both have the goroutines and descriptors that they
// had before. make soak-tui runs this test.
func TestSoak(t *testing.T) {
	if *soakTime == 0 {
		t.Skip("takes long; make soak-tui runs it")
	}
	s := &soak{t: t}
	s.serve()
	first, stop := s.load(), s.open() // what processes keep, such as the goroutine of signals and those of the gateway's actors, is there from now on
	s.sessions(soakSessions)
	time.Sleep(2 * time.Second)
	stop()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	began := s.rest("before")
	goroutines, descriptors := runtime.NumGoroutine(), len(descriptorsOf(t, os.Getpid()))
	load := s.load()
	stop = s.open()
	s.use()
	stop()
	if err := load.Close(); err != nil {
		t.Error(err)
	}
	for range 1000 {
		if runtime.NumGoroutine() <= goroutines && len(descriptorsOf(t, os.Getpid())) <= descriptors {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	n := len(descriptorsOf(t, os.Getpid()))
	t.Logf("console: goroutines %d, then %d; descriptors %d, then %d", goroutines, runtime.NumGoroutine(), descriptors, n)
	if runtime.NumGoroutine() > goroutines || n > descriptors {
		buf := make([]byte, 1<<16)
		t.Errorf("the console left goroutines or descriptors:\n%s", buf[:runtime.Stack(buf, true)])
	}
	s.rest("after", began...)
	s.judge("console", s.console)
	s.judge("gateway", s.served)
	if err := s.gateway.End(); err != nil {
		t.Error(err)
	}
}

// serve starts the gateway.
func (s *soak) serve() {
	t := s.t
	dir := gatetest.ShortDir(t)
	binary, err := gatetest.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "goblin.yaml")
	text := fmt.Sprintf("mcpServers:\n  big: {command: %q, env: {%[2]s: server}}\n  flaps: {command: %[1]q, env: {%[2]s: flaps}}\n", self, soakEnv)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--config", config)
	cmd.Env = gatetest.Environment(dir)
	s.gateway = gatetest.Serve(t, cmd)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.gateway.Base, "http://"), ":")
	if s.source, err = admin.Dial(filepath.Join(dir, "goblin-actor", port+".sock")); err != nil {
		t.Fatal(err)
	}
}

// load starts the clients. Closing the returned pipe ends them, and waits for that.
func (s *soak) load() io.Closer {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), soakEnv+"=load", "GOBLIN_SOAK_URL="+s.gateway.URL)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return closing(func() error { _ = in.Close(); return cmd.Wait() })
}

type closing func() error

// Close implements io.Closer.
func (c closing) Close() error { return c() }

// open opens the console on a terminal of its own. The returned function ends it.
func (s *soak) open() (stop func()) {
	t := s.t
	s.pty = newCountingPTY(t, 120, 40)
	tty, err := tcell.NewDevTtyFromDev(s.pty.name)
	if err != nil {
		t.Fatal(err)
	}
	xterm, err := tcell.LookupTerminfo("xterm-256color")
	if err != nil {
		t.Fatal(err)
	}
	own := *xterm
	screen, err := tcell.NewTerminfoScreenFromTtyTerminfo(tty, &own)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, s.source, Options{Screen: screen}) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = s.pty.main.Close()
	}
}

// use presses keys and measures until the time is over.
func (s *soak) use() {
	began := time.Now()
	for round := 0; time.Since(began) < soakWarm+*soakTime; round++ {
		for _, key := range soakKeys {
			for name, sequence := range sequences {
				key = strings.ReplaceAll(key, name, sequence)
			}
			if _, err := s.pty.main.WriteString(key); err != nil {
				s.t.Fatal(err)
			}
			time.Sleep(150 * time.Millisecond)
		}
		s.size(80+round%3*20, 24+round%3*8)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.console = append(s.console, float64(m.HeapAlloc))
		s.served = append(s.served, s.live())
		s.at = append(s.at, time.Since(began))
		if round%10 == 0 {
			s.t.Logf("%4.0f s: console %.2f MiB, gateway %.2f MiB, %d sessions", time.Since(began).Seconds(), float64(m.HeapAlloc)/(1<<20), s.served[len(s.served)-1]/(1<<20), len(s.snapshot().Sessions))
		}
	}
}

func (s *soak) size(w, h int) {
	if err := unix.IoctlSetWinsize(int(s.pty.main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)}); err != nil {
		s.t.Error(err)
	}
}

// live estimates the bytes of the gateway's live heap: half of the size at which its next collection begins.
func (s *soak) live() float64 {
	page, err := s.source.Metrics(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(line, "go_memstats_next_gc_bytes "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n / 2
		}
	}
	s.t.Fatal("no go_memstats_next_gc_bytes")
	return 0
}

func (s *soak) snapshot() *status.Snapshot {
	snapshot, err := s.source.Status(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return snapshot
}

// sessions waits until the gateway has n sessions.
func (s *soak) sessions(n int) {
	gatetest.WaitFor(s.t, "sessions", func() (bool, string) {
		have := len(s.snapshot().Sessions)
		return have == n, fmt.Sprintf("%d sessions", have)
	})
}

// rest waits until the gateway has no sessions and all servers are ready, and returns its goroutines and descriptors. If there are
// earlier ones, it waits until there are no more than these.
func (s *soak) rest(when string, earlier ...int) []int {
	var now []int
	gatetest.WaitFor(s.t, "the gateway to be idle "+when, func() (bool, string) {
		snapshot := s.snapshot()
		ready := len(snapshot.Sessions) == 0 && len(snapshot.Servers) == 2
		for _, server := range snapshot.Servers {
			ready = ready && server.State == "ready"
		}
		now = []int{snapshot.Process.Goroutines, len(descriptorsOf(s.t, s.gateway.Cmd.Process.Pid))}
		for i := range earlier {
			ready = ready && now[i] <= earlier[i]
		}
		return ready, fmt.Sprintf("goroutines and descriptors %d, before %d; %d sessions", now, earlier, len(snapshot.Sessions))
	})
	s.t.Logf("gateway %s: goroutines %d, descriptors %d", when, now[0], now[1])
	return now
}

// judge fails the test if the heap has grown by more than soakGrowth. It compares the median of the first tenth of soakTime after the
// warm-up with that of the last tenth. Both parts last at least 20 seconds.
func (s *soak) judge(what string, heap []float64) {
	part := max(*soakTime/10, 20*time.Second)
	median := func(from, to time.Duration) float64 {
		var all []float64
		for i, at := range s.at {
			if at >= from && at <= to {
				all = append(all, heap[i])
			}
		}
		if len(all) == 0 {
			s.t.Fatalf("nothing was measured from %v to %v", from, to)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	last := s.at[len(s.at)-1]
	begin, end := median(soakWarm, soakWarm+part), median(last-part, last)
	s.t.Logf("%s: heap %.2f MiB after %v, %.2f MiB after %v: %+.2f MiB", what, begin/(1<<20), soakWarm, end/(1<<20), last.Round(time.Second), (end-begin)/(1<<20))
	if end-begin > soakGrowth {
		s.t.Errorf("the heap of the %s has grown", what)
	}
}

// descriptorsOf returns the open descriptors of a process.
func descriptorsOf(t *testing.T, pid int) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
