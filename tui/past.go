package tui

import (
	"slices"
	"time"

	"goblin-actor/internal/status"
)

// Limits of the past that the console keeps.
const (
	maxFinished = 2000 // finished calls
	maxFailures = 512  // failed calls, kept separately so that successful calls do not displace them
	maxLines    = 4000 // lines that servers wrote
)

// past is what the console knows about the recent past. It is immutable; Picture embeds it.
type past struct {
	Finished []status.FinishedCall // ordered by number
	Failures []status.FinishedCall // the failed and the canceled calls, ordered by number
	Lines    []status.Event        // lines that the servers wrote themselves, ordered by number

	Usage []status.ItemUsage // fetched only while a view of items is visible

	used  time.Time // when Usage was last queried
	ended []Row     // of Finished; a row is made once, because there are many
	line  uint64    // number of the last line received, even if Lines omits it

	rates []status.Series // of the gateway and of each server
}

// lastNumber returns the number of the last call, or 0.
func lastNumber(calls []status.FinishedCall) uint64 {
	if len(calls) == 0 {
		return 0
	}
	return calls[len(calls)-1].Number
}

// with returns the past with newer calls and lines.
func (p past) with(finished []status.FinishedCall, lines []status.Event) past {
	if len(finished) > 0 {
		p.Finished = appended(p.Finished, finished, maxFinished)
		rows := make([]Row, len(finished))
		for i, c := range finished {
			rows[i] = finishedRow(c)
			rows[i].prepare()
		}
		p.ended = appended(p.ended, rows, maxFinished)
		p.Failures = appended(p.Failures, slices.DeleteFunc(slices.Clone(finished), func(c status.FinishedCall) bool { return !c.Failed() }), maxFailures)
	}
	if len(lines) > 0 {
		p.line = lines[len(lines)-1].Number
		own := slices.DeleteFunc(slices.Clone(lines), func(e status.Event) bool { return e.Level != status.LevelStderr && e.Level != status.LevelLogged })
		p.Lines = appended(p.Lines, own, maxLines)
	}
	return p
}

// appended returns the last limit elements of a followed by b. It may write to the memory after the end of a, which the
// slices of older Pictures share. So a must be the slice of the newest Picture.
func appended[T any](a, b []T, limit int) []T {
	all := append(a, b...)
	return all[max(0, len(all)-limit):]
}
