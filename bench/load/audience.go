package load

import (
	"context"
	"sync/atomic"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/wire"
)

// Audience is a group of subscribers that receive the same changes. Publish publishes a change and waits until all
// subscribers have received it, for a limited time.
type Audience struct {
	subscribers []*subscriber
	URI         string // public URI of the resource; "" = the list of tools

	change  atomic.Int64  // number of the current change
	missing atomic.Int64  // subscribers that have not received the current change
	all     chan struct{} // signaled when missing becomes 0; capacity 1

	Duplicated, Wrong atomic.Int64
	Events            atomic.Int64           // received notifications
	FirstWrong        atomic.Pointer[string] // the first wrong notification
}

// epoch is the origin of Now. Times relative to it are monotonic and can be stored in an integer.
var epoch = time.Now()

// DeliveryTimeout is the time after which a change counts as lost.
const DeliveryTimeout = 10 * time.Second

// SettleTime is the time for streams to settle after they have been opened, and for duplicates to arrive after a change.
const SettleTime = 600 * time.Millisecond

// NewAudience returns an audience without subscribers. The subscribers that Open adds subscribe to uri; if uri is "",
// they listen for changes to the list of tools.
func NewAudience(uri string) *Audience {
	return &Audience{URI: uri, all: make(chan struct{}, 1)}
}

// Len returns the number of open streams.
func (a *Audience) Len() int { return len(a.subscribers) }

// FirstReceived returns the time when the first subscriber in the list received the last change.
func (a *Audience) FirstReceived() time.Time {
	return epoch.Add(time.Duration(a.subscribers[0].receivedAt.Load()))
}

// Now returns the time since epoch.
func Now() time.Duration { return time.Since(epoch) }

// Open opens n streams of clients of an era to a server or gateway.
func (a *Audience) Open(ctx context.Context, at *process.Process, era string, n int) error {
	host, path := at.URL.Host, at.URL.Path
	post, err := wire.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer post.Close()
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w, err := wire.DialStream(host)
		if err != nil {
			return err
		}
		sub := &subscriber{Conn: w, ended: make(chan struct{})}
		if era == "modern" {
			err = sub.listenModern(host, path, a.URI)
		} else {
			err = sub.listenLegacy(post, host, path, a.URI)
		}
		if err != nil {
			w.Close()
			return err
		}
		a.subscribers = append(a.subscribers, sub)
		go sub.listen(a)
	}
	return nil
}

// Close closes all streams and waits for their goroutines.
func (a *Audience) Close() {
	for _, sub := range a.subscribers {
		if sub.stream != nil {
			sub.stream.Close()
		} else {
			sub.Conn.Close()
		}
		<-sub.ended
	}
	a.subscribers = nil
}

// Reset clears the counters of failures, after all streams have been opened.
func (a *Audience) Reset() {
	a.Duplicated.Store(0)
	a.Wrong.Store(0)
	a.FirstWrong.Store(nil)
}

// Delivery is the delivery of one change to an audience.
type Delivery struct {
	Latencies []time.Duration // per subscriber that received the change
	Last      time.Duration   // maximum of Latencies
	Lost      int             // subscribers that did not receive it in time
}

// Publish calls publish for the nth change and waits until all subscribers have received it, for at most wait.
func (a *Audience) Publish(ctx context.Context, n int64, wait time.Duration, publish func() error) (Delivery, error) {
	select {
	case <-a.all:
	default:
	}
	a.missing.Store(int64(len(a.subscribers)))
	a.change.Store(n)
	began := time.Since(epoch)
	if err := publish(); err != nil {
		return Delivery{}, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.all:
	case <-timer.C:
	case <-ctx.Done():
		return Delivery{}, context.Cause(ctx)
	}
	var t Delivery
	for _, sub := range a.subscribers {
		if sub.received.Load() != n {
			t.Lost++
			continue
		}
		took := time.Duration(sub.receivedAt.Load()) - began
		t.Latencies = append(t.Latencies, took)
		t.Last = max(t.Last, took)
	}
	return t, nil
}
