package status

import (
	"context"
	"slices"
	"time"
)

// seriesTime is how long the gateway has to answer. A second that it does not report in time comes with the next one.
const seriesTime = time.Second

// second reports the intervals that have ended since the last report. The first report of a stream contains all
// stored ones, and so does the next report after the gateway has discarded its past because its clock was set back. A minute is
// reported once it has ended.
func (f *following) second(ctx context.Context) error {
	now := time.Now().Unix()
	if !f.want[WantSecond] || now == f.asked {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, seriesTime)
	defer cancel()
	list, err := f.local.Series(ctx, (f.recorded-1)/60*60) // since the start of the minute of the last reported second
	if f.recorded > 0 && err == nil && len(list) > 0 && list[0].Since != f.since {
		f.recorded = 0
		list, err = f.local.Series(ctx, 0)
	}
	switch {
	case err != nil, len(list) == 0:
		f.asked = now
		return nil // if the gateway hangs, the stream of the state says so
	case list[0].Until == f.recorded:
		return nil
	}
	f.asked = now
	for i := range list {
		list[i].Seconds = from(list[i].Seconds, f.recorded)
	}
	f.since, f.recorded = list[0].Since, list[0].Until
	return f.notify(Notice{Series: list})
}

// from returns the intervals that began at start or later.
func from(list []Interval, start int64) []Interval {
	i, _ := slices.BinarySearchFunc(list, start, func(i Interval, start int64) int { return int(i.Start - start) })
	return list[i:]
}
