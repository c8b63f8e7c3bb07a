package status

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Limits of streams.
const (
	maxStreams   = 64
	surveyTime   = 3 * time.Second        // timeout of a survey
	surveyPause  = 250 * time.Millisecond // minimum time between the starts of two surveys, unless an action makes the next one due
	surveyCosts  = 50                     // that time is at least this many times the duration of a survey, so that surveys take at most 2 % of the time …
	surveySlowly = 3 * time.Second        // … but at most this long
)

// Streams is the state that the streams of one gateway share. All of them report the results of the same surveys of its actors. At
// most one survey runs at a time, and none begins without a stream. Streams is safe for concurrent use.
type Streams struct {
	hello Hello

	mu     sync.Mutex
	open   int
	newest *Snapshot // of the last survey that succeeded
	err    error     // why the last survey failed, or nil
	due    time.Time // when the next survey may begin
	busy   chan struct{}
	stop   context.CancelFunc // with busy: ends the survey in progress

	from, to *Snapshot
	delta    *Delta // the difference between from and to; cached, because most streams need the same one
}

// NewStreams returns the Streams of a gateway. version is the version of goblin-actor.
func NewStreams(version string) *Streams {
	return &Streams{hello: Hello{Boot: rand.Text()[:12], Version: version, Role: RoleOperator}}
}

// enter counts a stream. The caller must call leave at its end.
func (s *Streams) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return ErrTooManyStreams
	}
	s.open++
	return nil
}

// leave counts the end of a stream. If no stream is left, it cancels the survey in progress and blocks until that has ended.
func (s *Streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open > 0 {
		return
	}
	if busy := s.busy; busy != nil {
		s.stop()
		s.mu.Unlock()
		<-busy
		s.mu.Lock()
	}
	if s.open == 0 { // the next stream starts with a new Snapshot
		s.newest, s.err, s.due, s.from, s.to, s.delta = nil, nil, time.Time{}, nil, nil, nil
	}
}

// hurry makes the next survey due, because an action has changed something.
func (s *Streams) hurry() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = time.Time{}
}

// look starts the next survey if it is due. It returns the newest Snapshot, or nil, and the error of the last survey. busy is closed when the
// survey in progress has ended; nil = none.
func (s *Streams) look(of func(context.Context) (*Snapshot, error)) (newest *Snapshot, busy <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.busy == nil && !now.Before(s.due) {
		ctx, stop := context.WithTimeout(context.Background(), surveyTime)
		s.busy, s.stop = make(chan struct{}), stop
		go s.survey(ctx, now, of)
	}
	return s.newest, s.busy, s.err
}

// survey takes one survey. It ends at the latest after surveyTime.
func (s *Streams) survey(ctx context.Context, began time.Time, of func(context.Context) (*Snapshot, error)) {
	next, err := of(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(s.busy)
	s.busy = nil
	ended := ctx.Err() == context.Canceled // canceled by leave: err says nothing about the gateway, and another stream may have opened
	s.stop()
	if err != nil && ended {
		s.due = time.Time{}
		return
	}
	if err == nil {
		s.newest = next
	}
	s.err = err
	took := time.Since(began)
	s.due = began.Add(min(max(surveyPause, took*surveyCosts), surveySlowly))
}

// between returns the difference between two Snapshots. Most streams ask for the difference between the newest two.
func (s *Streams) between(from, to *Snapshot) *Delta {
	s.mu.Lock()
	if s.from == from && s.to == to {
		defer s.mu.Unlock()
		return s.delta
	}
	s.mu.Unlock()
	d := diff(from, to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if to == s.newest {
		s.from, s.to, s.delta = from, to, d
	}
	return d
}
