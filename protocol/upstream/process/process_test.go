package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// testOpen opens a link to the test binary in a role, and closes it after the test.
func testOpen(t *testing.T, o Options) (upstream.Link, *linktest.Recorder) {
	t.Helper()
	r := linktest.New(t)
	l := Open(o, r.Sink)
	t.Cleanup(func() {
		l.Close(0)
		linktest.Wait[upstream.Closed](r, 1)
	})
	return l, r
}

// runAnywhere runs every job in a new goroutine.
func runAnywhere(job upstream.Job) bool {
	go job.Do()
	return true
}

func TestProcessExchangesMessages(t *testing.T) {
	l, r := testOpen(t, childOptions(t, "echo"))
	const n = 200
	for i := 1; i <= n; i++ {
		l.Send(upstream.Outgoing{Ticket: uint64(i), Frame: linktest.Request(i), Request: true, RunInline: runAnywhere})
	}
	for i := 1; i <= n; i++ {
		got := linktest.Wait[upstream.Received](r, i)
		if want := linktest.Request(i); !bytes.Equal(got.Frame.Raw, want) || got.Ticket != 0 || got.Last {
			t.Fatalf("answer %d = %+v %s, want %s", i, got, got.Frame.Raw, want)
		}
		if cap(got.Frame.Raw) != len(got.Frame.Raw) && cap(got.Frame.Raw) > len(got.Frame.Raw)+16 {
			t.Fatalf("a frame of %d bytes occupies %d", len(got.Frame.Raw), cap(got.Frame.Raw))
		}
	}
	linktest.Wait[upstream.Written](r, n)
	if o, ok := r.Events()[0].(upstream.Opened); !ok || o.PID <= 0 {
		t.Errorf("first event = %#v, want Opened with a pid", r.Events()[0])
	}
	l.Close(5 * time.Second)
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err != nil {
		t.Errorf("Closed after Close: %v, want nil", c.Err)
	}
	sent, _ := linktest.Tickets(r.Events())
	for i := uint64(1); i <= n; i++ {
		if sent[i] != 1 {
			t.Errorf("ticket %d reported %d times", i, sent[i])
		}
	}
}

// A frame sent right before Close, such as a cancellation, still arrives.
func TestProcessCloseFlushes(t *testing.T) {
	l, r := testOpen(t, childOptions(t, "count"))
	const n, size = 50, 100_000
	frame := []byte(`{"jsonrpc":"2.0","method":"m","params":{"x":"` + strings.Repeat("y", size) + `"}}`)
	for i := range uint64(n) {
		l.Send(upstream.Outgoing{Ticket: i + 1, Frame: frame, RunInline: runAnywhere})
	}
	l.Close(10 * time.Second)
	got := string(linktest.Wait[upstream.Received](r, 1).Frame.Raw)
	if want := fmt.Sprintf(`"n":%d`, n*(len(frame)+1)); !strings.Contains(got, want) {
		t.Errorf("child read %s, want %s", got, want)
	}
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err != nil {
		t.Errorf("Closed: %v", c.Err)
	}
}

