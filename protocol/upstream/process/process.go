package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"goblin-actor/internal/secret"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	drainFor    = 250 * time.Millisecond // after the exit: how long what is left in the pipes is read
	exitSoon    = time.Second            // a process whose stdout has ended is mostly about to exit: so long that is waited for
	failGrace   = 2 * time.Second        // a process whose connection broke gets this between TERM and KILL
	killGrace   = 5 * time.Second        // a killed process that is not gone then is left to the kernel
	stderrLines = 20                     // last lines told in Closed
)

// errStdoutClosed: the process lives but its messages have come to an end.
var errStdoutClosed = errors.New("process closed its stdout")

// Options says which program to run as a server on stdio.
type Options struct {
	Command         string
	Args            []string
	Env             []string // the child's whole environment, KEY=value
	Dir             string
	Base            string         // where a relative Command is looked for before Dir; "" = only there
	MaxMessageBytes int            // longest line taken
	WriteTimeout    time.Duration  // a child that does not read for so long loses the connection; 0 = 30 s
	QueueBytes      int            // frames waiting to be written; beyond it Send tells NotSent. 0 = 8 MiB
	Budget          *stream.Budget // counts buffered bytes; nil = uncounted
}

// Open starts the program in a goroutine and returns at once; Opened or Closed tells how that went.
// The process is the leader of a group of its own, and the whole group ends with it: also grandchildren, also when it
// exits by itself, also (Linux, Windows) when we are killed. MCP 2025-11-25, basic/transports#stdio.
func Open(o Options, sink upstream.Sink) upstream.Link {
	ctx, cancel := context.WithCancel(context.Background())
	p := &link{
		o: o, sink: upstream.Paced(sink), ctx: ctx, cancel: cancel,
		opened:  make(chan struct{}),
		closing: make(chan time.Duration, 1),
		hurry:   make(chan struct{}),
		failed:  make(chan error, 1),
	}
	p.o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	p.outbox.Init(o, p.tell)
	go p.run()
	return p
}

// link is a program we speak stdio with. Goroutines: run (start, supervise, end), one that holds the thread the
// program was forked from, one each for stdin, stdout and stderr. All are gone when Closed is told.
type link struct {
	o      Options
	sink   upstream.Sink
	ctx    context.Context // ends when nobody needs what is still being told
	cancel context.CancelFunc
	outbox outbox

	opened  chan struct{}      // closed once Opened was told
	closing chan time.Duration // the first Close
	hurry   chan struct{}      // closed when a later Close has no time
	failed  chan error         // the first thing that broke the connection
	once    sync.Once          // of closing
	again   sync.Once          // of hurry

	streams sync.WaitGroup // readers of stdout and stderr
	last    stderrTail
}

func (p *link) Send(o upstream.Outgoing) { p.outbox.push(o) }

// Cancel does nothing: stdio has one channel for all, a cancelled request is told so by a notification.
func (*link) Cancel(uint64)     {}
func (*link) Listen()           {}
func (*link) SetVersion(string) {}

// Close writes what waits, closes stdin, and after grace ends the group with TERM, after grace again with KILL.
// A second Close with grace 0 kills at once.
func (p *link) Close(grace time.Duration) {
	p.once.Do(func() { p.closing <- grace })
	if grace <= 0 {
		p.again.Do(func() { close(p.hurry) })
	}
}

// run is the life of the link.
func (p *link) run() {
	defer p.cancel()
	child, err := startChild(p.o)
	if err != nil {
		p.finish(fmt.Errorf("start %q: %w", secret.Text(p.o.Command), err))
		return
	}
	p.streams.Add(2)
	go p.readStdout(child)
	go p.readStderr(child.stderr)
	p.outbox.start(child.stdin, p.opened, p.fail)

	asked, cause := p.supervise(child)
	state := p.bury(child, asked)
	if !asked && cause == nil {
		cause = exitError(state)
	}
	p.finish(cause)
}

