package tui

import (
	"context"
	"sync"
	"time"

	"goblin-actor/internal/status"
)

const (
	requestTime = 3 * time.Second        // timeout of a request or an action
	logoutTime  = 10 * time.Second       // timeout of a logout, for which the gateway waits 5 s for the authorization server
	minPause    = 100 * time.Millisecond // minimum time between two Pictures
	usualPause  = time.Second            // maximum time between two Pictures unless the gateway is slow, so that ages stay current
	retryMin    = 500 * time.Millisecond // pause before a stream that ended is opened again; doubled, up to retryMax, until it reports something
	retryMax    = 10 * time.Second

	maxLog = 2000 // maximum number of log events kept
)

// pump follows a gateway and passes Pictures to show, but skips those that a newer one replaces within minPause. One goroutine
// passes Pictures on, and each stream has a goroutine that reads it.
type pump struct {
	source status.Source
	wants  func() wants   // what the visible view needs; only run calls it
	show   func(*Picture) // receives the newest Picture; may block
	now    func() time.Time
	hurry  chan struct{} // capacity 1: wants may have changed
	calm   bool          // pass on one Picture a second, and one when wants may have changed

	streams sync.WaitGroup
	changed chan struct{} // capacity 1: newest has changed

	mu     sync.Mutex
	newest *Picture
	came   time.Time // when its Snapshot was received
	boot   string    // the process that sent it
	last   string    // id of the last Notice of the main stream

	fetched time.Time // when metrics or a part of access were fetched; only run uses it
	part    *Kind     // the kind whose part of access was fetched last; only run uses it
	of      scope     // the scope for which it was fetched; only run uses it
}

// newPump returns a pump for a view that needs nothing in particular.
func newPump(source status.Source, now func() time.Time, show func(*Picture)) *pump {
	return &pump{source: source, wants: func() wants { return wants{} }, show: show, now: now, hurry: make(chan struct{}, 1),
		changed: make(chan struct{}, 1), newest: noPicture()}
}

// run passes on Pictures until ctx ends. It returns after its streams have ended.
func (p *pump) run(ctx context.Context) {
	defer p.streams.Wait()
	p.open(ctx, func() status.FollowOptions {
		p.mu.Lock()
		defer p.mu.Unlock()
		return status.FollowOptions{Last: p.last, Want: []status.Want{status.WantState, status.WantCalls, status.WantSessions,
			status.WantFinished, status.WantLog, status.WantLines, status.WantSecond}}
	}, p.take)
	var closeActors context.CancelFunc = func() {}
	defer func() { closeActors() }()
	second := time.NewTicker(usualPause)
	defer second.Stop()
	var have wants
	for {
		want := p.wants()
		if want.actors != have.actors {
			closeActors()
			closeActors = p.followActors(ctx, want.actors)
		}
		have = want
		p.fetch(ctx, want)
		if ctx.Err() != nil {
			return
		}
		p.show(p.picture())
		if !p.wait(ctx, second.C) {
			return
		}
	}
}

