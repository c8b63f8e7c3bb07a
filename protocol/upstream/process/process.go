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
	drainFor    = 250 * time.Millisecond // how long the pipes are read after the exit
	exitSoon    = time.Second            // how long to wait for the exit, which usually follows the end of stdout
	failGrace   = 2 * time.Second        // between terminate and kill for a process whose connection broke
	killGrace   = 5 * time.Second        // how long to wait for a killed process to end
	stderrLines = 20                     // number of last stderr lines reported in Closed
)

// errStdoutClosed means that the process still runs but has closed its stdout.
var errStdoutClosed = errors.New("process closed its stdout")

// Options describes the program to run as a server on stdio.
type Options struct {
	Command         string
	Args            []string
	Env             []string // the child's whole environment, KEY=value
	Dir             string
	Base            string         // a relative Command is looked up here before Dir; "" = only in Dir
	MaxMessageBytes int            // maximum line length
	WriteTimeout    time.Duration  // the connection ends if the child does not read for this long; 0 = 30 s
	QueueBytes      int            // maximum size of queued frames; Send reports NotSent beyond it; 0 = 8 MiB
	Budget          *stream.Budget // counts buffered bytes; nil = uncounted
	Fence           upstream.Fence // ends the program when it is lost; nil = none
}

// Open starts the program in a goroutine and returns at once. Opened or Closed reports the result. The process leads
// its own process group. The whole group, including grandchildren, ends with it, even if the process exits by itself.
// If the gateway is killed, Windows ends the whole group, Linux only the process itself, and other systems end nothing. MCP
// 2025-11-25, basic/transports#stdio.
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
	p.outbox.Init(o, p.report)
	go p.run()
	return p
}

// link is a connection to a program over stdio. Its goroutines are run (start, supervise, end), one that holds the
// thread that forked the program, and one each for stdin, stdout and stderr. All have ended when Closed is reported,
// unless the process survives SIGKILL: the thread is then held until it ends.
type link struct {
	o      Options
	sink   upstream.Sink
	ctx    context.Context // ends when the remaining events are no longer needed
	cancel context.CancelFunc
	outbox outbox

	opened  chan struct{}      // closed after Opened was reported
	closing chan time.Duration // the grace of the first Close
	hurry   chan struct{}      // closed by a Close without grace
	failed  chan error         // the first error that broke the connection
	once    sync.Once          // guards closing
	again   sync.Once          // guards hurry

	streams sync.WaitGroup // readers of stdout and stderr
	last    stderrTail
}

func (p *link) Send(o upstream.Outgoing) {
	if fenced(p.o.Fence) {
		p.ban()
	}
	p.outbox.push(o)
}

// Cancel does nothing. Over stdio, a request is canceled by a notification.
func (*link) Cancel(uint64)     {}
func (*link) Listen()           {}
func (*link) SetVersion(string) {}

// Close writes the queued frames and closes stdin. It terminates the group after grace, and kills it after grace again.
// A second Close with grace 0 kills the group at once.
func (p *link) Close(grace time.Duration) {
	p.once.Do(func() { p.closing <- grace })
	if grace <= 0 {
		p.again.Do(func() { close(p.hurry) })
	}
}

// run runs the link from start to end.
func (p *link) run() {
	defer p.cancel()
	if fenced(p.o.Fence) {
		p.finish(errFenced)
		return
	}
	child, err := startChild(p.o)
	if err != nil {
		p.finish(fmt.Errorf("start %q: %w", secret.Text(p.o.Command), err))
		return
	}
	if p.o.Fence != nil {
		go p.guard(p.o.Fence)
	}
	p.streams.Add(2)
	go p.readStdout(child)
	go p.readStderr(child.stderr)
	p.outbox.start(child.stdin, p.opened, p.fail)

	byClose, cause := p.supervise(child)
	state := p.release(child, byClose)
	if !byClose && cause == nil {
		cause = exitError(state)
	}
	p.finish(cause)
}

// supervise returns when the process has ended or was killed. byClose reports whether Close ended it.
// cause is the reason why the link ended it, or nil if it ended by itself.
func (p *link) supervise(child *child) (byClose bool, cause error) {
	select {
	case <-child.exited:
		return false, nil
	case grace := <-p.closing:
		p.outbox.close(upstream.ErrClosed, false)
		p.end(child, grace)
		return true, nil
	case cause = <-p.failed:
	}
	p.outbox.close(cause, true)
	if !ended(child, exitSoon, p.hurry) { // its exit code explains more than EPIPE
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

// end waits for the process to end. It terminates the group after grace, and kills it after the same time again.
func (p *link) end(child *child, grace time.Duration) {
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

// ended waits up to d for the end of the process, and reports whether it has ended. It does not wait once hurry is closed.
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

// release releases the resources of the process. It reads the remaining output for up to drainFor, since a
// grandchild may keep the pipes open, and then kills the rest of the group.
func (p *link) release(child *child, byClose bool) *os.ProcessState {
	child.terminate() // grandchildren; on Linux, the group's number is not reused before the child is reaped
	p.outbox.close(upstream.ErrClosed, true)
	_ = child.stdin.Close()
	until := time.Now().Add(drainFor)
	timed := child.stdout.SetReadDeadline(until) == nil && child.stderr.SetReadDeadline(until) == nil
	if !timed {
		child.kill() // these pipes have no deadlines; they end with the last process that holds them
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
	p.Settle(read, byClose)
	_ = child.stdout.Close()
	_ = child.stderr.Close()
	return state
}

// Settle waits until all received frames are reported, so that none is lost, however long the receiver's queue stays
// full. Once Close is called, it waits at most drainFor.
func (p *link) Settle(read <-chan struct{}, byClose bool) {
	if !byClose {
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

// finish reports NotSent for the frames that were not written, then Closed.
func (p *link) finish(cause error) {
	p.outbox.close(cmp.Or(cause, upstream.ErrClosed), true)
	p.outbox.drain(func(e upstream.Event) { _ = p.sink(context.Background(), e) })
	_ = p.sink(context.Background(), upstream.Closed{Err: cause, Stderr: p.last.lines()})
}

// fail records the error that broke the connection. Only the first counts. It is safe for concurrent use.
func (p *link) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// report reports an event. It blocks while the receiver's queue is full. If the receiver has stopped, the link ends.
func (p *link) report(e upstream.Event) error {
	err := p.sink(p.ctx, e)
	if err != nil {
		p.fail(fmt.Errorf("the receiver has stopped: %w", err))
	}
	return err
}

// exitError returns an error that says how the process ended, or nil if that is unknown.
func exitError(state *os.ProcessState) error {
	if state == nil {
		return nil
	}
	return &upstream.ExitError{Code: state.ExitCode(), Signal: signalName(state)}
}

// stderrTail holds the last lines of stderr. If there are too many, it drops indented ones first: the frames of a
// stack trace must not displace the error above them.
type stderrTail struct {
	mu   sync.Mutex
	kept []string
}

func (t *stderrTail) Add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == stderrLines {
		indented := func(line string) bool { return line != "" && (line[0] == ' ' || line[0] == '\t') }
		drop := max(0, slices.IndexFunc(t.kept, indented))
		t.kept = slices.Delete(t.kept, drop, drop+1)
	}
	t.kept = append(t.kept, line)
}

func (t *stderrTail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}
