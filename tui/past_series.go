package tui

import (
	"slices"

	"goblin-actor/internal/status"
)

// withSeries returns the series of a newer report, each with the intervals that are known of it. Servers that the report does
// not name no longer exist. Known intervals of a series with another Since are dropped, because the gateway has discarded that
// series.
func withSeries(known, report []status.Series) []status.Series {
	all := slices.Clone(report)
	for i := range all {
		s := &all[i]
		at := slices.IndexFunc(known, func(old status.Series) bool { return old.Server == s.Server && old.Since == s.Since })
		if at >= 0 {
			s.Seconds = merged(known[at].Seconds, s.Seconds, status.MaxSeconds)
			s.Minutes = merged(known[at].Minutes, s.Minutes, status.MaxMinutes)
		}
	}
	return all
}

// merged returns the last limit intervals of a and of the part of b that is newer than a. The first report of a stream repeats
// known intervals.
func merged(a, b []status.Interval, limit int) []status.Interval {
	if len(a) > 0 {
		last := a[len(a)-1].Start
		for len(b) > 0 && b[0].Start <= last {
			b = b[1:]
		}
	}
	return appended(a, b, limit)
}
