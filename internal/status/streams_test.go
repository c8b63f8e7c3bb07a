package status

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// waiting is a Gateway that answers after a second.
type waiting struct{ Gateway }

func (waiting) Status(ctx context.Context) (*Snapshot, error) {
	select {
	case <-time.After(time.Second):
		return &Snapshot{Servers: []Server{{Name: "a"}}}, nil
	case <-ctx.Done():
		time.Sleep(time.Second) // as an actor that is busy
		return nil, context.Cause(ctx)
	}
}

// A stream that opens while the last one closes starts with a picture. The survey that
// the closing stream canceled is not reported as a failure of the gateway.
func TestStreamOpensWhileTheLastOneCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Local{Gateway: waiting{}, Counters: NewMetrics(), Streams: NewStreams("v1")}
		first, end := context.WithCancel(t.Context())
		follow(t, first, l, FollowOptions{Want: everyRow})
		time.Sleep(100 * time.Millisecond)
		end()
		time.Sleep(100 * time.Millisecond)
		second, cancel := context.WithCancel(t.Context())
		r := follow(t, second, l, FollowOptions{Want: everyRow})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.notices) != 1 || r.notices[0].Hello == nil || r.pictures != 1 || len(r.snapshot.Servers) != 1 {
			t.Errorf("%d pictures and the notices %+v, want one picture after hello", r.pictures, r.notices)
		}
		cancel()
		time.Sleep(10 * time.Second)
	})
}
