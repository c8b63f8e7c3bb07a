package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Timing of leases.
const (
	LeaseTime    = 15 * time.Second        // another holder can take a lease that was not renewed for this time
	LeaseCertain = 12 * time.Second        // the holder must stop relying on the lease this long after it sent the last renewal
	LeaseRenewal = 1500 * time.Millisecond // between two renewals
)

// Limits of one call of Renew, which writes again because the state of the record that it read may be outdated.
const (
	maxRenewals = 5                     // writes
	renewalGap  = 20 * time.Millisecond // between two writes
)

// MaxHolder is the maximum length of a holder's name in bytes.
const MaxHolder = 256

// ErrLeaseLost is returned by Renew if another holder has taken the lease, or if it was released.
var ErrLeaseLost = errors.New("the lease is lost")

// HeldError is returned by Take if the lease has a holder.
type HeldError struct {
	Holder string        // "" = the lease has just been released
	Wait   time.Duration // how long until Take can succeed, unless the holder renews the lease
}

func (e *HeldError) Error() string {
	if e.Holder == "" {
		return "the lease has just been released; try again"
	}
	return fmt.Sprintf("the lease is held by %s; it can be taken in %v if its holder is gone", e.Holder, e.Wait.Round(time.Millisecond))
}

// Leases give each key to one holder at a time. They are kept in records.
//
// No two clocks are compared: a node takes a lease from another holder when it has seen the record unchanged for LeaseTime
// by its own clock. The previous holder stops relying on the lease LeaseCertain after it has sent the last renewal,
// which was before the record changed. With a watch of the same keys (see Saw), LeaseTime begins when the record changes,
// not only when Take reads it.
type Leases struct {
	records Records
	now     func() time.Time

	mu    sync.Mutex
	seen  map[string]sighting // by key
	tried map[string]string   // by key: leaseRecord.Taking of an attempt to take it whose result is unknown
	count uint64              // of written values
}

// sighting is the newest known revision of a record.
type sighting struct {
	revision uint64
	since    time.Time
}

// Lease is a lease that was taken. It is immutable.
type Lease struct {
	Key, Holder string
	Token       uint64 // rises each time the lease is taken, so that a write elsewhere that names an older token can be refused

	taking   string
	revision uint64    // of the last renewal
	sent     time.Time // when the last renewal was sent
}

// leaseRecord is the value of a lease's record.
type leaseRecord struct {
	Holder string `json:"holder"`
	Taking string `json:"taking"` // random; tells apart two takings by the same holder
	Count  uint64 `json:"count"`  // differs in all values that one process writes
}

// parseLease decodes a lease's record. The result is empty if the record is malformed or deleted.
func parseLease(r Record) leaseRecord {
	var v leaseRecord
	if r.Deleted || json.Unmarshal(r.Value, &v) != nil || len(v.Holder) > MaxHolder {
		return leaseRecord{}
	}
	return v
}

// NewLeases returns the leases in the records. now returns the time, which may differ between nodes.
func NewLeases(records Records, now func() time.Time) *Leases {
	return &Leases{records: records, now: now, seen: map[string]sighting{}, tried: map[string]string{}}
}

// Certain reports whether the lease certainly has no other holder: the last renewal was sent less than LeaseCertain ago by
// the monotonic clock and by the wall clock. Setting back the wall clock has no effect, because the monotonic clock runs on.
func (l *Lease) Certain(now time.Time) bool { return now.Before(l.Until(now)) }

// Until returns when Certain becomes false if the lease is not renewed, and if no clock jumps.
func (l *Lease) Until(now time.Time) time.Time {
	passed := max(now.Sub(l.sent), now.Round(0).Sub(l.sent.Round(0))) // monotonic, and by the wall clock
	return now.Add(LeaseCertain - passed)
}

// Saw reports a lease's record that a watch has received.
func (s *Leases) Saw(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saw(r)
}

// saw notes the revision of a record, and returns since when it is known. The caller must hold mu.
func (s *Leases) saw(r Record) time.Time {
	old, known := s.seen[r.Key]
	if known && r.Revision <= old.revision {
		return old.since
	}
	if r.Deleted {
		delete(s.seen, r.Key)
		return time.Time{}
	}
	now := s.now()
	s.seen[r.Key] = sighting{r.Revision, now}
	return now
}

// HolderOf returns the holder that a lease's record names, or "" if it is malformed or deleted.
func HolderOf(r Record) string { return parseLease(r).Holder }

