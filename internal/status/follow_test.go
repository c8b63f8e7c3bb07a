package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/protocol"
)

// changing is a Gateway whose state a test replaces.
type changing struct {
	Gateway
	mu      sync.Mutex
	now     *Snapshot
	err     error
	surveys int
}

func (c *changing) Status(context.Context) (*Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.surveys++
	return c.now, c.err
}

// asked returns how often the state was queried.
func (c *changing) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.surveys
}

func (*changing) Act(context.Context, Action) error { return nil }

func (c *changing) set(s *Snapshot, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.err = s, err
}

// rows is a reader of a stream that relies on deltas, as a remote one does.
type rows struct {
	t        *testing.T
	snapshot *Snapshot
	pictures int
	notices  []Notice
	slow     time.Duration // how long the next Notice takes
	err      error         // what the next Notice returns
}

func (r *rows) tell(n Notice) error {
	switch {
	case n.Delta != nil:
		r.snapshot = copyOver(r.t, n.Delta).Apply(r.snapshot)
	case n.Snapshot != nil:
		r.snapshot = copyOver(r.t, n.Snapshot)
		r.pictures++
	}
	if n.Snapshot == nil {
		r.notices = append(r.notices, n)
	}
	time.Sleep(r.slow)
	r.slow = 0
	return r.err
}

// follow starts a stream that ends with the test.
func follow(t *testing.T, ctx context.Context, l Local, o FollowOptions) *rows {
	r := &rows{t: t}
	go func() {
		if err := l.Follow(ctx, o, r.tell); !errors.Is(err, context.Canceled) && !errors.Is(err, r.err) {
			t.Errorf("Follow: %v", err)
		}
	}()
	return r
}

var everyRow = []Want{WantState, WantCalls, WantSessions, WantActors}

// At every quiet moment, the state that each of several streams has reported equals the status, even if the stream was slow. One survey serves
// all streams.
func TestStreamsEqualTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := rand.New(rand.NewPCG(3, 4))
		g := &changing{now: randomSnapshot(r)}
		l := Local{Gateway: g, Counters: NewMetrics(), Streams: NewStreams("v1"), Known: func(s string) string { return strings.ReplaceAll(s, "s2", "[redacted]") }}
		all, calls, calm := follow(t, ctx, l, FollowOptions{Want: everyRow}), follow(t, ctx, l, FollowOptions{Want: []Want{WantCalls}}), follow(t, ctx, l, FollowOptions{Want: everyRow, Every: time.Second})
		for i := range 300 {
			if i%50 == 0 {
				synctest.Wait()
				all.slow = 12 * time.Second
			}
			g.set(randomSnapshot(r), nil)
			time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
			if i%10 > 0 {
				continue
			}
			if i%50 == 0 {
				time.Sleep(14 * time.Second)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			want, _ := l.Status(ctx)
			for _, got := range []*rows{all, calm} {
				if diff := cmp.Diff(asJSON(t, want), asJSON(t, got.snapshot)); diff != "" {
					t.Fatalf("step %d (-status +stream)\n%s", i, diff)
				}
			}
			if !slices.Equal(calls.snapshot.Calls, copyOver(t, want).Calls) || len(calls.snapshot.Servers) != 0 {
				t.Fatalf("step %d: the stream of calls has %+v", i, calls.snapshot)
			}
		}
		if all.pictures != 7 || calls.pictures != 1 || calm.pictures != 1 {
			t.Errorf("%d, %d and %d pictures; want one each, and one after each time that the first was slow", all.pictures, calls.pictures, calm.pictures)
		}
		began, before := time.Now(), g.asked()
		time.Sleep(time.Minute)
		if n := g.asked() - before; n > int(time.Since(began)/surveyPause) {
			t.Errorf("%d surveys in a minute for three streams", n)
		}
		cancel()
		synctest.Wait()
		before = g.asked()
		time.Sleep(time.Minute)
		if g.asked() != before {
			t.Error("the gateway is surveyed without a stream")
		}
	})
}

// A stream reports when the gateway stops responding, once, and begins again when it responds again.
func TestStreamOfAHungGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g := &changing{now: &Snapshot{Version: "v1"}}
		r := follow(t, ctx, Local{Gateway: g, Counters: NewMetrics()}, FollowOptions{Want: everyRow})
		time.Sleep(time.Second)
		g.set(nil, errors.New("stuck"))
		time.Sleep(time.Minute)
		g.set(&Snapshot{Version: "v2"}, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := r.notices; len(n) != 3 || n[0].Hello == nil || n[0].Back || n[1].Lost == nil || n[2].Hello == nil || !n[2].Back || r.pictures != 2 || r.snapshot.Version != "v2" {
			t.Errorf("%d pictures, notices %+v", r.pictures, n)
		}
	})
}

