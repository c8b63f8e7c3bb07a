package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/status"
)

// streaming is a Source whose streams a test writes.
type streaming struct {
	fixed
	notices chan status.Notice // of the stream of the state
	actors  atomic.Int32       // open streams of actors
	opened  []status.FollowOptions
	refused error // of the stream of the state; it must not change while one is opened
	fetched int
	slow    func() // called before each answer of Items; nil = nothing
}

func (s *streaming) Follow(ctx context.Context, o status.FollowOptions, tell func(status.Notice) error) error {
	if slices.Contains(o.Want, status.WantActors) {
		s.actors.Add(1)
		defer s.actors.Add(-1)
		_ = tell(status.Notice{Snapshot: &status.Snapshot{Actors: []status.Actor{{Name: "a"}}}})
		<-ctx.Done()
		return ctx.Err()
	}
	s.opened = append(s.opened, o)
	if s.refused != nil {
		return s.refused
	}
	for {
		select {
		case n := <-s.notices:
			if n.ID == "end" {
				return n.Lost
			}
			_ = tell(n)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *streaming) Items(_ context.Context, known uint64) (*status.Items, error) {
	s.fetched++
	if s.slow != nil {
		s.slow()
	}
	return &status.Items{Version: known + 1}, nil
}

// pumping runs a pump until the returned function is called.
func pumping(t *testing.T, p *pump) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	return func() { cancel(); <-done }
}

// The pump shows at most ten Pictures a second, and the newest one at the end. Without changes, time goes on. Actors are
// followed only while a view shows them.
func TestPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &streaming{notices: make(chan status.Notice)}
		var shown []*Picture
		p := newPump(source, time.Now, func(next *Picture) { shown = append(shown, next) })
		var want atomic.Bool
		p.wants = func() wants { return wants{actors: want.Load()} }
		stop := pumping(t, p)
		source.notices <- status.Notice{Hello: &status.Hello{Boot: "a"}, ID: "1"}
		for i := range 100 {
			source.notices <- status.Notice{Snapshot: &status.Snapshot{Now: time.Now(), Catalog: status.Catalog{Version: 1}, Servers: make([]status.Server, i)}, ID: "2"}
			source.notices <- status.Notice{Log: []status.Event{{Number: uint64(i)}}, Finished: []status.FinishedCall{{Number: uint64(i)}}, ID: fmt.Sprint(i)}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		last := shown[len(shown)-1]
		if n := len(shown); n < 10 || n > 14 || len(last.Servers) != 99 || len(last.Events) != 100 || len(last.Finished) != 100 || last.Items.Version != 1 || source.fetched != 1 {
			t.Errorf("%d Pictures in 1.2 s; the last has %d servers, %d events; %d fetches", n, len(last.Servers), len(last.Events), source.fetched)
		}
		time.Sleep(time.Minute)
		if last = shown[len(shown)-1]; time.Since(last.Now) > usualPause {
			t.Errorf("after a minute without changes the Picture is %v old", time.Since(last.Now))
		}
		want.Store(true)
		time.Sleep(time.Second)
		if last = shown[len(shown)-1]; source.actors.Load() != 1 || len(last.Actors) != 1 || len(last.Servers) != 99 {
			t.Errorf("%d streams of actors, %d actors", source.actors.Load(), len(last.Actors))
		}
		want.Store(false)
		time.Sleep(time.Second)
		if source.actors.Load() != 0 {
			t.Error("the stream of actors is open, but no view shows them")
		}
		stop()
	})
}

