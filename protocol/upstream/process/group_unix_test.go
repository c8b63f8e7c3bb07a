//go:build unix

package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// testGone waits until process pid has ended.
func testGone(t *testing.T, what string, pid int) {
	t.Helper()
	for range 500 {
		if syscall.Kill(pid, 0) == syscall.ESRCH || testState(pid) == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s (%d) still exists", what, pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// testState returns the state letter of a process on Linux, and "" elsewhere or if there is no such process. testGone
// treats a zombie as ended, because the machine's init has to reap orphans.
func testState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func testPID(t *testing.T, e upstream.Received) int {
	t.Helper()
	var message struct{ Params struct{ PID int } }
	if err := json.Unmarshal(e.Frame.Raw, &message); err != nil || message.Params.PID <= 0 {
		t.Fatalf("%s contains no pid", e.Frame.Raw)
	}
	return message.Params.PID
}

// A grandchild that holds stdout neither delays Closed nor survives.
func TestProcessGrandchildren(t *testing.T) {
	for _, what := range []string{"exit", "stay"} {
		t.Run(what, func(t *testing.T) {
			r := linktest.New(t)
			l := Open(childOptions(t, "family:"+what), r.Sink)
			grandchild := testPID(t, linktest.Wait[upstream.Received](r, 1))
			began := time.Now()
			if what == "stay" {
				l.Close(time.Hour)
			}
			linktest.Wait[upstream.Closed](r, 1)
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("Closed came after %v", d)
			}
			testGone(t, "grandchild", grandchild)
		})
	}
}

// KillAll kills the programs and their children.
func TestKillProcesses(t *testing.T) {
	r := linktest.New(t)
	Open(childOptions(t, "family:stay"), r.Sink)
	grandchild := testPID(t, linktest.Wait[upstream.Received](r, 1))
	KillAll()
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil {
		t.Error("Closed has no error")
	}
	testGone(t, "child", linktest.Wait[upstream.Opened](r, 1).PID)
	testGone(t, "grandchild", grandchild)
	processes.Lock()
	defer processes.Unlock()
	if n := len(processes.running); n != 0 {
		t.Errorf("%d processes are still registered", n)
	}
}

// However a program ends, its whole process group gets SIGTERM before SIGKILL.
func TestProcessGroupIsTerminatedBeforeItIsKilled(t *testing.T) {
	for _, c := range []struct {
		how  string
		want []string
	}{
		{"stay", []string{"child", "grandchild"}},  // Close: the program ignores the end of its input
		{"break", []string{"child", "grandchild"}}, // the connection breaks, and the program keeps running
		{"exit", []string{"grandchild"}},           // the program exits and leaves a grandchild behind
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			var missing []string
			for range 5 { // a busy machine may not run the handlers before SIGKILL
				dir := t.TempDir()
				r := linktest.New(t)
				l := Open(childOptions(t, "witness:"+c.how+","+dir), r.Sink)
				linktest.Wait[upstream.Received](r, 1)
				if c.how == "stay" {
					l.Close(time.Second)
				}
				linktest.Wait[upstream.Closed](r, 1)
				missing = slices.DeleteFunc(slices.Clone(c.want), func(name string) bool {
					_, err := os.Stat(filepath.Join(dir, name))
					return err == nil
				})
				if len(missing) == 0 {
					return
				}
			}
			t.Errorf("got no SIGTERM: %v", missing)
		})
	}
}

// Close ends the input, sends SIGTERM after grace, and SIGKILL after grace once more.
func TestProcessIsKilledAfterGrace(t *testing.T) {
	r := linktest.New(t)
	l := Open(childOptions(t, "stubborn"), r.Sink)
	linktest.Wait[upstream.Received](r, 1) // now it ignores SIGTERM
	began := time.Now()
	l.Close(100 * time.Millisecond)
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err != nil {
		t.Errorf("Closed{%v}, want nil", c.Err)
	}
	if d := time.Since(began); d < 200*time.Millisecond {
		t.Errorf("killed after %v, before grace had passed twice", d)
	}
	testGone(t, "child", linktest.Wait[upstream.Opened](r, 1).PID)
}

// A second Close without grace does not wait for the first.
func TestProcessSecondCloseDoesNotWait(t *testing.T) {
	r := linktest.New(t)
	l := Open(childOptions(t, "stubborn"), r.Sink)
	linktest.Wait[upstream.Received](r, 1)
	began := time.Now()
	l.Close(time.Hour)
	l.Close(0)
	linktest.Wait[upstream.Closed](r, 1)
	if d := time.Since(began); d > time.Minute {
		t.Errorf("Closed came after %v", d)
	}
}

func TestProcessKilled(t *testing.T) {
	r := linktest.New(t)
	Open(childOptions(t, "echo"), r.Sink)
	_ = syscall.Kill(linktest.Wait[upstream.Opened](r, 1).PID, syscall.SIGKILL)
	c := linktest.Wait[upstream.Closed](r, 1)
	if exit, ok := c.Err.(*upstream.ExitError); !ok || exit.Signal != "killed" {
		t.Errorf("Closed{%v}, want killed", c.Err)
	}
}

// Many restarts leak no process, descriptor or goroutine.
func TestProcessRestarts(t *testing.T) {
	restarts := 200
	if testing.Short() || raceEnabled {
		restarts = 40
	}
	once := func(i int) int {
		r := linktest.New(t)
		role := []string{"exit:0", "family:exit", "echo", "stubborn"}[i%4]
		l := Open(childOptions(t, role), r.Sink)
		l.Send(upstream.Outgoing{Ticket: 1, Frame: linktest.Request(1)})
		pid := linktest.Wait[upstream.Opened](r, 1).PID
		if i%4 >= 2 {
			l.Close(10 * time.Millisecond)
		}
		linktest.Wait[upstream.Closed](r, 1)
		return pid
	}
	once(0)
	goroutines, files := runtime.NumGoroutine(), testFiles()
	pids := map[int]bool{}
	for i := range restarts {
		pids[once(i)] = true
	}
	for range 100 {
		if runtime.NumGoroutine() <= goroutines && testFiles() <= files {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines leaked", n-goroutines)
	}
	if n := testFiles(); n > files {
		t.Errorf("%d descriptors leaked", n-files)
	}
	for pid := range pids {
		if syscall.Kill(-pid, 0) == nil && !testAllZombies(pid) {
			t.Errorf("group %d has members left", pid)
		}
		if testState(pid) == "Z" {
			t.Errorf("%d is a zombie", pid)
		}
	}
}

// testAllZombies reports whether all processes of a group are zombies.
func testAllZombies(group int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			return false
		}
	}
	return true
}

// testFiles returns the number of open descriptors, or 0 without /proc.
func testFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// A program with a relative path is started by its absolute path, from which Python finds its virtual environment.
func TestProcessIsCalledByItsPath(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(base, "shell")); err != nil {
		t.Fatal(err)
	}
	r := linktest.New(t)
	l := Open(Options{Command: "./shell", Base: base, Dir: elsewhere, Args: []string{"-c", `echo "$0" >&2; pwd >&2`}}, r.Sink)
	c := linktest.Wait[upstream.Closed](r, 1)
	if want := []string{filepath.Join(base, "shell"), elsewhere}; !slices.Equal(c.Stderr, want) {
		t.Errorf("stderr %q, want %q", c.Stderr, want)
	}
	l.Close(0)
}
