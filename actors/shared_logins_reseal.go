package actors

import (
	"context"
	"errors"
	"maps"
	"time"
)

// Each node seals logins with the first secret of the cluster. When that changes, the node seals the records that still have another
// secret again, so that they open when that secret is removed. The node to which the new secret is given last seals those that others
// have written meanwhile. A record is sealed again at most once per change on a node: during a rotation, the nodes have different
// first secrets.

const (
	resealPause    = 10 * time.Second       // after a failure; the attempt itself may have taken as long
	resealAttempts = 15                     // failures in a row after which the logins stay as they are
	changedPause   = 100 * time.Millisecond // after a change by another node
	resealAgain    = 30 * time.Second       // a write with the old secret that was on its way may take until then
)

// resealing is the progress of sealing records again.
type resealing struct {
	first   string              // the first secret's id when it was last looked at
	places  map[string]struct{} // keys of the records of logins that have not ended
	waiting map[string]struct{} // keys of those that may have to be sealed again
	running bool
}

// note keeps the keys of the records. A record that the node sees first may have to be sealed again. The caller must hold mu.
func (s *sharedLogins) note(place string, ended bool, value []byte) {
	r := &s.resealing
	if ended {
		delete(r.places, place)
		delete(r.waiting, place)
		return
	}
	if _, known := r.places[place]; known {
		return
	}
	r.places[place] = struct{}{}
	if !s.secrets.SealedByFirst(value) {
		r.waiting[place] = struct{}{}
		s.runReseal()
	}
}

// reseal seals the records again if the cluster has a new first secret. It does not block. s may be nil.
func (s *sharedLogins) reseal() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.resealing
	first := s.secrets.First()
	if first == r.first {
		return
	}
	r.first = first
	s.startWatch() // the records that it reports first may have another secret, too
	s.resealKnown()
	time.AfterFunc(resealAgain, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resealKnown()
	})
}

// resealKnown looks at all known records again. The caller must hold mu.
func (s *sharedLogins) resealKnown() {
	maps.Copy(s.resealing.waiting, s.resealing.places)
	s.runReseal()
}

// runReseal starts the goroutine that seals the waiting records again, if there are any. The caller must hold mu.
func (s *sharedLogins) runReseal() {
	if r := &s.resealing; !r.running && len(r.waiting) > 0 {
		r.running = true
		go s.resealAll()
	}
}

// resealAll seals the waiting records again, one after the other.
func (s *sharedLogins) resealAll() {
	sealed, failures := 0, 0
	for {
		place, ok := s.nextReseal()
		if !ok {
			break
		}
		first := s.secrets.First()
		again, err := s.resealOne(place)
		switch {
		case err == nil:
			failures = 0
			s.resealed(place, first)
			if again {
				sealed++
			}
		case errors.Is(err, ErrRecordChanged): // it is read again
			time.Sleep(changedPause)
		default:
			if failures++; failures == resealAttempts {
				s.log.Warn("some logins could not be sealed with the new secret of the cluster; they must be made again when the old one is removed", "err", err)
				s.stopReseal()
				return
			}
			time.Sleep(resealPause)
		}
	}
	if sealed > 0 {
		s.log.Info("sealed the logins that the nodes share with the new secret of the cluster", "logins", sealed)
	}
}

// nextReseal returns a waiting record. Without one, the goroutine must end.
func (s *sharedLogins) nextReseal() (place string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.resealing
	if len(r.waiting) == 0 {
		r.running = false
		return "", false
	}
	for place = range r.waiting { // any, so that one that fails does not block the others
		break
	}
	return place, true
}

// resealed removes a record from those that wait, unless the first secret has changed again meanwhile.
func (s *sharedLogins) resealed(place, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secrets.First() == first {
		delete(s.resealing.waiting, place)
	}
}

func (s *sharedLogins) stopReseal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.resealing.waiting)
	s.resealing.first, s.resealing.running = "", false // the next reload tries again
}

// resealOne seals a record again, and reports whether that was necessary. The content stays the same, so a renewal in progress goes on.
func (s *sharedLogins) resealOne(place string) (again bool, err error) {
	value, revision, err := s.records.Get(context.Background(), place)
	if err != nil || revision == 0 || s.secrets.SealedByFirst(value) {
		return false, err
	}
	plain, err := s.secrets.OpenLogin(place, value)
	if err != nil {
		return false, nil // it can be used again if the missing secret is added
	}
	_, err = s.records.Put(context.Background(), place, s.secrets.SealLogin(s.self(), place, plain), revision)
	return err == nil, err
}
