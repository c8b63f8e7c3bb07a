package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// faultyRecords are records whose voters are sometimes unreachable, and whose answers may be lost.
type faultyRecords struct {
	Records
	down   bool
	lost   bool            // the next write is done, but its answer is lost
	late   []func()        // writes that will be done after their callers gave up
	delays bool            // the next write is done later
	rng    *rand.Rand      // nil = faults happen only if asked for
	faults func() (x bool) // whether a random fault happens
}

func (f *faultyRecords) Get(ctx context.Context, key string) (Record, error) {
	if f.down || f.rng != nil && f.faults() {
		return Record{}, ErrNoQuorum
	}
	return f.Records.Get(ctx, key)
}

func (f *faultyRecords) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if f.rng != nil && f.faults() {
		f.lost, f.delays = f.rng.IntN(2) == 0, f.rng.IntN(2) == 0
	}
	switch {
	case f.delays:
		f.delays = false
		f.late = append(f.late, func() { _, _ = f.Records.Put(ctx, key, value, revision) })
		return 0, ErrNoQuorum
	case f.down:
		return 0, ErrNoQuorum
	}
	next, err := f.Records.Put(ctx, key, value, revision)
	if f.lost {
		f.lost = false
		return 0, ErrNoQuorum
	}
	return next, err
}

func newFaulty() *faultyRecords { return &faultyRecords{Records: &soloRecords{}} }

// A lease has one holder. Another one gets it after LeaseTime without a renewal, with a larger token, or at once after its
// release.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, records := t.Context(), newFaulty()
		a, b := NewLeases(records, time.Now), NewLeases(records, time.Now)
		held, err := a.Take(ctx, "run.x", "a")
		if err != nil || held.Token == 0 || !held.Certain(time.Now()) {
			t.Fatalf("%+v, %v", held, err)
		}
		refused := func(leases *Leases, holder string, wait time.Duration) {
			t.Helper()
			_, err := leases.Take(ctx, "run.x", holder)
			if held, ok := errors.AsType[*HeldError](err); !ok || held.Holder != "a" || held.Wait != wait {
				t.Errorf("%v, want %v", err, wait)
			}
		}
		refused(b, "b", LeaseTime)
		time.Sleep(LeaseTime - time.Nanosecond)
		refused(b, "b", time.Nanosecond)
		if held.Certain(time.Now()) {
			t.Error("the lease is certain although it was not renewed")
		}
		if held, err = a.Renew(ctx, held); err != nil || !held.Certain(time.Now()) {
			t.Fatalf("%+v, %v", held, err)
		}
		time.Sleep(time.Nanosecond)
		refused(b, "b", LeaseTime)
		refused(a, "a", LeaseTime) // for example its own lease from before a restart
		time.Sleep(LeaseTime)
		next, err := b.Take(ctx, "run.x", "b")
		if err != nil || next.Token <= held.Token {
			t.Fatalf("%+v after %+v, %v", next, held, err)
		}
		if _, err := a.Renew(ctx, held); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("renewal of the old holder: %v", err)
		}
		if err := a.Release(ctx, held); err != nil {
			t.Error(err)
		}
		if next, err = b.Renew(ctx, next); err != nil {
			t.Fatalf("after another holder's release: %v", err)
		}
		if err := b.Release(ctx, next); err != nil {
			t.Error(err)
		}
		if again, err := a.Take(ctx, "run.x", "a"); err != nil || again.Token <= next.Token {
			t.Errorf("%+v after %+v, %v", again, next, err)
		}
	})
}

// A lease is certain until 12 s after its last renewal was sent, by both clocks.
func TestLeaseIsCertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewLeases(newFaulty(), time.Now)
		l, err := a.Take(t.Context(), "run.x", "a")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		time.Sleep(LeaseCertain - time.Nanosecond)
		if !l.Certain(time.Now()) || !l.Until(time.Now()).Equal(begin.Add(LeaseCertain)) {
			t.Error("uncertain too early")
		}
		if wall := time.Now().Round(0).Add(time.Hour); l.Certain(wall) {
			t.Error("certain although the wall clock says that an hour has passed")
		}
		time.Sleep(time.Nanosecond)
		if l.Certain(time.Now()) {
			t.Error("certain after 12 s")
		}
	})
}

