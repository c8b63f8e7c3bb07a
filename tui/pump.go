package tui

import (
	"context"
	"time"

	"goblin-actor/internal/status"
)

const (
	askTime  = 3 * time.Second        // timeout of a request to the gateway
	minPause = 100 * time.Millisecond // minimum interval between pictures
	calm     = 250 * time.Millisecond // usual interval between pictures
	maxPause = 3 * time.Second
	retry    = time.Second // interval between attempts to reach a gateway that does not answer
	costs    = 50          // a pause is this many times as long as the request took: the console uses less than 2 % of the gateway's time

	maxLog = 2000 // maximum number of events kept
)

// pump polls a gateway and hands over Pictures. It runs in one goroutine.
type pump struct {
	source  status.Source
	metrics func() bool    // whether to fetch metrics
	show    func(*Picture) // receives the newest Picture; may block
	now     func() time.Time
	hurry   chan struct{} // capacity 1: poll now
}

// run polls until ctx ends.
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

// rest waits for pause, or for minPause if hurry is signaled. It returns false if ctx has ended.
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

// ask returns the Picture that follows last. If the gateway does not answer, it is last with the reason in Lost.
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
	if !next.Started.Equal(last.Started) { // the gateway has restarted
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
