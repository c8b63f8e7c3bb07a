package audit

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the queue of records for the writer.
const (
	maxBacklog     = 16384    // records; at half of it a required log refuses new calls, which leaves room for those in progress
	maxQueuedBytes = 64 << 20 // bytes of arguments
	batchSize      = 512      // queued records that trigger an immediate write
	flushDelay     = 100 * time.Millisecond
	tickInterval   = time.Second
)

// Values of Settings.Sync: when lines are synced to disk.
const (
	SyncSecond = "1s"    // within about a second
	SyncEach   = "each"  // before Commit calls back; concurrent commits share a sync
	SyncNever  = "never" // left to the operating system
)

// Settings configure the log. They can be changed while it runs.
type Settings struct {
	File     string // path; "" = no log
	Both     bool   // also write a record before each call
	Sync     string // SyncSecond, SyncEach, SyncNever
	Required bool   // refuse calls while the log cannot be written

	Size int64         // maximum bytes of a file before it is rotated
	Age  time.Duration // age from which a file is rotated, at the next write; 0 = no limit
	Keep int           // number of rotated files to keep; 0 = all
}

// Mark identifies a signed line. It is stored outside the log, so that a truncated log is detected.
type Mark struct {
	N    uint64 `json:"n"`    // number of the line
	Sum  string `json:"sum"`  // SHA-256 of the line, hex
	File string `json:"file"` // path of the log
	Key  string `json:"key"`  // public key, as KeyText
}

// Options are the dependencies of a log.
type Options struct {
	Keys   func() (*Keys, error) // returns the keys; called when the log is first given a file
	Log    *slog.Logger
	Redact func(string) string // removes known secrets from texts of clients and servers; nil = keep all
	Node   string              // name of the node in a cluster, at most 256 bytes; "" = the gateway runs alone
}

// Log is an audit log. It is off while its Settings name no file. Its methods are safe for concurrent use.
type Log struct {
	o     Options
	keys  *Keys // set before the writer runs
	flags atomic.Uint32

	sequence, signed, dropped atomic.Uint64
	fault                     atomic.Pointer[string] // why the log cannot be written; nil = it can
	path                      atomic.Pointer[string] // path of the file; nil = the log is off
	shared                    atomic.Pointer[sharedKey]
	mark                      atomic.Pointer[Mark]       // last signed line on disk; nil = none yet
	checkpoint                atomic.Pointer[Checkpoint] // what other nodes should witness; nil = nothing
	witnesses                 witnesses

	mu          sync.Mutex // guards the fields up to closed
	waiting     []entry
	queuedBytes int    // bytes of arguments in waiting
	lost        uint64 // records dropped since the writer last took the queue
	denials     denials
	notify      func(Mark)
	running     bool // the writer's goroutine was started
	closed      bool

	applying          sync.Mutex
	wakeSoon, wakeNow chan struct{} // wake the writer: wakeSoon within flushDelay, wakeNow immediately
	control           chan request
	ended             chan struct{}   // closed when the writer's goroutine ends
	wrap              func(file) file // wraps the file in tests; nil = not at all
}

// entry is a queued record.
type entry struct {
	Record
	then func() // called when the record is on disk; nil = not needed
}

// request is a request to the writer's goroutine. With neither settings nor mark, it asks the writer to end.
type request struct {
	settings *Settings // new settings
	mark     *Mark     // a line that the log is known to have had
	answer   chan<- error
}

// New returns a log that is off until Apply gives it a file.
func New(o Options) *Log {
	return &Log{o: o, wakeSoon: make(chan struct{}, 1), wakeNow: make(chan struct{}, 1), control: make(chan request), ended: make(chan struct{})}
}

// Open returns a log that writes to the file of s.
func Open(s Settings, o Options) (*Log, error) {
	l := New(o)
	if err := l.Apply(s); err != nil {
		return nil, err
	}
	return l, nil
}

// Flags returns what callers must do for each call. It returns 0 for a nil log.
func (l *Log) Flags() Flags {
	if l == nil {
		return 0
	}
	return Flags(l.flags.Load())
}

// Record implements Sink. A nil log ignores the record.
func (l *Log) Record(r Record) {
	if l.Flags().Has(On) {
		l.add(r, nil)
	}
}

// Commit records r and calls then exactly once: with SyncEach when the record is on disk, otherwise immediately. It
// also calls then if r is dropped. then must not block; it runs on the caller's goroutine or on the writer's.
func (l *Log) Commit(r Record, then func()) {
	if l.Flags().Has(On|Each) && l.add(r, then) {
		return
	}
	if !l.Flags().Has(Each) {
		l.Record(r)
	}
	then()
}