// What happened is reported once and in order, also by a stream that continues an earlier one, and what is missing is counted.
func TestStreamOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := new(Events)
		log := slog.New(events.Record(slog.DiscardHandler))
		l := Local{Gateway: &changing{}, Counters: NewMetrics(), Log: events, Changes: NewCatalogChanges(), Streams: NewStreams("v1")}
		n := 0
		happens := func(times int) {
			for range times {
				n++
				l.Counters.Server([]string{"a", "b"}[n%2]).Ended(Ended{Method: protocol.MethodToolsCall, Item: fmt.Sprint(n)})
				events.add(Event{Message: fmt.Sprint(n)})
				l.Changes.Add([]CatalogChange{{Server: fmt.Sprint(n)}})
			}
		}
		_ = log
		want := []Want{WantFinished, WantLog, WantLines, WantCatalog}
		texts := func(r *rows) (out [4]string) {
			for _, n := range r.notices {
				add := func(i int, missed uint64, text string) {
					if missed > 0 {
						out[i] += fmt.Sprintf("(%d missed) ", missed)
					}
					out[i] += text + " "
				}
				for i, e := range n.Finished {
					add(0, n.Missed*uint64(1-min(i, 1)), e.Item)
				}
				for i, e := range n.Log {
					add(1, n.Missed*uint64(1-min(i, 1)), e.Message)
				}
				for i, e := range n.Lines {
					add(2, n.Missed*uint64(1-min(i, 1)), e.Message)
				}
				for i, e := range n.Catalog {
					add(3, n.Missed*uint64(1-min(i, 1)), e.Server)
				}
			}
			return out
		}
		check := func(what string, r *rows, want string) {
			t.Helper()
			synctest.Wait()
			for i, got := range texts(r) {
				if got != want {
					t.Errorf("%s, kind %d: got %s, want %s", what, i, got, want)
				}
			}
		}
		happens(2)
		ctx, cancel := context.WithCancel(t.Context())
		first, late := follow(t, ctx, l, FollowOptions{Want: want}), follow(t, ctx, l, FollowOptions{Want: want, New: true})
		synctest.Wait()
		happens(1)
		time.Sleep(time.Second)
		check("from the start", first, "1 2 3 ")
		check("new ones", late, "3 ")
		cancel()
		last := first.notices[len(first.notices)-1].ID
		happens(2)
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		next, other := follow(t, ctx, l, FollowOptions{Want: want, Last: last}), follow(t, ctx, l, FollowOptions{Want: want, Last: "another" + last[strings.Index(last, "-"):]})
		check("continued", next, "4 5 ")
		check("of another process", other, "1 2 3 4 5 ")
		next.slow = time.Hour
		happens(1)
		time.Sleep(time.Minute)
		happens(maxEvents + maxChanges)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for i, got := range texts(next) {
			if words := strings.Fields(got); !slices.Contains(words, "missed)") || words[len(words)-1] != fmt.Sprint(n) {
				t.Errorf("slow, kind %d: got %d words, the last %s", i, len(words), words[len(words)-1])
			}
		}
	})
}

// A stream reports a flood of calls in part: all failed calls, the newest of the others, and how many are missing.
func TestStreamOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := Local{Gateway: &changing{}, Counters: NewMetrics(), Streams: NewStreams("v1")}
		r := follow(t, ctx, l, FollowOptions{Want: []Want{WantFinished}})
		const seconds, perSecond, failed = 20, 4000, 5
		for n := range seconds * perSecond {
			outcome := OutcomeOK
			if n%perSecond < failed {
				outcome = OutcomeFailed
			}
			l.Counters.Server(fmt.Sprint(n % 4)).Ended(Ended{Method: protocol.MethodToolsCall, Outcome: outcome})
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		told, failures, missed := 0, 0, 0
		for _, n := range r.notices {
			told += len(n.Finished)
			missed += int(n.Missed)
			for _, call := range n.Finished {
				if call.Failed() {
					failures++
				}
			}
		}
		if told > (seconds+2)*int(time.Second/callPause)+followBatch || told < seconds*400 {
			t.Errorf("%d calls were reported in %d seconds", told, seconds)
		}
		if failures != seconds*failed || told+missed != seconds*perSecond {
			t.Errorf("%d failed calls of %d; %d calls reported and %d missed of %d", failures, seconds*failed, told, missed, seconds*perSecond)
		}
	})
}

func TestFollowRefuses(t *testing.T) {
	l := Local{Gateway: &changing{now: &Snapshot{}}, Counters: NewMetrics(), Streams: NewStreams("v1")}
	tell := func(Notice) error { return nil }
	for _, o := range []FollowOptions{{}, {Want: []Want{"everything"}}, {Want: []Want{WantLog}, Last: "x"}, {Want: []Want{WantLog}, Last: "x-1-2-3-4-5"}, {Want: []Want{WantLog}, Last: "x--1-2-3-4"}} {
		if err := l.Follow(t.Context(), o, tell); err == nil {
			t.Errorf("Follow(%+v) returned no error", o)
		}
	}
	enough := errors.New("enough")
	if err := l.Follow(t.Context(), FollowOptions{Want: everyRow}, func(Notice) error { return enough }); err != enough {
		t.Errorf("got %v, want the error of the reader", err)
	}
	if err := l.Follow(t.Context(), FollowOptions{Want: everyRow, Once: true}, tell); err != nil {
		t.Errorf("Once: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l.Streams = NewStreams("v1")
		for range maxStreams {
			follow(t, ctx, l, FollowOptions{Want: everyRow})
		}
		synctest.Wait()
		if err := l.Follow(ctx, FollowOptions{Want: everyRow}, tell); !errors.Is(err, ErrTooManyStreams) {
			t.Errorf("one stream too many: %v", err)
		}
		cancel()
	})
}
