package tui

import (
	"context"
	"time"

	"goblin-actor/internal/status"
)

const (
	askTime  = 3 * time.Second        // the gateway has so long to answer
	minPause = 100 * time.Millisecond // so at most 10 pictures a second
	calm     = 250 * time.Millisecond // between two pictures when nobody hurries
	maxPause = 3 * time.Second
	retry    = time.Second // between two tries to reach a gateway that does not answer
	costs    = 50          // a pause is so many times as long as the asking took: looking on costs the gateway less than 2 %

	maxLog = 2000 // events kept
)

// pump asks a gateway again and again how it is and hands over what it says. One goroutine.
type pump struct {
	source  status.Source
	metrics func() bool    // whether somebody looks at them
	show    func(*Picture) // takes the newest; may block
	now     func() time.Time
	hurry   chan struct{} // capacity 1: ask at once
}

// run ends when ctx does.
func (p *pump) run(ctx context.Context) {
	last := nothing()
	for ctx.Err() == nil {
		began := time.Now()
		next := p.ask(ctx, last)
		if ctx.Err() != nil {
			return
		}
		last = next
		took := time.Since(began)
		p.show(last)
		pause := min(max(calm, took*costs), maxPause)
		if last.Lost != nil {
			pause = retry
		}
		if !p.rest(ctx, pause) {
			return
		}
	}
}

// rest waits; somebody in a hurry makes it short. False: ctx has ended.
func (p *pump) rest(ctx context.Context, pause time.Duration) bool {
	short, long := time.NewTimer(minPause), time.NewTimer(pause)
	defer short.Stop()
	defer long.Stop()
	select {
	case <-short.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-long.C:
	case <-p.hurry:
	case <-ctx.Done():
		return false
	}
	return true
}

// ask makes the Picture that follows last. A gateway that does not answer leaves everything as it was, and says why.
func (p *pump) ask(ctx context.Context, last *Picture) *Picture {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	next := *last
	if err := p.fetch(ctx, last, &next); err != nil {
		next = *last
		next.Lost = err
		if last.Lost == nil {
			next.Since = p.now()
		}
		return &next
	}
	next.Lost, next.Since = nil, time.Time{}
	return &next
}

func (p *pump) fetch(ctx context.Context, last, next *Picture) (err error) {
	if next.Snapshot, err = p.source.Status(ctx); err != nil {
		return err
	}
	known, after := last.Items.Version, uint64(0)
	if !next.Started.Equal(last.Started) { // another gateway than before
		known, next.Events = 0, nil
	}
	items, err := p.source.Items(ctx, known)
	if err != nil {
		return err
	}
	if items != nil {
		next.Items = items
	}
	if n := len(next.Events); n > 0 {
		after = next.Events[n-1].Number
	}
	news, err := p.source.Events(ctx, after)
	if err != nil {
		return err
	}
	next.Events = append(next.Events[:len(next.Events):len(next.Events)], news...)
	next.Events = next.Events[max(0, len(next.Events)-maxLog):]
	if p.metrics() {
		next.Metrics, err = p.source.Metrics(ctx)
	}
	return err
}
