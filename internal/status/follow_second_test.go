package status

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// recording is a Gateway that records a call in every second.
type recording struct {
	Gateway
	began int64
}

// Series returns the seconds that begin at after or later and have ended.
func (r recording) Series(_ context.Context, after int64) ([]Series, error) {
	s := Series{Since: r.began, Until: time.Now().Unix()}
	for start := max(r.began, after); start < s.Until; start++ {
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
		l := Local{Gateway: recording{began: began}, Counters: NewMetrics(), Streams: NewStreams("v1")}
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
