package bus

import (
	"context"
	"slices"
	"sync"
)

// soloRecords are the records of a node without other nodes. They are in memory only.
type soloRecords struct {
	mu      sync.Mutex
	ledger  Ledger
	watches []*soloWatch
	closed  bool
}

// soloWatch is a watch. It keeps the newest state of each record that its goroutine has not handled.
type soloWatch struct {
	pattern string
	records *soloRecords

	// The following fields are guarded by records.mu.
	order  []string // keys of newest, the oldest change first
	newest map[string]Record
	closed bool
	filled chan struct{} // receives when a record was added or closed was set
}

func (s *soloRecords) Get(_ context.Context, key string) (Record, error) {
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Get(key)
}

func (s *soloRecords) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.ledger.revision
	at, err := s.ledger.Put(key, slices.Clone(value), revision)
	if s.ledger.revision > before {
		s.tell(s.ledger.records[key])
	}
	return at, err
}

func (s *soloRecords) Delete(_ context.Context, key string, revision uint64) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.ledger.Delete(key, revision)
	if at > 0 {
		s.tell(Record{Key: key, Revision: at, Deleted: true})
	}
	return err
}

// tell gives a change to the watches. The caller must hold mu.
func (s *soloRecords) tell(r Record) {
	for _, w := range s.watches {
		if Matches(w.pattern, r.Key) {
			w.add(r)
		}
	}
}

func (s *soloRecords) Watch(pattern string, handle func(Record)) (func(), error) {
	if err := CheckSubject(pattern, true); err != nil {
		return nil, err
	}
	w := &soloWatch{pattern: pattern, records: s, newest: map[string]Record{}, filled: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for _, r := range s.ledger.Matching(pattern) {
		w.add(r)
	}
	s.watches = append(s.watches, w)
	go w.run(handle)
	return func() { s.cancel(w) }, nil
}

// add adds a change. The caller must hold mu.
func (w *soloWatch) add(r Record) {
	if _, waits := w.newest[r.Key]; !waits {
		w.order = append(w.order, r.Key)
	}
	w.newest[r.Key] = r
	w.wake()
}

func (w *soloWatch) wake() {
	select {
	case w.filled <- struct{}{}:
	default:
	}
}

// run handles changes until the watch is closed.
func (w *soloWatch) run(handle func(Record)) {
	for {
		w.records.mu.Lock()
		closed, found := w.closed, len(w.order) > 0
		var r Record
		if found && !closed {
			r = w.newest[w.order[0]]
			delete(w.newest, r.Key)
			w.order = w.order[1:]
		}
		w.records.mu.Unlock()
		switch {
		case closed:
			return
		case found:
			handle(r)
		default:
			<-w.filled
		}
	}
}

func (s *soloRecords) cancel(w *soloWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = slices.DeleteFunc(s.watches, func(other *soloWatch) bool { return other == w })
	w.close()
}

// close ends the watch. The caller must hold mu.
func (w *soloWatch) close() {
	w.closed = true
	w.wake()
}

func (s *soloRecords) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.watches {
		w.close()
	}
	s.watches = nil
}