// supervise returns when the process has ended, or cannot be made to.
// asked: by Close. cause: why we had to end it; nil when it ended by itself.
func (p *link) supervise(child *child) (asked bool, cause error) {
	select {
	case <-child.exited:
		return false, nil
	case grace := <-p.closing:
		p.outbox.close(upstream.ErrClosed, false)
		p.wind(child, grace)
		return true, nil
	case cause = <-p.failed:
	}
	p.outbox.close(cause, true)
	if !ended(child, exitSoon, p.hurry) { // how it exits says more than EPIPE
		child.terminate()
		if !ended(child, failGrace, p.hurry) {
			child.kill()
			ended(child, killGrace, nil)
			return false, cause
		}
		return false, cause
	}
	return false, nil
}

// wind ends the process the gentle way first.
func (p *link) wind(child *child, grace time.Duration) {
	if ended(child, grace, p.hurry) {
		return
	}
	child.terminate()
	if ended(child, grace, p.hurry) {
		return
	}
	child.kill()
	ended(child, killGrace, nil)
}

// ended waits for the end of the process, at most d, and not at all once hurry is closed.
func ended(child *child, d time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-child.exited:
		return true
	case <-timer.C:
	case <-hurry:
	}
	select {
	case <-child.exited:
		return true
	default:
		return false
	}
}

// bury frees all that belonged to the process. What it had written is read for drainFor at most, because a
// grandchild may hold the pipes open for ever; then the rest of the group is killed.
func (p *link) bury(child *child, asked bool) *os.ProcessState {
	child.terminate() // grandchildren; on Linux the group's number is still ours, the child is not reaped yet
	p.outbox.close(upstream.ErrClosed, true)
	_ = child.stdin.Close()
	until := time.Now().Add(drainFor)
	timed := child.stdout.SetReadDeadline(until) == nil && child.stderr.SetReadDeadline(until) == nil
	if !timed {
		child.kill() // no deadlines on these pipes: they end when the last process that holds them does
	}
	read := make(chan struct{})
	go func() { p.streams.Wait(); close(read) }()
	drained := time.NewTimer(drainFor)
	defer drained.Stop()
	select {
	case <-read:
	case <-drained.C:
	}
	child.kill()
	state := child.reap()
	p.Settle(read, asked)
	_ = child.stdout.Close()
	_ = child.stderr.Close()
	return state
}

// Settle waits until everything that was read is told. Unless we were asked to close it waits as long as the receiver
// has no room: nothing that came is lost. Who asked gets drainFor more.
func (p *link) Settle(read <-chan struct{}, asked bool) {
	if !asked {
		select {
		case <-read:
			return
		case <-p.closing:
		}
	}
	enough := time.NewTimer(drainFor)
	defer enough.Stop()
	select {
	case <-read:
		return
	case <-enough.C:
	}
	p.cancel()
	<-read
}

// finish tells NotSent for what was never written, then Closed.
func (p *link) finish(cause error) {
	p.outbox.close(cmp.Or(cause, upstream.ErrClosed), true)
	p.outbox.drain(func(e upstream.Event) { _ = p.sink(context.Background(), e) })
	_ = p.sink(context.Background(), upstream.Closed{Err: cause, Stderr: p.last.lines()})
}

// fail notes what broke the connection; the first one counts. Safe from any goroutine.
func (p *link) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// tell blocks while the receiver has no room. When nobody listens any more the link ends itself.
func (p *link) tell(e upstream.Event) error {
	err := p.sink(p.ctx, e)
	if err != nil {
		p.fail(fmt.Errorf("nobody listens: %w", err))
	}
	return err
}

// exitError turns how the process ended into an error; nil when unknown.
func exitError(state *os.ProcessState) error {
	if state == nil {
		return nil
	}
	return &upstream.ExitError{Code: state.ExitCode(), Signal: signalName(state)}
}

// stderrTail keeps the last lines of stderr.
type stderrTail struct {
	mu   sync.Mutex
	kept []string
}

func (t *stderrTail) Add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == stderrLines {
		copy(t.kept, t.kept[1:])
		t.kept = t.kept[:stderrLines-1]
	}
	t.kept = append(t.kept, line)
}

func (t *stderrTail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}