// A lost gateway leaves its last Picture. A restarted one begins with an empty past. A stream that ends continues after its last Notice.
func TestPumpOfALostGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &streaming{notices: make(chan status.Notice), refused: errGone}
		var last *Picture
		p := newPump(source, time.Now, func(next *Picture) { last = next })
		stop := pumping(t, p)
		time.Sleep(time.Minute)
		synctest.Wait()
		if last.Lost == nil || time.Since(last.Since) < 59*time.Second || len(source.opened) < 8 || len(source.opened) > 12 {
			t.Errorf("no gateway for a minute: %v since %v, %d attempts", last.Lost, last.Since, len(source.opened))
		}
		source.refused = nil
		time.Sleep(time.Minute)
		tell := func(n status.Notice) {
			source.notices <- n
			time.Sleep(time.Second)
		}
		tell(status.Notice{Hello: &status.Hello{Boot: "a"}})
		tell(status.Notice{Snapshot: &status.Snapshot{Now: time.Now(), Version: "v1"}})
		tell(status.Notice{Log: []status.Event{{Number: 1}}, ID: "a-1"})
		tell(status.Notice{Series: seconds(100, 100, 110)})
		tell(status.Notice{Series: seconds(100, 110, 111)})
		if last.Lost != nil || last.Version != "v1" || len(last.Events) != 1 {
			t.Errorf("got %+v", last)
		}
		then := last.Now
		tell(status.Notice{Lost: errGone})
		time.Sleep(time.Minute)
		if last.Lost == nil || last.Version != "v1" || last.Now.Sub(then) > time.Second || len(last.Events) != 1 || last.totals("", time.Minute).Calls != 11 {
			t.Errorf("lost: got %+v", last)
		}
		tell(status.Notice{Hello: &status.Hello{Boot: "a"}, Back: true})
		tell(status.Notice{Snapshot: &status.Snapshot{Now: time.Now(), Version: "v1"}})
		tell(status.Notice{Series: seconds(100, 105, 160)}) // all that the gateway still has
		if last.Lost != nil || len(last.Events) != 1 || last.totals("", time.Minute).Calls != 60 {
			t.Errorf("back: got %+v", last)
		}
		tell(status.Notice{ID: "end", Lost: errors.New("slow")})
		if o := source.opened[len(source.opened)-1]; o.Last != "a-1" {
			t.Errorf("the next stream continues after %q", o.Last)
		}
		tell(status.Notice{Hello: &status.Hello{Boot: "b"}})
		tell(status.Notice{Snapshot: &status.Snapshot{Now: time.Now(), Version: "v2"}})
		if last.Lost != nil || len(last.Events) != 0 || last.Version != "v2" || last.series("") != nil {
			t.Errorf("restarted: got %+v", last)
		}
		tell(status.Notice{Series: seconds(150, 150, 170)})
		if n := last.totals("", time.Minute).Calls; n != 20 {
			t.Errorf("restarted: %d calls in the last minute", n)
		}
		stop()
	})
}

// The catalog of a process that has restarted meanwhile is dropped, even if both catalogs have the same version.
func TestPumpDropsTheCatalogOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &streaming{notices: make(chan status.Notice)}
		var last *Picture
		p := newPump(source, time.Now, func(next *Picture) { last = next })
		snapshot := &status.Snapshot{Now: time.Now(), Catalog: status.Catalog{Version: 1}}
		source.slow = func() { time.Sleep(time.Second) }
		stop := pumping(t, p)
		source.notices <- status.Notice{Hello: &status.Hello{Boot: "a"}}
		source.notices <- status.Notice{Snapshot: snapshot}
		time.Sleep(500 * time.Millisecond) // the catalog of a is on its way
		source.notices <- status.Notice{Hello: &status.Hello{Boot: "b"}}
		source.notices <- status.Notice{Snapshot: snapshot}
		time.Sleep(10 * time.Second)
		if source.fetched != 2 || last.Items.Version != 1 {
			t.Errorf("the catalog was fetched %d times, want once from each process; version %d", source.fetched, last.Items.Version)
		}
		stop()
	})
}

// A calm pump passes on one Picture a second, and one at once when the user opens another view.
func TestCalmPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &streaming{notices: make(chan status.Notice)}
		shown := 0
		p := newPump(source, time.Now, func(*Picture) { shown++ })
		p.calm = true
		stop := pumping(t, p)
		for range 500 {
			source.notices <- status.Notice{Snapshot: &status.Snapshot{Now: time.Now(), Catalog: status.Catalog{Version: 1}}}
			time.Sleep(10 * time.Millisecond)
		}
		if shown < 5 || shown > 6 {
			t.Errorf("%d Pictures in 5 s", shown)
		}
		time.Sleep(200 * time.Millisecond)
		before := shown
		p.hurry <- struct{}{}
		time.Sleep(minPause)
		if shown != before+1 {
			t.Errorf("%d Pictures for a view that was opened", shown-before)
		}
		stop()
	})
}

// seconds returns the series of a gateway that has recorded since a second, with a call in each second from one to before another.
func seconds(since, from, until int64) []status.Series {
	s := status.Series{Since: since, Until: until}
	for start := from; start < until; start++ {
		s.Seconds = append(s.Seconds, status.Interval{Start: start, Calls: 1})
	}
	return []status.Series{s}
}
