package node

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"goblin-actor/internal/bus"
)

// leasePrefix is the first word of the keys of leases; the second is the server's name.
const leasePrefix = "run."

const (
	takeAgain   = 500 * time.Millisecond // between attempts to take a lease; a release is noticed earlier
	releaseTime = time.Second            // limits how long a node that stops waits for the voters
)

// fence says whether this node has the lease of a server. It implements upstream.Fence.
type fence struct {
	lease atomic.Pointer[bus.Lease]
	lost  chan struct{}
}

func newFence(lease *bus.Lease) *fence {
	f := &fence{lost: make(chan struct{})}
	f.lease.Store(lease)
	return f
}

// Held implements upstream.Fence. After the gateway's process was paused, Held is false although Lost may not be closed yet.
func (f *fence) Held() bool { return f.lease.Load().Certain(time.Now()) }

// Lost implements upstream.Fence.
func (f *fence) Lost() <-chan struct{} { return f.lost }

// noFence is the fence of a server of which this node does not have the lease.
type noFence struct{}

func (noFence) Held() bool            { return false }
func (noFence) Lost() <-chan struct{} { return closedChannel }

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lease is the lease of one server. Its goroutine takes and renews it, and knows which node has it.
type lease struct {
	server string
	node   string // this node
	store  *bus.Leases
	told   func(holder string, held *fence) // called with each change; holder is "" if no node is known to have the lease
	log    *slog.Logger

	wake    chan struct{} // capacity 1: the lease was released
	release atomic.Bool   // release the lease when ctx ends, instead of letting it expire; set before ctx ends
	leaving atomic.Bool   // the node stops soon: it takes no lease any more
}

// run takes the lease whenever it is free, until ctx ends.
func (l *lease) run(ctx context.Context) {
	for ctx.Err() == nil {
		if l.leaving.Load() {
			<-ctx.Done()
			return
		}
		taken, err := l.store.Take(ctx, leasePrefix+l.server, l.node)
		if err == nil {
			l.hold(ctx, taken)
			continue
		}
		wait := takeAgain
		if held, ok := errors.AsType[*bus.HeldError](err); ok {
			wait = min(max(held.Wait, 0), wait)
			if held.Holder != l.node { // otherwise the lease is left from before a restart of this node
				l.told(held.Holder, nil)
			}
		}
		l.sleep(ctx, max(wait, 20*time.Millisecond))
	}
}

func (l *lease) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-ctx.Done():
	}
}

// hold renews the lease until it is lost or ctx ends.
func (l *lease) hold(ctx context.Context, taken *bus.Lease) {
	f := newFence(taken)
	l.log.Info("this node runs the server from now on", "server", l.server, "fence", taken.Token)
	l.told(l.node, f)
	for {
		now := time.Now()
		l.sleep(ctx, min(bus.LeaseRenewal, taken.Until(now).Sub(now)))
		if ctx.Err() != nil {
			l.end(f, taken)
			return
		}
		next, err := l.renew(ctx, taken)
		if err == nil {
			taken = next
			f.lease.Store(next)
		}
		if errors.Is(err, bus.ErrLeaseLost) || !taken.Certain(time.Now()) {
			break
		}
	}
	close(f.lost)
	l.log.Warn("this node no longer runs the server: the lease was not renewed in time; the calls in progress have failed", "server", l.server, "fence", taken.Token)
	l.told("", nil)
}

// renew renews the lease. It blocks at most until the lease is no longer certain.
func (l *lease) renew(ctx context.Context, taken *bus.Lease) (*bus.Lease, error) {
	now := time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(taken.Until(now).Sub(now), 0))
	defer cancel()
	return l.store.Renew(ctx, taken)
}

// end gives the lease back when this node stops. The gateway has usually ended the server before; otherwise its process is killed now.
// A lease of a server that a reload has removed expires instead, because the process may still finish its calls. The process is killed
// before another node can take the lease.
func (l *lease) end(f *fence, taken *bus.Lease) {
	if !l.release.Load() {
		now := time.Now()
		time.AfterFunc(taken.Until(now).Sub(now), func() { close(f.lost) })
		return
	}
	close(f.lost)
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := l.store.Release(ctx, taken); err != nil {
		l.log.Warn("cannot release the lease of a server; another node can run it in about 15 s", "server", l.server, "err", err)
	}
}
