package tui

import (
	"context"
	"time"

	"goblin-actor/internal/status"
)

const (
	requestTime = 3 * time.Second        // timeout of a poll or an action
	minPause    = 100 * time.Millisecond // minimum pause between two polls
	usualPause  = 250 * time.Millisecond // minimum pause between two polls unless hurry is signaled
	maxPause    = 3 * time.Second
	retry       = time.Second // pause after a poll that failed
	costs       = 50          // a pause is at least this many times as long as the poll took (up to maxPause), so that the console uses less than 2 % of the gateway's time

	maxLog = 2000 // maximum number of log events kept
)

// pump polls a gateway and passes each Picture to show. It runs in one goroutine.
type pump struct {
	source status.Source
	wants  func() wants   // what the visible view needs
	show   func(*Picture) // receives the newest Picture; may block
	now    func() time.Time
	hurry  chan struct{} // capacity 1: poll now
}

// run polls until ctx ends.
func (p *pump) run(ctx context.Context) {
	last := noPicture()
	for ctx.Err() == nil {
		began := time.Now()
		next := p.poll(ctx, last)
		if ctx.Err() != nil {
			return
		}
		last = next
		took := time.Since(began)
		p.show(last)
		pause := min(max(usualPause, took*costs), maxPause)
		if last.Lost != nil {
			pause = retry
		}
		if !p.wait(ctx, pause) {
			return
		}
	}
}

// wait waits for pause. If hurry is signaled, it waits only for minPause. It returns false if ctx has ended.
func (p *pump) wait(ctx context.Context, pause time.Duration) bool {
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

// poll returns the Picture that follows last. If the gateway does not respond, that is last with the reason in Lost.
func (p *pump) poll(ctx context.Context, last *Picture) *Picture {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
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
	if err := fetchPast(ctx, p.source, last, next); err != nil {
		return err
	}
	if want := p.wants(); want.metrics {
		next.Metrics, err = p.source.Metrics(ctx)
	} else if want.usage && next.Now.Sub(next.used) >= seriesPause {
		next.used = next.Now
		next.Usage, err = p.source.Usage(ctx)
	}
	return err
}
