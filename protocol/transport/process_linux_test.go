package transport

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The child dies with us even when we have no time to say so.
func TestProcessParentDeath(t *testing.T) {
	o := processTestOptions(t, "parent")
	parent := exec.Command(o.Command)
	parent.Env = o.Env
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, _ := out.Read(buf)
	child, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	processTestGone(t, "child of a killed parent", child)
}

// The thread that forked is kept: if it ended, the kernel would take that for our death.
func TestProcessOutlivesThreads(t *testing.T) {
	l, r := processTestOpen(t, processTestOptions(t, "echo"))
	linkWait[Opened](r, 1)
	for range 50 {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			close(done)
		}()
		<-done
	}
	l.Send(Outgoing{Ticket: 1, Frame: processTestFrame(1)})
	linkWait[Received](r, 1)
}
