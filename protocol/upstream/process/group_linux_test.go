package process

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// The child ends even if the gateway is killed.
func TestProcessParentDeath(t *testing.T) {
	o := childOptions(t, "parent")
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
	testGone(t, "child of a killed parent", child)
}

// The thread that forked the child is kept, because the kernel would kill the child when that thread ends.
func TestProcessOutlivesThreads(t *testing.T) {
	l, r := testOpen(t, childOptions(t, "echo"))
	linktest.Wait[upstream.Opened](r, 1)
	for range 50 {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			close(done)
		}()
		<-done
	}
	l.Send(upstream.Outgoing{Ticket: 1, Frame: linktest.Request(1)})
	linktest.Wait[upstream.Received](r, 1)
}
