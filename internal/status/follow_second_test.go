package status

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// recording is a Gateway that records a call in every second.
type recording struct {
	Gateway
	began *atomic.Int64
}

// Series returns the seconds that begin at after or later and have ended.
func (r recording) Series(_ context.Context, after int64) ([]Series, error) {
	s := Series{Since: r.began.Load(), Until: time.Now().Unix()}
	for start := max(s.Since, after); start < s.Until; start++ {
		s.Seconds = append(s.Seconds, Interval{Start: start, Calls: 1})
	}
	return []Series{s}, nil
}

// A stream reports every second once: first all that are stored, then each when it has ended.
func TestStreamOfSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now().Unix()
		time.Sleep(100 * time.Second)
		l := Local{Gateway: recording{began: recorded(began)}, Counters: NewMetrics(), Streams: NewStreams("v1")}
		r := follow(t, ctx, l, FollowOptions{Want: []Want{WantSecond}})
		time.Sleep(150 * time.Second)
		synctest.Wait()
		next, reports := began, 0
		for _, n := range r.notices {
			if len(n.Series) > 0 {
				reports++
			}
			for _, s := range n.Series {
				for _, interval := range s.Seconds {
					if interval.Start != next {
						t.Fatalf("got second %d, want %d", interval.Start-began, next-began)
					}
					next++
				}
			}
		}
		if next-began < 249 || reports < 150 || reports > 152 { // the first has all stored seconds
			t.Errorf("%d seconds in %d reports", next-began, reports)
		}
	})
}

func recorded(since int64) *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(since)
	return n
}

// After the gateway has discarded what it had recorded, the next report contains all that is stored, even if it is older than what was
// reported.
func TestStreamOfSecondsBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := recorded(time.Now().Unix())
		l := Local{Gateway: recording{began: began}, Counters: NewMetrics(), Streams: NewStreams("v1")}
		r := follow(t, ctx, l, FollowOptions{Want: []Want{WantSecond}})
		time.Sleep(100*time.Second + time.Millisecond)
		synctest.Wait()
		began.Add(50)
		time.Sleep(time.Second)
		synctest.Wait()
		last := r.notices[len(r.notices)-1]
		if s := last.Series[0]; s.Since != began.Load() || s.Seconds[0].Start != began.Load() || len(s.Seconds) != 51 {
			t.Errorf("got %d seconds from %d since %d, want 51 since %d", len(s.Seconds), s.Seconds[0].Start, s.Since, began.Load())
		}
	})
}