func TestProcessStdout(t *testing.T) {
	const a, b = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"x"}`
	long := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 300_000) + `"}`
	for _, test := range []struct {
		name, printed string
		frames        []string
		noise         []error // one error each; nil = any
		max           int
		ids           string // ids of all noise, joined
	}{
		{name: "lines", printed: a + "\n" + b + "\n", frames: []string{a, b}},
		{name: "crlf", printed: a + "\r\n" + b + "\r\n", frames: []string{a, b}},
		{name: "blank lines", printed: "\n\r\n  \n" + a + "\n\n", frames: []string{a}},
		{name: "byte order mark", printed: "\xef\xbb\xbf" + a + "\n", frames: []string{a}},
		{name: "byte order mark before each line", printed: "\xef\xbb\xbf" + a + "\n\xef\xbb\xbf" + b + "\r\n \xef\xbb\xbf [" + b + "]\n", frames: []string{a, b, b}},
		{name: "byte order mark and nothing else", printed: "\xef\xbb\xbf\n" + a + "\n", frames: []string{a}},
		{name: "byte order mark before a long line", printed: a + "\n\xef\xbb\xbf" + long + "\n", frames: []string{a, long}},
		{name: "byte order mark before an answer that is too long", printed: "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 300_000) + "\"}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 100_000, ids: "7"},
		{name: "banner before the first message", printed: "Server running on stdio " + a + "\n" + b + "\n", frames: []string{a, b}, noise: []error{upstream.ErrNotJSON}},
		{name: "banner before a long first message", printed: "Server running on stdio " + long + "\n" + b + "\n", frames: []string{long, b}, noise: []error{upstream.ErrNotJSON}},
		{name: "banner before a broken message", printed: "Server running on stdio " + a[:20] + "\n" + a + "\n", frames: []string{a}, noise: []error{upstream.ErrNotJSON, nil}},
		{name: "banner twice", printed: "one " + a[:20] + "\ntwo " + a + "\n" + b + "\n", frames: []string{b}, noise: []error{upstream.ErrNotJSON, nil, upstream.ErrNotJSON}},
		{name: "text before a later message", printed: a + "\ntook 3 ms " + b + "\n", frames: []string{a}, noise: []error{upstream.ErrNotJSON}},
		{name: "garbage", printed: "Server running\n" + a + "\n[info] x\n{broken\n" + b + "\n", frames: []string{a, b}, noise: []error{upstream.ErrNotJSON, nil, nil}},
		{name: "no json-rpc", printed: `{"level":"info"}` + "\n" + a + "\n", frames: []string{a}, noise: []error{nil}},
		{name: "not utf-8", printed: "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n" + a + "\n", frames: []string{a}, noise: []error{nil}},
		{name: "batch", printed: "[" + a + "," + b + "]\n", frames: []string{a, b}},
		{name: "too long", printed: `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 300) + "\"}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 100},
		{name: "much too long", printed: `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 300_000) + "\"}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 100_000},
		{name: "broken answer", printed: "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"\xff\"}}\n" + a + "\n", frames: []string{a}, noise: []error{nil}, ids: "7"},
		{name: "answer too long", printed: `{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("x", 300_000) + "\"}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 100_000, ids: "7"},
		{name: "answer too long, id last", printed: `{"result":"` + strings.Repeat("x", 300_000) + "\",\"jsonrpc\":\"2.0\",\"id\":7}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 100_000, ids: "7"},
		{name: "answer a little too long, id last", printed: `{"result":"` + strings.Repeat("x", 150) + "\",\"jsonrpc\":\"2.0\",\"id\":7}\n" + a + "\n", frames: []string{a}, noise: []error{stream.ErrFrameTooLarge}, max: 180, ids: "7"},
		{name: "long garbage", printed: strings.Repeat("log ", 100_000) + "\n" + a + "\n", frames: []string{a}, noise: []error{upstream.ErrNotJSON}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := linktest.New(t)
			p := &link{sink: r.Sink, ctx: context.Background(), failed: make(chan error, 1)}
			reader := stdoutReader{link: p, lines: stream.Lines{R: strings.NewReader(test.printed)}, rope: stream.Rope{Max: upstream.MaxMessage(test.max)}}
			_ = reader.run()
			var frames []string
			for _, f := range linktest.All[upstream.Received](r) {
				frames = append(frames, string(f.Frame.Raw))
			}
			if fmt.Sprint(frames) != fmt.Sprint(test.frames) {
				t.Errorf("frames %q, want %q", frames, test.frames)
			}
			noise := linktest.All[upstream.Noise](r)
			if len(noise) != len(test.noise) {
				t.Fatalf("noise %v, want %d", noise, len(test.noise))
			}
			ids := ""
			for _, n := range noise {
				ids += string(n.ID)
			}
			if ids != test.ids {
				t.Errorf("noise with ids %q, want %q", ids, test.ids)
			}
			for i, n := range noise {
				if len(n.Line) > 512 || n.Err == nil || test.noise[i] != nil && !errors.Is(n.Err, test.noise[i]) {
					t.Errorf("noise %d: %d bytes, %v, want %v", i, len(n.Line), n.Err, test.noise[i])
				}
			}
		})
	}
}

// Messages after an overlong line are received.
func TestProcessGarbageOverPipe(t *testing.T) {
	o := childOptions(t, "big:300000")
	o.MaxMessageBytes = 100_000
	_, r := testOpen(t, o)
	if n := linktest.Wait[upstream.Noise](r, 1); !errors.Is(n.Err, stream.ErrFrameTooLarge) {
		t.Errorf("noise %v, want %v", n.Err, stream.ErrFrameTooLarge)
	}
	if f := linktest.Wait[upstream.Received](r, 1); f.Frame.Kind != protocol.KindNotification {
		t.Errorf("got %s", f.Frame.Raw)
	}
}

// Reading a line of 64 MiB allocates at most 2.5 times its size.
func TestProcessLongLineMemory(t *testing.T) {
	const size = 64 << 20
	budget := stream.NewBudget(1 << 30)
	o := childOptions(t, fmt.Sprintf("big:%d", size))
	o.MaxMessageBytes, o.Budget = size, budget
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, r := testOpen(t, o)
	if f := linktest.Wait[upstream.Received](r, 1); len(f.Frame.Raw) != size || f.Frame.Kind != protocol.KindResult {
		t.Fatalf("frame of %d bytes", len(f.Frame.Raw))
	}
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > size*5/2 {
		t.Errorf("%d MiB allocated for a line of %d MiB", all>>20, size>>20)
	}
	linktest.Wait[upstream.Received](r, 2)
	if budget.Used() != 0 {
		t.Errorf("budget: %d bytes not released", budget.Used())
	}
}

func TestProcessExit(t *testing.T) {
	for _, test := range []struct {
		role string
		want upstream.ExitError
	}{
		{"exit:0", upstream.ExitError{Code: 0}},
		{"exit:3", upstream.ExitError{Code: 3}},
	} {
		r := linktest.New(t)
		Open(childOptions(t, test.role), r.Sink)
		c := linktest.Wait[upstream.Closed](r, 1)
		exit, ok := errors.AsType[*upstream.ExitError](c.Err)
		if !ok || *exit != test.want {
			t.Errorf("%s: Closed{%v}, want %v", test.role, c.Err, &test.want)
		}
		if len(c.Stderr) != 1 || c.Stderr[0] != "about to exit" {
			t.Errorf("%s: last lines of stderr: %q", test.role, c.Stderr)
		}
		if len(linktest.All[upstream.Received](r)) != 1 {
			t.Errorf("%s: its last message was lost", test.role)
		}
	}
}

// No frame sent to a process that is about to exit is reported twice, and the first one is reported.
func TestProcessDiesUnderLoad(t *testing.T) {
	l, r := testOpen(t, childOptions(t, "exit:7+"))
	const n = 3000
	for i := uint64(1); i <= n; i++ {
		l.Send(upstream.Outgoing{Ticket: i, Frame: linktest.Request(int(i)), RunInline: runAnywhere})
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
	c := linktest.Wait[upstream.Closed](r, 1)
	if exit, ok := errors.AsType[*upstream.ExitError](c.Err); !ok || exit.Code != 7 {
		t.Errorf("Closed{%v}, want exit code 7", c.Err)
	}
	sent, _ := linktest.Tickets(r.Events())
	for i := uint64(1); i <= n; i++ {
		if sent[i] > 1 {
			t.Errorf("ticket %d reported %d times", i, sent[i])
		}
	}
	if sent[1] != 1 {
		t.Error("ticket 1 was not reported")
	}
}

// The connection to a child that does not read ends after WriteTimeout. Send does not block, and every frame is
// reported once.
func TestProcessDeaf(t *testing.T) {
	o := childOptions(t, "deaf")
	o.WriteTimeout, o.QueueBytes = 2*time.Second, 1<<20
	o.Budget = stream.NewBudget(0)
	l, r := testOpen(t, o)
	frame := []byte(`{"jsonrpc":"2.0","method":"m","params":{"x":"` + strings.Repeat("y", 50_000) + `"}}`)
	const n = 40
	began := time.Now()
	for i := range uint64(n) {
		l.Send(upstream.Outgoing{Ticket: i + 1, Frame: frame, RunInline: runAnywhere})
	}
	if d := time.Since(began); d > o.WriteTimeout/2 {
		t.Errorf("Send blocked: %v for %d frames", d, n)
	}
	if full := linktest.Wait[upstream.NotSent](r, 1); !errors.Is(full.Err, upstream.ErrQueueFull) {
		t.Errorf("NotSent{%v}, want %v", full.Err, upstream.ErrQueueFull)
	}
	c := linktest.Wait[upstream.Closed](r, 1)
	if !errors.Is(c.Err, upstream.ErrNotReading) {
		t.Errorf("Closed{%v}, want %v", c.Err, upstream.ErrNotReading)
	}
	sent, _ := linktest.Tickets(r.Events())
	for i := uint64(1); i <= n; i++ {
		if sent[i] != 1 {
			t.Errorf("ticket %d reported %d times", i, sent[i])
		}
	}
	if o.Budget.Used() != 0 {
		t.Errorf("budget: %d bytes not released", o.Budget.Used())
	}
}

// The connection to a child that closes its stdout ends.
func TestProcessClosesStdout(t *testing.T) {
	r := linktest.New(t)
	Open(childOptions(t, "mute"), r.Sink)
	if c := linktest.Wait[upstream.Closed](r, 1); !errors.Is(c.Err, errStdoutClosed) {
		t.Errorf("Closed{%v}, want %v", c.Err, errStdoutClosed)
	}
}

func TestProcessStderr(t *testing.T) {
	r := linktest.New(t)
	Open(childOptions(t, "stderr:50"), r.Sink)
	c := linktest.Wait[upstream.Closed](r, 1)
	if len(c.Stderr) != 20 || c.Stderr[0] != "line 31" || len(c.Stderr[19]) != 4096 {
		t.Errorf("%d last lines, first %q", len(c.Stderr), c.Stderr[0])
	}
	if reported := linktest.All[upstream.Stderr](r); len(reported) != 51 || reported[0].Line != "line 0" {
		t.Errorf("%d lines reported", len(reported))
	}
}

// A frame larger than the queue's limit is accepted if the queue is empty. Newlines between tokens become spaces.
func TestProcessFrames(t *testing.T) {
	o := childOptions(t, "echo")
	o.QueueBytes = 1000
	l, r := testOpen(t, o)
	big := []byte(`{"jsonrpc":"2.0","method":"m","params":{"x":"` + strings.Repeat("y", 3_000_000) + `"}}`)
	l.Send(upstream.Outgoing{Ticket: 1, Frame: big})
	if got := linktest.Wait[upstream.Received](r, 1); !bytes.Equal(got.Frame.Raw, big) {
		t.Errorf("3 MB frame came back as %d bytes", len(got.Frame.Raw))
	}
	l.Send(upstream.Outgoing{Ticket: 2, Frame: []byte("{\n \"jsonrpc\": \"2.0\",\r\n \"method\": \"m\"}"), Newline: true})
	if got := linktest.Wait[upstream.Received](r, 2); got.Frame.Newline || bytes.ContainsAny(got.Frame.Raw, "\r\n") {
		t.Errorf("got %q", got.Frame.Raw)
	}
}

// While the receiver does not accept events, the process is blocked, no frame is lost, and Close works.
func TestProcessBackPressure(t *testing.T) {
	room := make(chan struct{})
	r := linktest.New(t)
	l := Open(childOptions(t, "echo"), func(ctx context.Context, e upstream.Event) error {
		if _, is := e.(upstream.Received); is {
			select {
			case <-room:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return r.Sink(ctx, e)
	})
	frame := []byte(`{"jsonrpc":"2.0","method":"m","params":{"x":"` + strings.Repeat("y", 10_000) + `"}}`)
	const n = 100
	for i := range uint64(n) {
		l.Send(upstream.Outgoing{Ticket: i + 1, Frame: frame})
	}
	linktest.Wait[upstream.Written](r, 5)
	if got := len(linktest.All[upstream.Received](r)); got != 0 {
		t.Fatalf("%d frames were reported although the receiver accepts none", got)
	}
	for range n - 1 {
		room <- struct{}{}
	}
	linktest.Wait[upstream.Written](r, n)
	linktest.Wait[upstream.Received](r, n-1)
	l.Close(50 * time.Millisecond) // the last frame is never received
	linktest.Wait[upstream.Closed](r, 1)
}

// If the receiver has stopped, the link ends the process.
func TestProcessWithoutReceiver(t *testing.T) {
	r := linktest.New(t)
	gone := errors.New("gone")
	Open(childOptions(t, "print:"+fmt.Sprintf("%q", `{"jsonrpc":"2.0","method":"x"}`+"\n")), func(ctx context.Context, e upstream.Event) error {
		_ = r.Sink(ctx, e)
		if _, is := e.(upstream.Received); is {
			return gone
		}
		return nil
	})
	if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil {
		t.Error("Closed has no error")
	}
}
