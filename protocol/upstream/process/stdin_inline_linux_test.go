package process

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// A frame is written on the goroutine that waits for its response. A full pipe does not block that goroutine, and
// frames stay in order.
func TestStdinInline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	recorder := linktest.New(t)
	var q outbox
	q.Init(Options{}, func(e upstream.Event) error { return recorder.Sink(t.Context(), e) })
	opened := make(chan struct{})
	close(opened)
	q.start(w, opened, func(err error) { t.Error(err) })
	for ready := false; !ready; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		ready = q.try != nil
		q.mu.Unlock()
	}
	push := func(ticket uint64, size int) (job upstream.Job) {
		frame := fmt.Appendf(nil, "%d%s", ticket, strings.Repeat(".", size))
		q.push(upstream.Outgoing{Ticket: ticket, Frame: frame, RunInline: func(j upstream.Job) bool { job = j; return true }})
		return job
	}
	first := push(1, 10)
	push(2, 10) // the first is not written yet
	first.Do()
	linktest.Wait[upstream.Written](recorder, 2)
	push(3, 256<<10) // fills the pipe
	time.Sleep(10 * time.Millisecond)
	if job := push(4, 10); job != nil {
		t.Error("a frame is written inline during another write")
	}
	read := make(chan string)
	go func() { all, _ := io.ReadAll(r); read <- string(all) }()
	linktest.Wait[upstream.Written](recorder, 4)
	for q.isBusy() {
		time.Sleep(time.Millisecond)
	}
	push(5, 10).Do()
	q.close(upstream.ErrClosed, false)
	q.drain(func(e upstream.Event) { t.Errorf("%#v", e) })
	lines := strings.Split(<-read, "\n")
	for i, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, fmt.Sprint(i+1, ".")) {
			t.Errorf("line %d starts with %.10q", i+1, line)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d lines", len(lines)-1)
	}
}

func (q *outbox) isBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

// Data that does not fit is left to the writer.
func TestStdinInlineFull(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	try := tryWrite(w)
	taken := 0
	for line := make([]byte, atomicBytes-1); try(line); {
		taken += len(line)
	}
	if taken == 0 || taken > 1<<20 {
		t.Errorf("wrote %d bytes", taken)
	}
	if try([]byte(strings.Repeat(".", atomicBytes))) {
		t.Error("wrote more than fits")
	}
}
