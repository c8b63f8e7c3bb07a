//go:build unix

package transport

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processTestGone waits until pid is no process any more, not even a zombie of ours.
func processTestGone(t *testing.T, what string, pid int) {
	t.Helper()
	for range 500 {
		if syscall.Kill(pid, 0) == syscall.ESRCH || processTestState(pid) == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s (%d) is still there", what, pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// processTestState returns the state letter of a process on Linux, "" elsewhere. An orphan that is a zombie is dead:
// whether it is reaped is up to the init of the machine.
func processTestState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func processTestPID(t *testing.T, e Received) int {
	t.Helper()
	var message struct{ Params struct{ PID int } }
	if err := json.Unmarshal(e.Frame.Raw, &message); err != nil || message.Params.PID <= 0 {
		t.Fatalf("no pid in %s", e.Frame.Raw)
	}
	return message.Params.PID
}

// A grandchild that holds stdout neither delays Closed nor survives.
func TestProcessGrandchildren(t *testing.T) {
	for _, what := range []string{"exit", "stay"} {
		t.Run(what, func(t *testing.T) {
			r := newLinkRecorder(t)
			l := OpenProcess(processTestOptions(t, "family:"+what), r.sink)
			grandchild := processTestPID(t, linkWait[Received](r, 1))
			began := time.Now()
			if what == "stay" {
				l.Close(5 * time.Second)
			}
			linkWait[Closed](r, 1)
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("Closed came after %v", d)
			}
			processTestGone(t, "grandchild", grandchild)
		})
	}
}

// A process that must exit at once takes along whatever its children started.
func TestKillProcesses(t *testing.T) {
	r := newLinkRecorder(t)
	OpenProcess(processTestOptions(t, "family:stay"), r.sink)
	grandchild := processTestPID(t, linkWait[Received](r, 1))
	KillProcesses()
	if c := linkWait[Closed](r, 1); c.Err == nil {
		t.Error("Closed without the reason")
	}
	processTestGone(t, "child", linkWait[Opened](r, 1).PID)
	processTestGone(t, "grandchild", grandchild)
	processes.Lock()
	defer processes.Unlock()
	if n := len(processes.running); n != 0 {
		t.Errorf("%d processes are still known", n)
	}
}

// Close goes from the end of input over TERM to KILL.
func TestProcessStubborn(t *testing.T) {
	r := newLinkRecorder(t)
	l := OpenProcess(processTestOptions(t, "stubborn"), r.sink)
	linkWait[Received](r, 1) // now it ignores TERM
	began := time.Now()
	l.Close(100 * time.Millisecond)
	if c := linkWait[Closed](r, 1); c.Err != nil {
		t.Errorf("Closed{%v}, want nil", c.Err)
	}
	if d := time.Since(began); d < 200*time.Millisecond {
		t.Errorf("killed after %v, before both graces were over", d)
	}
	processTestGone(t, "child", linkWait[Opened](r, 1).PID)
}

// A second Close without grace does not wait for the first.
func TestProcessHurry(t *testing.T) {
	r := newLinkRecorder(t)
	l := OpenProcess(processTestOptions(t, "stubborn"), r.sink)
	linkWait[Received](r, 1)
	began := time.Now()
	l.Close(time.Hour)
	l.Close(0)
	linkWait[Closed](r, 1)
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("Closed came after %v", d)
	}
}

func TestProcessKilled(t *testing.T) {
	r := newLinkRecorder(t)
	OpenProcess(processTestOptions(t, "echo"), r.sink)
	_ = syscall.Kill(linkWait[Opened](r, 1).PID, syscall.SIGKILL)
	c := linkWait[Closed](r, 1)
	if exit, ok := c.Err.(*ExitError); !ok || exit.Signal != "killed" {
		t.Errorf("Closed{%v}, want killed", c.Err)
	}
}

// Many restarts leave nothing behind: no process, no descriptor, no goroutine.
func TestProcessRestarts(t *testing.T) {
	restarts := 200
	if testing.Short() || linkRaceEnabled {
		restarts = 40
	}
	once := func(i int) int {
		r := newLinkRecorder(t)
		role := []string{"exit:0", "family:exit", "echo", "stubborn"}[i%4]
		l := OpenProcess(processTestOptions(t, role), r.sink)
		l.Send(Outgoing{Ticket: 1, Frame: processTestFrame(1)})
		pid := linkWait[Opened](r, 1).PID
		if i%4 >= 2 {
			l.Close(10 * time.Millisecond)
		}
		linkWait[Closed](r, 1)
		return pid
	}
	once(0)
	goroutines, files := runtime.NumGoroutine(), processTestFiles()
	pids := map[int]bool{}
	for i := range restarts {
		pids[once(i)] = true
	}
	for range 100 {
		if runtime.NumGoroutine() <= goroutines && processTestFiles() <= files {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines more than before", n-goroutines)
	}
	if n := processTestFiles(); n > files {
		t.Errorf("%d descriptors more than before", n-files)
	}
	for pid := range pids {
		if syscall.Kill(-pid, 0) == nil && !processTestAllZombies(pid) {
			t.Errorf("group %d has members left", pid)
		}
		if processTestState(pid) == "Z" {
			t.Errorf("%d is a zombie", pid)
		}
	}
}

// processTestAllZombies reports whether what is left of a group only waits for the machine's init to reap it.
func processTestAllZombies(group int) bool {
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

// processTestFiles counts our open descriptors; 0 where /proc is missing.
func processTestFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}
