package node

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/bus"
	"goblin-actor/internal/config"
)

// cutRecords are records that some nodes cannot reach.
type cutRecords struct {
	bus.Records
	mu  sync.Mutex
	cut bool
}

func (r *cutRecords) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
}

func (r *cutRecords) fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return bus.ErrNoQuorum
	}
	return nil
}

func (r *cutRecords) Get(ctx context.Context, key string) (bus.Record, error) {
	if err := r.fault(); err != nil {
		return bus.Record{}, err
	}
	return r.Records.Get(ctx, key)
}

func (r *cutRecords) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := r.fault(); err != nil {
		return 0, err
	}
	return r.Records.Put(ctx, key, value, revision)
}

var once = []config.Server{{Name: "once", Run: config.RunOne}, {Name: "each", Run: config.RunEach}}

func twoNodes(t *testing.T) (a, b *leases, toA *cutRecords) {
	solo := bus.Solo()
	t.Cleanup(solo.Close)
	toA = &cutRecords{Records: solo.Records()}
	a, b = newLeases("a", toA, slog.New(slog.DiscardHandler)), newLeases("b", solo.Records(), slog.New(slog.DiscardHandler))
	t.Cleanup(a.stop)
	t.Cleanup(b.stop)
	a.configure(once)
	synctest.Wait()
	b.configure(once)
	time.Sleep(time.Second)
	return a, b, toA
}

func is(t *testing.T, when string, l *leases, want string) (token uint64) {
	t.Helper()
	synctest.Wait()
	got, token := l.holder("once")
	if runs := l.fence("once").Held(); got != want || runs != (want == l.node) || (token > 0) != runs {
		t.Errorf("%s: node %s says that %q runs the server, want %q; it may run it itself: %v, token %d", when, l.node, got, want, runs, token)
	}
	return token
}

// The first node takes the lease, and the other one knows it. After an orderly stop the other node has it at once, with a larger token.
func TestLeaseGoesOnAtAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := twoNodes(t)
		first := is(t, "start", a, "a")
		is(t, "start", b, "a")
		time.Sleep(time.Minute)
		if again := is(t, "a minute later", a, "a"); again != first {
			t.Errorf("the token has changed from %d to %d", first, again)
		}
		a.stop()
		time.Sleep(200 * time.Millisecond)
		if next := is(t, "a has stopped", b, "b"); next <= first {
			t.Errorf("token %d after %d", next, first)
		}
	})
}

// A node that cannot renew its lease stops the server before another node can take it.
func TestLeaseOfANodeThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, toA := twoNodes(t)
		fence := a.fence("once")
		toA.set(true)
		began := time.Now()
		<-fence.Lost()
		if lost := time.Since(began); lost > bus.LeaseCertain || lost < bus.LeaseCertain-2*bus.LeaseRenewal {
			t.Errorf("the node stops the server after %v", lost)
		}
		is(t, "cut off", a, "")
		is(t, "cut off", b, "a")
		for b.fence("once").Held() == false && time.Since(began) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		if taken := time.Since(began); taken < bus.LeaseTime-bus.LeaseRenewal || taken > bus.LeaseTime+time.Second {
			t.Errorf("the other node takes it after %v", taken)
		}
		is(t, "taken over", b, "b")
		toA.set(false)
		time.Sleep(time.Second)
		is(t, "healed", a, "b")
	})
}

// The lease of a server that a reload removes expires. The fence of a server that was never configured is not held.
func TestLeaseOfARemovedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := twoNodes(t)
		if a.fence("other").Held() {
			t.Error("the fence of an unknown server is held")
		}
		a.configure(nil)
		time.Sleep(bus.LeaseTime - bus.LeaseRenewal - time.Second)
		is(t, "removed", b, "a")
		time.Sleep(bus.LeaseRenewal + 2*time.Second)
		is(t, "expired", b, "b")
	})
}
