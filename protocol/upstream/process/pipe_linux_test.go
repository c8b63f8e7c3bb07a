package process

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// The number of wide pipes is limited and counted, and a file that is not a pipe is not widened.
func TestWidePipes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	before := wide.Load()
	if !widen(r) {
		t.Fatal("not widened")
	}
	if n, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0); err != nil || n != widePipe {
		t.Errorf("the pipe holds %d bytes (%v), want %d", n, err, widePipe)
	}
	narrowed()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if widen(file) {
		t.Error("widened a file that is not a pipe")
	}
	wide.Add(widePipes)
	if widen(r) {
		t.Errorf("more than %d pipes are wide", widePipes)
	}
	wide.Add(-widePipes)
	if n := wide.Load(); n != before {
		t.Errorf("%d pipes count as wide, want %d", n, before)
	}
}

// A process that prints a large line gets a wide pipe until it ends.
func TestLargeLinesWidenThePipe(t *testing.T) {
	before := wide.Load()
	l, r := testOpen(t, childOptions(t, "echo"))
	for i, size := range []int{1000, 1_000_000, 1_000_000} {
		frame := []byte(`{"jsonrpc":"2.0","method":"m","params":{"x":"` + strings.Repeat("y", size) + `"}}`)
		l.Send(upstream.Outgoing{Ticket: uint64(i + 1), Frame: frame})
		if got := linktest.Wait[upstream.Received](r, i+1); !bytes.Equal(got.Frame.Raw, frame) {
			t.Errorf("frame of %d bytes came back with %d", size, len(got.Frame.Raw))
		}
		if n := wide.Load() - before; n != int32(min(i, 1)) {
			t.Errorf("after %d bytes: %d wide pipes", size, n)
		}
	}
	l.Close(5 * time.Second)
	linktest.Wait[upstream.Closed](r, 1)
	if n := wide.Load(); n != before {
		t.Errorf("%d pipes still count as wide", n-before)
	}
}
