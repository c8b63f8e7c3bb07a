package monitor

import (
	"goblin-actor/internal/status"
)

// sum is what happened in an interval.
type sum struct {
	calls, errors   uint64
	buckets         [status.BucketCount]uint64
	in, out         uint64 // bytes
	running, queued int32  // calls at the end of a second; in a minute, their maximum over its seconds
}

// difference sets s to what happened between two samples of a server.
func (s *sum) difference(now, before *status.Sample) {
	s.calls, s.errors = now.Calls-before.Calls, now.Errors-before.Errors
	s.in, s.out = now.In-before.In, now.Out-before.Out
	s.running, s.queued = now.Running, now.Queued
	for i := range s.buckets {
		s.buckets[i] = now.Buckets[i] - before.Buckets[i]
	}
}

// add adds what happened at another server in the same interval.
func (s *sum) add(o *sum) {
	s.calls += o.calls
	s.errors += o.errors
	s.in += o.in
	s.out += o.out
	s.running += o.running
	s.queued += o.queued
	for i, n := range o.buckets {
		s.buckets[i] += n
	}
}

// follow adds what happened at the same server later in the same interval.
func (s *sum) follow(o *sum) {
	running, queued := max(s.running, o.running), max(s.queued, o.queued)
	s.add(o)
	s.running, s.queued = running, queued
}

// interval returns s as the interval that begins at start, in Unix seconds. It returns false if nothing happened.
func (s *sum) interval(start int64) (i status.Interval, active bool) {
	if *s == (sum{}) {
		return i, false
	}
	used := 0
	for _, n := range s.buckets {
		if n > 0 {
			used++
		}
	}
	i = status.Interval{Start: start, Calls: uint32(s.calls), Errors: uint32(s.errors), In: s.in, Out: s.out, Running: s.running, Queued: s.queued}
	if used > 0 {
		i.Buckets = make([]status.Bucket, 0, used)
	}
	for at, n := range s.buckets {
		if n > 0 {
			i.Buckets = append(i.Buckets, status.Bucket{Index: uint8(at), Count: uint32(n)})
		}
	}
	return i, true
}

// record is the recorded past of a server or of the gateway.
type record struct {
	seconds, minutes ring
	minute           int64 // start of the current minute, in Unix seconds
	current          sum   // what has happened in the current minute
}

// add records the second that begins at start, in Unix seconds.
func (r *record) add(start int64, second *sum) {
	if minute := start / 60 * 60; minute != r.minute {
		if i, active := r.current.interval(r.minute); active {
			r.minutes.add(i, status.MaxMinutes)
		}
		r.minute, r.current = minute, sum{}
	}
	if i, active := second.interval(start); active {
		r.seconds.add(i, status.MaxSeconds)
		r.current.follow(second)
	}
}

// series returns the intervals with Start >= after, as far as they lie in the last MaxSeconds seconds or MaxMinutes
// minutes before until. All times are in Unix seconds.
func (r *record) series(server string, since, until, after int64) status.Series {
	return status.Series{Server: server, Since: since, Until: until,
		Seconds: r.seconds.from(max(after, until-status.MaxSeconds)),
		Minutes: r.minutes.from(max(after, until/60*60-status.MaxMinutes*60))}
}

// ring holds the last intervals with activity. It grows with use, up to the number passed to add.
type ring struct {
	list []status.Interval
	next int // index of the oldest entry, which is overwritten next, when full
}

func (r *ring) add(i status.Interval, most int) {
	if len(r.list) < most {
		r.list = append(r.list, i)
		return
	}
	r.list[r.next] = i
	r.next = (r.next + 1) % most
}

// from returns a copy of the intervals that began at start or later, oldest first.
func (r *ring) from(start int64) []status.Interval {
	n := len(r.list)
	for n > 0 && r.list[(r.next+len(r.list)-n)%len(r.list)].Start < start {
		n--
	}
	if n == 0 {
		return nil
	}
	list := make([]status.Interval, 0, n)
	for i := len(r.list) - n; i < len(r.list); i++ {
		list = append(list, r.list[(r.next+i)%len(r.list)])
	}
	return list
}
