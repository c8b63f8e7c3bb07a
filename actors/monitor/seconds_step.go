package monitor

import (
	"cmp"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

const (
	cpuSeconds = 5                // seconds over which the use of the processor is averaged
	maxSetBack = 10 * time.Second // if the clock is set back by more, the recorded past is discarded
)

// secondsState is the actor's entire state. Only stepSeconds modifies it.
type secondsState struct {
	timer   uint64 // generation of the timer
	since   int64  // Unix seconds of the first recorded second; 0 = there was no sample yet
	until   int64  // end of the last recorded second
	all     record // of the gateway: the sum of all servers
	servers map[string]*serverRecord
	cpu     []cpuTime // the last samples, oldest first, at most cpuSeconds+1
}

// serverRecord is a server's recorded past. If the server is removed, its past is discarded, but last is kept. If the server is added
// again, its earlier calls are then not counted again.
type serverRecord struct {
	last    status.Sample
	since   int64
	serving bool
	record
}

type cpuTime struct {
	at   time.Time
	used time.Duration
}

// secondDue reports that a second is over.
type secondDue struct{ timer uint64 }

// takeSample requests the counters from the shell; sampled is the result. samples is valid during the step only.
type (
	takeSample struct{}
	sampled    struct {
		samples []status.Sample
		cpu     time.Duration
	}
)

func newSecondsState() *secondsState { return &secondsState{servers: map[string]*serverRecord{}} }

// stepSeconds applies msg to s and appends the resulting effects to out.
func stepSeconds(s *secondsState, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.wait(now, append(out, kernel.Act(takeSample{})))
	case secondDue:
		if m.timer == s.timer {
			return s.wait(now, append(out, kernel.Act(takeSample{})))
		}
	case sampled:
		s.record(now, m.samples)
		s.cpu = append(s.cpu, cpuTime{now, m.cpu})
		s.cpu = s.cpu[max(0, len(s.cpu)-cpuSeconds-1):]
	case message.GetSeries:
		m.Reply <- s.series(m.After)
	case message.Inspect:
		m.Reply(status.Process{CPU: s.cores()})
	}
	return out
}

// wait sets the timer to the end of the current second.
func (s *secondsState) wait(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.timer++
	return append(out, kernel.WakeAfter(now.Truncate(time.Second).Add(time.Second).Sub(now), secondDue{s.timer}))
}

// record records the difference from the previous samples as the last second before now. The first samples are only stored. If the
// timer was late, for instance because the machine slept, that second includes what happened since the previous sample.
func (s *secondsState) record(now time.Time, samples []status.Sample) {
	end := now.Unix()
	if end < s.until-int64(maxSetBack/time.Second) {
		s.since, s.all, s.servers = 0, record{}, map[string]*serverRecord{}
	}
	first := s.since == 0
	if !first && end <= s.until {
		return // the next sample includes what happened
	}
	var total sum
	for i := range samples {
		s.take(&samples[i], end, first, &total)
	}
	if first {
		s.since, s.until = end, end
		return
	}
	s.all.add(end-1, &total)
	s.until = end
}

// take records a server's second that ends at end, and adds it to total. If first is true, it only stores the
// counters.
func (s *secondsState) take(sample *status.Sample, end int64, first bool, total *sum) {
	server := s.servers[sample.Server]
	if server == nil {
		server = &serverRecord{}
		if first {
			server.last = *sample
		}
		s.servers[sample.Server] = server
	}
	var second sum
	second.difference(sample, &server.last)
	server.last = *sample
	if !sample.Serving { // the pool has stopped, and does not set its load to 0
		second.running, second.queued = 0, 0
	}
	total.add(&second)
	switch {
	case !sample.Serving:
		server.serving, server.record = false, record{}
		return
	case !server.serving:
		server.serving, server.since = true, end-1
		if first {
			server.since = end
		}
	}
	if !first {
		server.add(end-1, &second)
	}
}

// series returns the recorded past of the gateway, then that of each server, sorted by name.
func (s *secondsState) series(after int64) []status.Series {
	all := []status.Series{s.all.series("", s.since, s.until, after)}
	for name, server := range s.servers {
		if server.serving {
			all = append(all, server.series(name, server.since, s.until, after))
		}
	}
	slices.SortFunc(all, func(a, b status.Series) int { return cmp.Compare(a.Server, b.Server) })
	return all
}

// cores returns the average number of cores that the process used in the last cpuSeconds seconds, or 0 before the
// second sample.
func (s *secondsState) cores() float64 {
	if len(s.cpu) < 2 {
		return 0
	}
	first, last := s.cpu[0], s.cpu[len(s.cpu)-1]
	if d := last.at.Sub(first.at); d > 0 {
		return float64(last.used-first.used) / float64(d)
	}
	return 0
}
