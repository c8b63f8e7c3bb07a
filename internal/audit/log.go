package audit

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what waits to be written.
const (
	maxBacklog = 16384    // records; from half of it on a required log refuses new calls, so that those that run find room
	maxHeld    = 64 << 20 // bytes of arguments
	batch      = 512      // that many records are written without waiting for more
	lag        = 100 * time.Millisecond
	beat       = time.Second
)

// When lines reach the disk.
const (
	SyncSecond = "1s"    // within a second
	SyncEach   = "each"  // before Commit goes on; those that come together share a sync
	SyncNever  = "never" // when the system likes
)

// Settings say where and how the log is kept. They can be changed while it runs.
type Settings struct {
	File     string // path; "" = there is no log
	Both     bool   // a record before each call, too
	Sync     string // SyncSecond, SyncEach, SyncNever
	Required bool   // no call may begin while the log cannot be written

	Size int64         // of a file at most
	Age  time.Duration // likewise; 0 = any
	Keep int           // old files that stay; 0 = all
}

// Mark is a signed line: what others remember, so that a tail that is cut off shows.
type Mark struct {
	N    uint64 `json:"n"`
	Sum  string `json:"sum"`  // of the line
	File string `json:"file"` // path of the log
	Key  string `json:"key"`  // public
}

// Options are what a log needs beside its settings.
type Options struct {
	Keys func() (*Keys, error) // finds the keys, when there is a file for the first time
	Log  *slog.Logger
	Cut  func(string) string // cuts what is secret out of what others have written; nil = nothing is known to be
}

// Log is an audit log, or none where Settings name no file. Its methods may be called from any goroutine.
type Log struct {
	o     Options
	keys  *Keys // set before the writer runs
	flags atomic.Uint32

	sequence, signed, dropped atomic.Uint64
	fault                     atomic.Pointer[string] // why it cannot be written; nil = it can
	path                      atomic.Pointer[string] // of the file; nil = there is no log
	mark                      atomic.Pointer[Mark]   // the newest signed line that is on disk; nil = none is yet

	mu      sync.Mutex // guards what follows
	waiting []entry
	held    int // bytes of their arguments
	lost    uint64
	denials denials
	notify  func(Mark)
	running bool // the goroutine of the writer is there
	closed  bool

	applying  sync.Mutex
	soon, now chan struct{} // there is something to write; there is much, or somebody waits for it
	control   chan request
	ended     chan struct{}   // closed when the writer's goroutine has ended
	wrap      func(file) file // what tests put between; nil = nothing
}

// entry is a record that waits to be written.
type entry struct {
	Record
	then func() // called when it is on disk; nil = nobody waits
}

// request asks the writer's goroutine for something.
type request struct {
	settings *Settings // new ones; nil = end
	mark     *Mark     // what others remember of the log
	answer   chan<- error
}

// New returns a log that is off until Apply gives it a file.
func New(o Options) *Log {
	return &Log{o: o, soon: make(chan struct{}, 1), now: make(chan struct{}, 1), control: make(chan request), ended: make(chan struct{})}
}

// Open returns a log that is written to.
func Open(s Settings, o Options) (*Log, error) {
	l := New(o)
	if err := l.Apply(s); err != nil {
		return nil, err
	}
	return l, nil
}

// Flags say what is wanted of who holds calls. A nil log wants nothing.
func (l *Log) Flags() Flags {
	if l == nil {
		return 0
	}
	return Flags(l.flags.Load())
}

// Record implements Sink. A nil log takes nothing.
func (l *Log) Record(r Record) {
	if l.Flags().Has(On) {
		l.add(r, nil)
	}
}

// Commit records r and calls then: at once, or under sync each when the record is on disk. then must not block; it is called on the
// caller's or on the log's goroutine.
func (l *Log) Commit(r Record, then func()) {
	if l.Flags().Has(On|Each) && l.add(r, then) {
		return
	}
	if !l.Flags().Has(Each) {
		l.Record(r)
	}
	then()
}

// add queues the record. It reports whether then will be called.
func (l *Log) add(r Record, then func()) bool {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if r.Event == EventDenied && !l.denials.take(&r) {
		l.wake(l.soon)
		return false
	}
	if len(l.waiting) >= maxBacklog || l.held+len(r.Arguments) > maxHeld && len(l.waiting) > 0 {
		l.lost++
		l.dropped.Add(1)
		return false
	}
	l.waiting = append(l.waiting, entry{r, then})
	l.held += len(r.Arguments)
	switch {
	case then != nil || len(l.waiting) == batch:
		l.wake(l.now)
	case len(l.waiting) == 1:
		l.wake(l.soon)
	case len(l.waiting) == maxBacklog/2:
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

// refuse sets whether calls are refused, as far as the log is required.
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

// required is the flag of Settings.Required, which concerns nobody else.
const required = 1 << 16

// Apply puts settings in force: another file begins with a chain of its own. It blocks while files are opened. On an error those
// before stay in force.
func (l *Log) Apply(s Settings) error {
	l.applying.Lock() // two may not look for the keys at once
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

// Remembered tells the log which of its lines others remember. When it has fewer, it says that they are missing.
func (l *Log) Remembered(m Mark) {
	l.mu.Lock()
	running := l.running && !l.closed
	l.mu.Unlock()
	if running {
		_ = l.ask(request{mark: &m})
	}
}

// Notify has f told of signed lines that are on disk, at most once a second. f must not block.
func (l *Log) Notify(f func(Mark)) {
	l.mu.Lock()
	l.notify = f
	l.mu.Unlock()
	if m := l.Mark(); m.N > 0 {
		f(m)
	}
}

// Mark is the newest signed line that is on disk; zero when none is yet.
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

// Close writes what waits, signs it, and closes the file. It blocks until then. Later records are not taken.
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

// State is how a log is.
type State struct {
	File     string `json:"file"`
	Key      string `json:"key"`             // public, of its signatures
	Sequence uint64 `json:"sequence"`        // number of the newest line
	Signed   uint64 `json:"signed"`          // of the newest that is signed
	Dropped  uint64 `json:"dropped"`         // records that found no room
	Refusing bool   `json:"refusing"`        // calls are refused meanwhile
	Fault    string `json:"fault,omitempty"` // why it cannot be written
}

// State returns how the log is; nil when there is none.
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
