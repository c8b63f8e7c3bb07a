package tui

import (
	"context"
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// seriesPause is the pause between two queries of the series.
const seriesPause = time.Second

// recent is the part of past with the intervals of calls.
type recent struct {
	rates []status.Series // of the gateway and of each server

	asked  time.Time // when rates was last queried
	minute int64     // Unix time in seconds; earlier minutes are known
}

// fetch adds the newest intervals, at most once in seriesPause. Minutes are queried when one has ended.
func (r recent) fetch(ctx context.Context, source status.Source, now time.Time) (recent, error) {
	switch passed := now.Sub(r.asked); {
	case passed < -seriesPause: // the gateway's clock was set back, so newer intervals seem older than those that are known
		r = recent{}
	case passed < seriesPause:
		return r, nil
	}
	r.asked = now
	var after int64
	for i := range r.rates {
		if n := len(r.rates[i].Seconds); n > 0 {
			after = max(after, r.rates[i].Seconds[n-1].Start+1)
		}
	}
	if ended := now.Unix()/60*60 - 60; ended > r.minute { // the query for seconds would skip the minute
		after = r.minute
		r.minute = ended
	}
	news, err := source.Series(ctx, after)
	if err != nil {
		return r, err
	}
	rates := make([]status.Series, 0, len(news)) // without the servers that the gateway no longer has
	for _, s := range news {
		if at := slices.IndexFunc(r.rates, func(old status.Series) bool { return old.Server == s.Server }); at >= 0 {
			s.Seconds = merged(r.rates[at].Seconds, s.Seconds, status.MaxSeconds)
			s.Minutes = merged(r.rates[at].Minutes, s.Minutes, status.MaxMinutes)
		}
		rates = append(rates, s)
	}
	r.rates = rates
	return r, nil
}

// merged appends the intervals of b that are newer than those of a.
func merged(a, b []status.Interval, limit int) []status.Interval {
	if len(a) > 0 {
		last := a[len(a)-1].Start
		b = b[max(0, slices.IndexFunc(b, func(i status.Interval) bool { return i.Start > last })):]
		if len(b) > 0 && b[0].Start <= last {
			b = nil
		}
	}
	return appended(a, b, limit)
}