// A write whose answer is lost may have been stored. The holder goes on all the same. For other nodes, the time of the lease
// begins with that write.
func TestLostAnswersOfLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, records := t.Context(), newFaulty()
		a, b := NewLeases(records, time.Now), NewLeases(records, time.Now)
		records.lost = true
		if _, err := a.Take(ctx, "run.x", "a"); !errors.Is(err, ErrNoQuorum) {
			t.Fatal(err)
		}
		l, err := a.Take(ctx, "run.x", "a") // at once, because the record is that of the first attempt
		if err != nil {
			t.Fatal(err)
		}
		records.lost = true
		if _, err := a.Renew(ctx, l); !errors.Is(err, ErrNoQuorum) {
			t.Fatal(err)
		}
		if _, err := b.Take(ctx, "run.x", "b"); err == nil {
			t.Fatal("two holders")
		}
		time.Sleep(10 * time.Second)
		if l, err = a.Renew(ctx, l); err != nil {
			t.Fatalf("after a renewal whose answer was lost: %v", err)
		}
		time.Sleep(5 * time.Second) // 15 s after the first renewal
		if _, err := b.Take(ctx, "run.x", "b"); err == nil || !l.Certain(time.Now()) {
			t.Errorf("%v, certain %v: the second renewal was not written", err, l.Certain(time.Now()))
		}
	})
}

// Whatever fails, at most one holder is certain of a lease at any time, and tokens rise. The nodes' clocks differ.
func TestLeaseStories(t *testing.T) {
	taken := 0
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { taken += leaseStory(t, seed) })
	}
	if taken < 500 {
		t.Errorf("the lease was taken %d times", taken)
	}
}

// leaseNode is a node of leaseStory.
type leaseNode struct {
	name    string
	leases  *Leases
	now     func() time.Time
	held    *Lease
	stalled time.Time
}

// leaseStory lets three nodes compete for a lease, and returns how often it was taken.
func leaseStory(t *testing.T, seed uint64) (taken int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	records := newFaulty()
	records.rng = rng
	records.faults = func() bool { return rng.IntN(100) < int(seed%4)*10 }
	var nodes []*leaseNode
	for i := range 3 {
		skew := time.Duration(i-1) * 300 * time.Second
		n := &leaseNode{name: string(rune('a' + i)), now: func() time.Time { return time.Now().Add(skew) }}
		n.leases = NewLeases(records, n.now)
		nodes = append(nodes, n)
	}
	var last uint64
	for range 600 {
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
		n := nodes[rng.IntN(3)]
		switch act := rng.IntN(100); {
		case act == 0:
			n.stalled = time.Now().Add(time.Duration(rng.IntN(20)) * time.Second)
		case act == 1:
			records.down = !records.down
		case act == 2 && len(records.late) > 0:
			records.late[0]()
			records.late = records.late[1:]
		case act == 3 && n.held != nil:
			if n.leases.Release(t.Context(), n.held) == nil {
				n.held = nil
			}
		case act == 4: // a restart
			n.leases, n.held = NewLeases(records, n.now), nil
		case time.Now().Before(n.stalled):
		case n.held == nil || !n.held.Certain(n.now()):
			if l, err := n.leases.Take(t.Context(), "run.x", n.name); err == nil {
				if l.Token <= last {
					t.Errorf("seed %d: token %d after %d", seed, l.Token, last)
				}
				n.held, last = l, l.Token
				taken++
			}
		default:
			l, err := n.leases.Renew(t.Context(), n.held)
			if err == nil || errors.Is(err, ErrLeaseLost) {
				n.held = l
			}
		}
		certain := 0
		for _, n := range nodes {
			if n.held != nil && n.held.Certain(n.now()) {
				certain++
			}
		}
		if certain > 1 {
			t.Fatalf("seed %d: %d nodes are certain of the lease", seed, certain)
		}
	}
	return taken
}