// add queues the record. It reports whether the writer will call then.
func (l *Log) add(r Record, then func()) bool {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if r.Event == EventDenied && !l.denials.admit(&r) {
		l.wake(l.wakeSoon)
		return false
	}
	if len(l.waiting) >= maxBacklog || l.queuedBytes+len(r.Arguments) > maxQueuedBytes && len(l.waiting) > 0 {
		l.lost++
		l.dropped.Add(1)
		return false
	}
	l.waiting = append(l.waiting, entry{r, then})
	l.queuedBytes += len(r.Arguments)
	switch {
	case then != nil || len(l.waiting) == batchSize:
		l.wake(l.wakeNow)
	case len(l.waiting) == 1:
		l.wake(l.wakeSoon)
	}
	if len(l.waiting) == maxBacklog/2 {
		l.refuse(true)
	}
	return true
}

func (*Log) wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// refuse sets or clears Refusing, if the log is required.
func (l *Log) refuse(refuse bool) {
	for {
		was := l.flags.Load()
		now := was &^ uint32(Refusing)
		if refuse && was&required != 0 {
			now |= uint32(Refusing)
		}
		if l.flags.CompareAndSwap(was, now) {
			return
		}
	}
}

// required is the internal flag for Settings.Required.
const required = 1 << 16

// Apply applies new settings. If s names another file, the log continues there, with that file's own chain. Apply
// blocks while files are opened. On an error the previous settings stay in force.
func (l *Log) Apply(s Settings) error {
	l.applying.Lock() // two calls must not load the keys at the same time
	defer l.applying.Unlock()
	l.mu.Lock()
	running, closed := l.running, l.closed
	l.mu.Unlock()
	if closed || !running && s.File == "" {
		return nil
	}
	if !running {
		keys, err := l.o.Keys()
		if err != nil {
			return fmt.Errorf("open audit log: %w", err)
		}
		l.mu.Lock()
		l.keys, l.running = keys, true
		l.mu.Unlock()
		go newWriter(l).run()
	}
	return l.ask(request{settings: &s})
}

// ShareArguments makes the HMACs of arguments with key, which all nodes of a cluster share, so that equal calls have equal
// HMACs on every node. It affects the records that are written after it returns. Their HMACs begin with the id of the key,
// eight hexadecimal digits.
func (l *Log) ShareArguments(key [32]byte) {
	if was := l.shared.Load(); was == nil || was.key != key {
		l.shared.Store(newSharedKey(key))
	}
}

// CheckMark compares the log with a line that it is known to have had. If the log ends before that line, it records
// that lines are missing.
func (l *Log) CheckMark(m Mark) {
	l.mu.Lock()
	running := l.running && !l.closed
	l.mu.Unlock()
	if running {
		_ = l.ask(request{mark: &m})
	}
}

// Notify registers f, which is called with the last signed line on disk: now, if there is one, and later at most
// about once a second, when it has changed. f must not block.
func (l *Log) Notify(f func(Mark)) {
	l.mu.Lock()
	l.notify = f
	l.mu.Unlock()
	if m := l.Mark(); m.N > 0 {
		f(m)
	}
}

// Mark returns the last signed line on disk, or the zero Mark.
func (l *Log) Mark() Mark {
	if m := l.mark.Load(); m != nil {
		return *m
	}
	return Mark{}
}

func (l *Log) ask(r request) error {
	answer := make(chan error, 1)
	r.answer = answer
	select {
	case l.control <- r:
		return <-answer
	case <-l.ended:
		return nil
	}
}

// Close writes and signs all queued records and closes the file. It blocks until this is done. Later records are ignored.
func (l *Log) Close() error {
	l.applying.Lock()
	defer l.applying.Unlock()
	l.mu.Lock()
	running := l.running && !l.closed
	l.closed = true
	l.mu.Unlock()
	l.flags.Store(0)
	if !running {
		return nil
	}
	return l.ask(request{})
}

// State is a log's status for display.
type State struct {
	File     string `json:"file"`
	Key      string `json:"key"`             // public key of the signatures
	Sequence uint64 `json:"sequence"`        // number of the last line
	Signed   uint64 `json:"signed"`          // number of the last signed line
	Dropped  uint64 `json:"dropped"`         // records that were dropped
	Refusing bool   `json:"refusing"`        // new calls are refused
	Fault    string `json:"fault,omitempty"` // why the log cannot be written
}

// State returns the log's status, or nil if it is off.
func (l *Log) State() *State {
	if l == nil {
		return nil
	}
	path := l.path.Load()
	if path == nil {
		return nil
	}
	s := &State{File: *path, Key: KeyText(l.keys.Public()), Sequence: l.sequence.Load(), Signed: l.signed.Load(), Dropped: l.dropped.Load(), Refusing: l.Flags().Has(Refusing)}
	if fault := l.fault.Load(); fault != nil {
		s.Fault = *fault
	}
	return s
}