// Take takes a lease. It fails with a *HeldError if the lease has a holder, even one with the same name: after a restart, a
// node no longer has the lease that it held before. The other errors are those of Records.
func (s *Leases) Take(ctx context.Context, key, holder string) (*Lease, error) {
	if len(holder) > MaxHolder {
		return nil, fmt.Errorf("holder of %d bytes; at most %d are allowed", len(holder), MaxHolder)
	}
	last, err := s.records.Get(ctx, key)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return nil, err
	}
	if err == nil {
		if err := s.takeable(last); err != nil {
			return nil, err
		}
	}
	l := &Lease{Key: key, Holder: holder, taking: rand.Text(), sent: s.now()}
	s.try(key, l.taking)
	l.revision, err = s.records.Put(ctx, key, s.valueOf(l), last.Revision)
	switch {
	case err == nil:
		l.Token = l.revision
	case errors.Is(err, ErrChanged):
		l, err = nil, s.heldNow(ctx, key)
	default: // it may have been written
		return nil, err
	}
	s.try(key, "")
	return l, err
}

// valueOf returns a value for the lease's record that differs from all earlier ones.
func (s *Leases) valueOf(l *Lease) []byte {
	s.mu.Lock()
	s.count++
	v := leaseRecord{l.Holder, l.taking, s.count}
	s.mu.Unlock()
	value, _ := json.Marshal(v) // never fails
	return value
}

// try remembers an attempt to take a lease. If taking is "", the result is known, and try forgets the attempt.
func (s *Leases) try(key, taking string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if taking == "" {
		delete(s.tried, key)
		return
	}
	s.tried[key] = taking
}

// takeable returns a *HeldError unless the record can be taken: it was unchanged for LeaseTime, or an attempt of this node
// whose result was unknown has written it.
func (s *Leases) takeable(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, v := s.saw(r), parseLease(r)
	if v.Taking != "" && s.tried[r.Key] == v.Taking {
		return nil
	}
	if wait := LeaseTime - s.now().Sub(since); wait > 0 {
		return &HeldError{v.Holder, wait}
	}
	return nil
}

// heldNow returns a *HeldError for a lease that another holder has just taken.
func (s *Leases) heldNow(ctx context.Context, key string) error {
	r, err := s.records.Get(ctx, key)
	if errors.Is(err, ErrNoRecord) {
		return &HeldError{}
	}
	if err != nil {
		return err
	}
	s.Saw(r)
	return &HeldError{HolderOf(r), LeaseTime}
}

// Renew renews a lease and returns its new state. The error is ErrLeaseLost, or one of Records. After an error of Records,
// the holder may call Renew again as long as the lease is certain.
func (s *Leases) Renew(ctx context.Context, l *Lease) (*Lease, error) {
	next, value := *l, s.valueOf(l)
	for range maxRenewals {
		next.sent = s.now()
		revision, err := s.records.Put(ctx, l.Key, value, next.revision)
		switch {
		case err == nil:
			next.revision = revision
			return &next, nil
		case !errors.Is(err, ErrChanged):
			return nil, err
		}
		// An earlier renewal whose answer was lost may have changed the record.
		r, err := s.own(ctx, l)
		switch {
		case err == nil:
			next.revision = r.Revision
		case !errors.Is(err, ErrNoRecord):
			return nil, err
		case r.Revision == 0 || r.Revision > l.revision:
			return nil, ErrLeaseLost
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(renewalGap): // the state that was read may be outdated
		}
	}
	return nil, ErrNoQuorum
}

// own returns the lease's record. The error is ErrNoRecord if there is none (the returned revision is then 0), or if the lease
// was taken again since l was taken.
func (s *Leases) own(ctx context.Context, l *Lease) (Record, error) {
	r, err := s.records.Get(ctx, l.Key)
	if err == nil && parseLease(r).Taking != l.taking {
		return r, ErrNoRecord
	}
	return r, err
}

// Release gives the lease back, so that another holder can take it at once. The holder must have stopped relying on it.
// Releasing a lost lease is not an error.
func (s *Leases) Release(ctx context.Context, l *Lease) error {
	r, err := s.own(ctx, l)
	if errors.Is(err, ErrNoRecord) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.records.Delete(ctx, l.Key, r.Revision); !errors.Is(err, ErrChanged) {
		return err
	}
	return nil
}