// wait waits until there is something to show, but at least for minPause and at most until the next tick of second after that. It
// returns false if ctx has ended.
func (p *pump) wait(ctx context.Context, second <-chan time.Time) bool {
	pause := time.NewTimer(minPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	changed := p.changed
	if p.calm {
		changed = nil
	}
	select {
	case <-changed:
	case <-p.hurry:
	case <-second:
	case <-ctx.Done():
		return false
	}
	return true
}

// open reads a stream in a goroutine of its own until ctx ends. If the stream ends or fails, it is opened again
// after a pause.
func (p *pump) open(ctx context.Context, options func() status.FollowOptions, tell func(status.Notice)) {
	p.streams.Go(func() {
		pause := retryMin
		for {
			err := p.source.Follow(ctx, options(), func(n status.Notice) error {
				pause = retryMin
				tell(n)
				return nil
			})
			if ctx.Err() != nil {
				return
			}
			tell(status.Notice{Lost: err})
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			pause = min(2*pause, retryMax)
		}
	})
}

// followActors opens the stream of actors, which the returned function closes.
func (p *pump) followActors(ctx context.Context, wanted bool) context.CancelFunc {
	if !wanted {
		p.change(func(next *Picture) { next.Snapshot = withActors(next.Snapshot, nil) }) // later rates must not be computed from these counts
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	p.open(ctx, func() status.FollowOptions { return status.FollowOptions{Want: []status.Want{status.WantActors}} }, func(n status.Notice) {
		if n.Snapshot != nil {
			p.change(func(next *Picture) { next.Snapshot = withActors(next.Snapshot, n.Snapshot.Actors) })
		}
	})
	return cancel
}

func withActors(s *status.Snapshot, actors []status.Actor) *status.Snapshot {
	c := *s
	c.Actors = actors
	return &c
}

// change replaces the newest Picture by a changed copy.
func (p *pump) change(by func(next *Picture)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := *p.newest
	by(&next)
	p.newest = &next
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// take adds a Notice of the main stream to the newest Picture.
func (p *pump) take(n status.Notice) {
	p.change(func(next *Picture) {
		if n.ID != "" {
			p.last = n.ID
		}
		switch {
		case n.Hello != nil:
			if p.boot != n.Hello.Boot { // the gateway has restarted
				next.Events, next.past, next.Items, next.access = nil, past{}, &status.Items{}, access{}
			}
			p.boot = n.Hello.Boot
		case n.Snapshot != nil:
			next.Snapshot = withActors(n.Snapshot, next.Actors)
			next.Lost, next.Since = nil, time.Time{}
			p.came = time.Now()
		case n.Series != nil:
			next.rates = withSeries(next.rates, n.Series)
		case n.Lost != nil:
			if next.Lost == nil {
				next.Since = p.now()
			}
			next.Lost = n.Lost
		default:
			next.Events = appended(next.Events, n.Log, maxLog)
			next.past = next.past.with(n.Finished, n.Lines)
		}
	})
}

// fetch adds what no stream reports to the newest Picture: the catalog, if it has changed, and, if the view needs them, counters
// of items, metrics and access. What cannot be fetched is fetched again with a later Picture. If the gateway does not respond
// at all, the stream reports that.
func (p *pump) fetch(ctx context.Context, want wants) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	p.mu.Lock()
	now, boot := p.newest, p.boot
	p.mu.Unlock()
	change := func(by func(next *Picture)) { // data of an earlier process is dropped after a restart
		p.change(func(next *Picture) {
			if p.boot == boot {
				by(next)
			}
		})
	}
	if now.Lost != nil || now.Now.IsZero() {
		return
	}
	if known := now.Items.Version; known != now.Catalog.Version {
		if items, err := p.source.Items(ctx, known); err == nil && items != nil {
			rows := listed(items) // here rather than by the screen, because there may be many
			change(func(next *Picture) { next.Items, next.listed = items, rows })
		}
	}
	if want.usage && time.Since(now.used) >= usualPause {
		if usage, err := p.source.Usage(ctx); err == nil {
			change(func(next *Picture) { next.Usage, next.used = usage, time.Now() })
			rows := p.picture().called()
			change(func(next *Picture) { next.calls = rows })
		}
	}
	if !want.metrics && now.Metrics != "" { // sampled would give an old page a new time
		p.fetched = time.Time{}
		change(func(next *Picture) { next.Metrics = "" })
	}
	if want.metrics && time.Since(p.fetched) >= usualPause {
		p.fetched = time.Now()
		if text, err := p.source.Metrics(ctx); err == nil {
			change(func(next *Picture) { next.Metrics = text })
		}
	}
	if want.access != nil && (want.access != p.part || want.of != p.of || time.Since(p.fetched) >= usualPause) {
		p.part, p.of, p.fetched = want.access, want.of, time.Now()
		part := now.access
		if err := want.access.Fetch(ctx, p.source, now, want.of, &part); err == nil {
			change(func(next *Picture) { next.access = part })
		}
	}
}

// picture returns the newest Picture. While the gateway responds, its time advances even if nothing changes.
func (p *pump) picture() *Picture {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.changed:
	default:
	}
	if p.newest.Lost != nil || p.newest.Now.IsZero() {
		return p.newest
	}
	next, snapshot := *p.newest, *p.newest.Snapshot
	snapshot.Now = snapshot.Now.Add(time.Since(p.came))
	next.Snapshot = &snapshot
	return &next
}
